// `evolve export`: writes a recorded round to one file, a bundle file.
#include <memory>

#include "engine/cli/commands.h"
#include "engine/replay/bundle.h"

namespace evolve::cli {

namespace {

Status run_export(const CommonOptions& common, const BundleRequest& request) {
  TRY_ASSIGN(auto answer, export_bundle(common, request));
  return print_answer(common, answer);
}

}  // namespace

void add_export(Commands& commands) {
  auto command = commands.add("export", "write a recorded round to one file, a bundle");
  auto request = std::make_shared<BundleRequest>();
  command.add("round", request->round, "the round: round-N (default: the last round)")
      .names("round");
  command.add(
      "--record", request->record,
      "the number of one of the round's records, from 'evolve log' (default: the last record)");
  command.add("-o,--out", request->path, "the file to write, for example r3.evolve").required();
  commands.add_common(command);
  commands.on(command,
              [request](const CommonOptions& common) { return run_export(common, *request); });
}

}  // namespace evolve::cli
