// `evolve replay`.

#include "engine/cli/command_line.h"
#include "engine/cli/common_options.h"
#include "engine/cli/display.h"
#include "engine/replay/replay.h"

namespace evolve::cli {

namespace {

Status run_replay(const CommonOptions& common, const ReplayRequest& request) {
  TRY_ASSIGN(auto answer, replay(common, request, rerun_display(common)));
  return print_answer(common, answer);
}

}  // namespace

void add_replay(CommandLine& line) {
  auto* command = line.app().add_subcommand(
      "replay", "repeat a recorded round from the ledger and the blobs alone, byte for byte");
  auto request = std::make_shared<ReplayRequest>();
  command->add_option("round", request->round, "round-N (default: the last one)");
  command->add_option("--record", request->record,
                      "another record of it than the last, by its number in `evolve log`");
  command->add_option("-o,--out", request->out,
                      "new folder for the files (default: in the state folder)");
  command->add_flag("--verify", request->verify,
                    "run every pure step anew in a fresh folder, and compare the bytes");
  command->add_flag("--remeasure", request->remeasure,
                    "measure every time anew, and say which agree; the record stays");
  command->add_flag("--their-judge", request->their_judge,
                    "run an imported round's own programs and commands, as they came");
  command
      ->add_option("--check-determinism", request->times,
                   "run every pure step anew so often, each time in other surroundings")
      ->check(CLI::Range(1, 100));
  command->add_option("--against", request->against,
                      "name the first step at which the record parts from this one");
  command->add_option("-j,--jobs", request->jobs, "steps at a time (default: one a core)")
      ->check(CLI::Range(1, 1024));
  line.add_common(*command);
  line.on(*command,
          [request](const CommonOptions& common) { return run_replay(common, *request); });
}

}  // namespace evolve::cli
