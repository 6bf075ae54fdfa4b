// `evolve export`: writes a recorded round to one file, a bundle file.
#include <memory>

#include "engine/cli/command_line.h"
#include "engine/replay/bundle.h"

namespace evolve::cli {

namespace {

Status run_export(const CommonOptions& common, const BundleRequest& request) {
  TRY_ASSIGN(auto answer, export_bundle(common, request));
  return print_answer(common, answer);
}

}  // namespace

void add_export(CommandLine& line) {
  auto* command =
      line.app().add_subcommand("export", "write a recorded round to one file, a bundle");
  auto request = std::make_shared<BundleRequest>();
  command->add_option("round", request->round, "the round: round-N (default: the last round)");
  command->add_option(
      "--record", request->record,
      "the number of one of the round's records, from 'evolve log' (default: the last record)");
  command->add_option("-o,--out", request->path, "the file to write, for example r3.evolve")
      ->required();
  line.add_common(*command);
  line.on(*command,
          [request](const CommonOptions& common) { return run_export(common, *request); });
}

}  // namespace evolve::cli
