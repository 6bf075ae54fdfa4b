// `evolve lock`: writes evolve.lock, so that later builds must use the same toolchain.

#include "engine/app/lock.h"
#include "engine/cli/commands.h"
#include "engine/cli/common_options.h"

namespace evolve::cli {

namespace {

// Writes the lock for this machine's toolchain, and for the campaign's compiler flags.
Status run_lock(const CommonOptions& common) {
  TRY_ASSIGN(auto answer, write_lock(common.campaign));
  return print_answer(common, answer);
}

}  // namespace

void add_lock(Commands& commands) {
  auto lock =
      commands.add("lock", "write evolve.lock, so that later builds must use the same toolchain");
  commands.add_common(lock);
  commands.on(lock, run_lock);
}

}  // namespace evolve::cli
