// Step gate: the decision whether a variant is worked on further, by the reports on it so far.
#include "engine/search/judging.h"
#include "engine/search/selection/selection_record.h"
#include "engine/steps/step.h"
#include "engine/steps/variant.h"

namespace {

using namespace evolve;

struct Arguments {
  std::string spec, variant_dir, before, seed, out;
  bool must_be_new = false;
};

Status run(const Arguments& arguments) {
  TRY_ASSIGN(auto cases, steps::read_spec(arguments.spec));
  TRY_ASSIGN(auto variant,
             steps::read_variant(arguments.variant_dir,
                                 steps::judged_in_round(std::move(cases), arguments.must_be_new),
                                 judged_before(arguments.before)));
  if (!arguments.seed.empty()) {
    if (const auto problem = search::problem_of_seed(variant))
      return failed(fmt::format("{}: {}", arguments.seed, *problem));
  }
  // A step that could not be done does not stop a variant here. The spec may excuse such a step,
  // and the selection decides whether it does.
  return steps::write_json(arguments.out, {{"verdict", variant.rejection ? "not_reached" : "ok"}});
}

}  // namespace

int main(int argc, char** argv) {
  steps::CommandLine line("gate", "decide whether a variant is judged further");
  Arguments arguments;
  line.add("--spec", arguments.spec, "spec.json").required();
  line.add("--variant-dir", arguments.variant_dir, "the variant's folder").required();
  line.add("--before", arguments.before, "the stage after the gate")
      .required()
      .one_of({"checks", "compile", "rounds"});
  line.add("--must-be-new", arguments.must_be_new, "reject a near-duplicate");
  line.add("--seed", arguments.seed, "name of a seed, which must pass");
  line.add("--out", arguments.out, "the gate's report").required();
  return steps::run_step(line, argc, argv, [&]() -> Status { return run(arguments); });
}
