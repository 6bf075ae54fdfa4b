// `evolve replay`: puts the files of a recorded round back, or runs the round again.

#include "engine/cli/commands.h"
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

void add_replay(Commands& commands) {
  auto command = commands.add(
      "replay",
      "restore a recorded round from the state folder, byte for byte, or run it again and compare");
  auto request = std::make_shared<ReplayRequest>();
  command.add("round", request->round, "the round: round-N (default: the last round)")
      .names("round");
  command.add(
      "--record", request->record,
      "the number of one of the round's records, from 'evolve log' (default: the last record)");
  command.add("-o,--out", request->out,
              "the new folder for the files (default: a folder in the state folder)");
  command.add("--verify", request->verify,
              "run every pure step (one that must always give the same bytes) again in an "
              "empty folder, and compare the bytes");
  command.add(
      "--remeasure", request->remeasure,
      "repeat all measurements of times, and report which times agree; the record does not change");
  command.add("--their-judge", request->their_judge,
              "run an imported round by the programs and commands that came with it, even if "
              "this version's differ");
  Commands::add_determinism(command, request->times);
  command.add("--against", request->against,
              "print the first step in which the record differs from the record of this number");
  Commands::add_jobs(command, request->jobs);
  commands.add_common(command);
  commands.on(command,
              [request](const CommonOptions& common) { return run_replay(common, *request); });
}

}  // namespace evolve::cli
