// Step adopt: the kernel that a model's answer or a person's proposal makes of the parent's kernel,
// or the reason why there is no kernel.
#include "engine/llm/adopt.h"

#include <cstdint>
#include <filesystem>
#include <optional>

#include "engine/search/proposal/mutation.h"
#include "engine/search/proposal/proposal_file.h"
#include "engine/search/variant.h"
#include "engine/steps/parents.h"
#include "engine/steps/step.h"

namespace {

using namespace evolve;

struct Arguments {
  std::string exchange, prompt, plan, proposal, canonical, spec, previous_dir, kernel_out,
      variant_out;
  steps::ParentFiles files;
  VariantId id;
  int round = 0, place = 0;
};

// Reads the sources that the prompt named, except the place's own parent.
Status read_others(const Arguments& arguments, const steps::Parents& parents,
                   llm::AdoptRequest& request) {
  const std::string mode = request.prompt.value("mode", "");
  const auto named = request.prompt.value("parents", std::vector<std::string>());
  if (mode == "crossover" && named.size() > 1) {
    const auto id = VariantId::parse(named[1]);
    const steps::ParentFile* second = id ? parents.find(*id) : nullptr;
    if (second == nullptr) return bad_input(fmt::format("'{}' is not a survivor", named[1]));
    TRY_ASSIGN(auto text, world::read_file(second->path));
    request.second_parent = std::move(text);
  } else if (mode == "repair" && named.size() > 1) {
    TRY_ASSIGN(auto text,
               world::read_file(fmt::format("{}/{}/kernel.py", arguments.previous_dir, named[0])));
    request.rejected = std::move(text);
  }
  return {};
}

// A variant's kernel and variant.json.
struct Adopted {
  std::string kernel;
  nlohmann::json variant;
};

Result<Adopted> adopt_answer(const Arguments& arguments, const steps::Parents& parents,
                             std::string parent) {
  llm::AdoptRequest request;
  request.id = arguments.id;
  request.round = arguments.round;
  request.parent = std::move(parent);
  for (const auto& [path, into] : {std::pair(&arguments.exchange, &request.exchange),
                                   {&arguments.prompt, &request.prompt},
                                   {&arguments.spec, &request.spec}}) {
    TRY_ASSIGN(auto record, steps::read_json(*path));
    *into = std::move(record);
  }
  if (!arguments.plan.empty()) {
    TRY_ASSIGN(auto plan, steps::read_json(arguments.plan));
    request.plan = std::move(plan);
  }
  if (auto status = read_others(arguments, parents, request); !status) return status.error();
  TRY_ASSIGN(auto adopted, llm::adopt(request));
  return Adopted{std::move(adopted.kernel), std::move(adopted.variant)};
}

// Returns the note that the file has above its code. Without a note, returns the kind of the
// problem, if there is one.
std::string note_of(const search::ProposalFile& proposal, const search::Adoption& adoption) {
  if (!proposal.note.empty()) return proposal.note;
  return adoption.problem ? adoption.problem->kind : "no note";
}

// The maximum number of bytes of a source, the same limit as in rules/source/normalise.py.
constexpr uintmax_t kLargestSource = 1 << 20;

// Returns the bytes of a person's file. Nullopt: the path is not a regular file (but a folder, for
// example, or a file without end), or the file is too large.
Result<std::optional<std::string>> proposal_text(const std::string& path) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none) ||
      std::filesystem::file_size(path, none) > kLargestSource)
    return std::optional<std::string>();
  TRY_ASSIGN(auto text, world::read_file(path));
  return std::optional(std::move(text));
}

Result<Adopted> adopt_person(const Arguments& arguments, VariantId parent_id,
                             const std::string& parent) {
  TRY_ASSIGN(auto spec, steps::read_json(arguments.spec));
  TRY_ASSIGN(auto space, search::Space::from_spec_json(spec));
  TRY_ASSIGN(auto text, proposal_text(arguments.proposal));
  TRY_ASSIGN(auto canonical, world::read_file(arguments.canonical));
  const search::AdoptionContext context{parent, {}, spec.value("entry", "")};
  auto proposal =
      text ? search::read_proposal_file(*text)
           : Result<search::ProposalFile>(bad_input("not a regular file of at most 1 MiB"));
  std::optional<search::Problem> problem;
  if (!proposal) problem = search::Problem{"no-proposal", proposal.error().message};
  if (proposal) {
    const VariantId first(arguments.id.number() - arguments.place);
    problem = search::parents_problem(proposal->parents, first);
    // Later steps would trust these parents, so the wrong list is dropped.
    if (problem) proposal->parents.clear();
  }
  // A file that is not a proposal gives no kernel, and does not stop any other variant.
  TRY_ASSIGN(auto adoption, problem ? search::adopt({{}, problem}, context)
                                    : search::adopt_proposal(*proposal, canonical, context));
  if (!proposal) proposal = search::ProposalFile();
  search::Origin origin;
  origin.id = arguments.id;
  origin.round = arguments.round;
  origin.mutator = "person";
  origin.parents = proposal->parents.empty() ? std::vector{parent_id} : proposal->parents;
  if (auto point = search::read_parameters(adoption.kernel, space.names()))
    origin.parameters = *std::move(point);
  origin.note = note_of(*proposal, adoption);
  Adopted out = {std::move(adoption.kernel), search::variant_record(origin)};
  if (adoption.problem) out.variant["problem"] = search::problem_record(*adoption.problem);
  return out;
}

Status run(const Arguments& arguments) {
  TRY_ASSIGN(auto parents, steps::Parents::read(arguments.files));
  const steps::ParentFile& parent = parents.of_place(static_cast<size_t>(arguments.place));
  TRY_ASSIGN(auto source, world::read_file(parent.path));
  TRY_ASSIGN(auto adopted, arguments.proposal.empty()
                               ? adopt_answer(arguments, parents, std::move(source))
                               : adopt_person(arguments, parent.id, source));
  TRY(world::write_file_atomic(arguments.kernel_out, adopted.kernel));
  return steps::write_json(arguments.variant_out, adopted.variant);
}

}  // namespace

int main(int argc, char** argv) {
  steps::CommandLine line("adopt",
                          "extract the kernel from a model's answer or a person's proposal");
  Arguments arguments;
  auto prompt = line.add("--prompt", arguments.prompt, "prompt.json");
  auto exchange = line.add("--exchange", arguments.exchange, "exchange.json").needs(prompt);
  line.add("--plan", arguments.plan, "plan.json, if there is one").needs(exchange);
  auto proposal = line.add("--proposal", arguments.proposal, "a person's proposal");
  auto canonical =
      line.add("--canonical", arguments.canonical, "the proposal in its canonical form");
  exchange.excludes(proposal);
  proposal.needs(canonical);
  line.add("--spec", arguments.spec, "spec.json").required();
  arguments.files.add_options(line);
  line.add("--previous-dir", arguments.previous_dir, "the folder of the previous round");
  line.add("--place", arguments.place, "the variant's place in the round, from 0")
      .required()
      .at_least(0);
  steps::add_id(line, "--id", arguments.id, "v0007").required();
  line.add("--round", arguments.round).required().at_least(0);
  line.add("--kernel-out", arguments.kernel_out, "kernel.py").required();
  line.add("--variant-out", arguments.variant_out, "variant.json").required();
  return steps::run_step(line, argc, argv, [&]() -> Status { return run(arguments); });
}
