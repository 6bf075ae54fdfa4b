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
      "replay", "restore a recorded round byte for byte, from the ledger and the stored blobs");
  auto request = std::make_shared<ReplayRequest>();
  command->add_option("round", request->round, "round-N (default: the last one)");
  command->add_option("--record", request->record,
                      "the number of an earlier record in `evolve log` (default: the last record)");
  command->add_option("-o,--out", request->out,
                      "the new folder for the files (default: a folder in the state folder)");
  command->add_flag("--verify", request->verify,
                    "run every pure step again in an empty folder, and compare the bytes");
  command->add_flag(
      "--remeasure", request->remeasure,
      "measure every time again, and report which times agree; the record does not change");
  command->add_flag("--their-judge", request->their_judge,
                    "run the programs and commands that came with an imported round, unchanged");
  command
      ->add_option("--check-determinism", request->times,
                   "run every pure step this many times, in different environments")
      ->check(CLI::Range(1, 100));
  command->add_option("--against", request->against,
                      "print the first step in which the record differs from this record");
  command
      ->add_option("-j,--jobs", request->jobs,
                   "number of steps to run in parallel (default: number of cores)")
      ->check(CLI::Range(1, 1024));
  line.add_common(*command);
  line.on(*command,
          [request](const CommonOptions& common) { return run_replay(common, *request); });
}

}  // namespace evolve::cli
