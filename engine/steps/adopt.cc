// Step adopt: the kernel that a model's answer makes of its parent, or why it makes none.
#include "engine/llm/adopt.h"

#include "engine/steps/parents.h"
#include "engine/steps/step.h"

namespace {

using namespace evolve;

struct Arguments {
  std::string exchange, prompt, spec, previous_dir, kernel_out, variant_out;
  steps::ParentFiles files;
  std::string id;
  int round = 0, place = 0;
};

// The sources that the prompt named, but for the place's own parent.
Status read_others(const Arguments& arguments, const steps::Parents& parents,
                   llm::AdoptRequest& request) {
  const std::string mode = request.prompt.value("mode", "");
  const auto named = request.prompt.value("parents", std::vector<std::string>());
  if (mode == "crossover" && named.size() > 1) {
    const steps::ParentFile* second = parents.find(named[1]);
    if (second == nullptr) return bad_input(fmt::format("'{}' is no survivor", named[1]));
    auto text = world::read_file(second->path);
    if (!text) return std::move(text).error();
    request.second_parent = *std::move(text);
  } else if (mode == "repair" && named.size() > 1) {
    auto text = world::read_file(fmt::format("{}/{}/kernel.py", arguments.previous_dir, named[0]));
    if (!text) return std::move(text).error();
    request.rejected = *std::move(text);
  }
  return {};
}

Status run(const Arguments& arguments) {
  llm::AdoptRequest request;
  request.id = arguments.id;
  request.round = arguments.round;
  for (const auto& [path, into] : {std::pair(&arguments.exchange, &request.exchange),
                                   {&arguments.prompt, &request.prompt},
                                   {&arguments.spec, &request.spec}}) {
    auto record = steps::read_json(*path);
    if (!record) return std::move(record).error();
    *into = *std::move(record);
  }
  auto parents = steps::Parents::read(arguments.files);
  if (!parents) return std::move(parents).error();
  auto parent = world::read_file(parents->of_place(static_cast<size_t>(arguments.place)).path);
  if (!parent) return std::move(parent).error();
  request.parent = *std::move(parent);
  if (auto status = read_others(arguments, *parents, request); !status) return status;
  auto adopted = llm::adopt(request);
  if (!adopted) return std::move(adopted).error();
  if (auto status = world::write_file_atomic(arguments.kernel_out, adopted->kernel); !status)
    return status;
  return steps::write_json(arguments.variant_out, adopted->variant);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("the kernel of a model's answer", "adopt");
  Arguments arguments;
  app.add_option("--exchange", arguments.exchange, "exchange.json")->required();
  app.add_option("--prompt", arguments.prompt, "prompt.json")->required();
  app.add_option("--spec", arguments.spec, "spec.json")->required();
  arguments.files.add_options(app);
  app.add_option("--previous-dir", arguments.previous_dir, "the folder of the round before");
  app.add_option("--place", arguments.place, "the variant's place in the round, from 0")
      ->required()
      ->check(CLI::NonNegativeNumber);
  app.add_option("--id", arguments.id, "v0007")->required();
  app.add_option("--round", arguments.round)->required()->check(CLI::NonNegativeNumber);
  app.add_option("--kernel-out", arguments.kernel_out, "kernel.py")->required();
  app.add_option("--variant-out", arguments.variant_out, "variant.json")->required();
  return evolve::steps::run_step(app, argc, argv, [&]() -> Status { return run(arguments); });
}
