// Step adopt: the kernel that a model's answer makes of its parent, or why it makes none.
#include "engine/llm/record.h"
#include "engine/steps/step.h"

namespace {

using namespace evolve;

struct Arguments {
  std::string exchange, prompt, spec, parent, second_parent, rejected, kernel_out, variant_out;
  std::string id;
  int round = 0;
};

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
  for (const auto& [path, into] : {std::pair(&arguments.parent, &request.parent),
                                   {&arguments.second_parent, &request.second_parent},
                                   {&arguments.rejected, &request.rejected}}) {
    if (path->empty()) continue;
    auto text = world::read_file(*path);
    if (!text) return std::move(text).error();
    *into = *std::move(text);
  }
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
  app.add_option("--parent", arguments.parent, "the parent's kernel.py")->required();
  app.add_option("--second-parent", arguments.second_parent, "the same as for prompt");
  app.add_option("--rejected", arguments.rejected, "the same as for prompt");
  app.add_option("--id", arguments.id, "v0007")->required();
  app.add_option("--round", arguments.round)->required()->check(CLI::NonNegativeNumber);
  app.add_option("--kernel-out", arguments.kernel_out, "kernel.py")->required();
  app.add_option("--variant-out", arguments.variant_out, "variant.json")->required();
  return evolve::steps::run_step(app, argc, argv, [&]() -> Status { return run(arguments); });
}
