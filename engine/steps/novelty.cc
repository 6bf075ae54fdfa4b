// Step novelty: the rejection of a round's variants that are too near to an earlier one to be worth
// their cost.
#include "engine/search/history/novelty.h"

#include "engine/core/json_read.h"
#include "engine/core/outside_json.h"
#include "engine/search/judging.h"
#include "engine/steps/step.h"
#include "engine/steps/variant.h"

namespace {

using namespace evolve;
using nlohmann::json;

struct Arguments {
  std::string spec, seed_dir, previous, history, round_dir, out, sketches_out;
  std::vector<VariantId> variants;
  double least = 0;
};

class Novelty {
 public:
  explicit Novelty(const Arguments& arguments) : arguments_(arguments) {}

  Status run() {
    TRY_ASSIGN(auto cases, steps::read_spec(arguments_.spec));
    cases_ = std::move(cases);
    benches_ = steps::benches_of(cases_);
    TRY_ASSIGN(auto history, steps::read_history(arguments_.history));
    TRY(read_earlier());
    std::vector<search::Sketched> variants;
    for (const VariantId id : arguments_.variants) {
      TRY_ASSIGN(auto is_within, read_contracts(id));
      if (!is_within) continue;
      TRY_ASSIGN(auto sketched, read_program(fmt::format("{}/{}", arguments_.round_dir, id)));
      if (sketched) variants.push_back(*std::move(sketched));
    }
    for (const search::NoveltyEntry& entry :
         search::near_duplicates(variants, arguments_.least, history, earlier_))
      entries_[entry.id] = entry;
    return write();
  }

 private:
  Status read_earlier() {
    if (arguments_.previous.empty()) {
      TRY_ASSIGN(auto seed, read_program(arguments_.seed_dir));
      if (seed) earlier_.push_back(*std::move(seed));
      return {};
    }
    TRY_ASSIGN(auto text, world::read_file(arguments_.previous));
    auto earlier = search::read_sketches(text);
    if (!earlier) return std::move(earlier).error().within(arguments_.previous);
    earlier_ = *std::move(earlier);
    return {};
  }

  // Reads whether a variant's program is within its contract in every case.
  Result<bool> read_contracts(VariantId id) {
    bool is_within = true;
    for (const search::CaseRecord& one : cases_) {
      const std::string& name = one.judged.name;
      auto contract =
          steps::read_json(fmt::format("{}/{}/{}/contract.json", arguments_.round_dir, id, name));
      if (!contract) return std::move(contract).error();
      const bool is_ok = contract->value("verdict", "") == "ok";
      is_within = is_within && is_ok;
      is_within_[id][name] = is_ok;
    }
    return is_within;
  }

  // Reads the programs of a variant. Nullopt: one of them was not lowered, is too large to be
  // compared, or cannot be read. The candidate may have caused this, so the result is the
  // candidate's verdict and not a fault.
  Result<std::optional<search::Sketched>> read_program(const std::string& folder) {
    TRY_ASSIGN(auto variant, steps::read_json(folder + "/variant.json"));
    TRY_ASSIGN(auto origin, search::read_origin(variant, "id", "variant.json"));
    std::map<std::string, std::string> programs;
    search::Sketched out = {
        .id = origin.id, .round = origin.round, .parameters = origin.parameters};
    for (const search::BenchCase& one : benches_) {
      TRY_ASSIGN(auto report, steps::read_json(fmt::format("{}/{}/lower.json", folder, one.name)));
      const json& digest = device_program_of(report);
      if (!digest.is_string()) return std::optional<search::Sketched>();
      TRY_ASSIGN(auto text, world::read_file(fmt::format("{}/{}/jaxpr.json", folder, one.name)));
      auto jaxpr = parse_outside(text);
      if (!jaxpr) {
        unreadable_[origin.id] = fmt::format("the traced program '{}' cannot be read: {}", one.name,
                                             jaxpr.error().message);
        return std::optional<search::Sketched>();
      }
      auto sketch = search::sketch_of(*jaxpr);
      if (!sketch) return std::optional<search::Sketched>();
      programs[one.name] = digest;
      out.sketches[one.name] = *std::move(sketch);
    }
    out.program = search::program_of(programs, benches_);
    return std::optional(std::move(out));
  }

  [[nodiscard]] json verdict_of(VariantId id, bool is_within) const {
    if (!is_within) return {{"verdict", "not_reached"}};
    if (auto it = unreadable_.find(id); it != unreadable_.end())
      return {{"verdict", "rejected"}, {"kind", "contract"}, {"reason", it->second}};
    auto it = entries_.find(id);
    if (it == entries_.end() || !it->second.is_near) return {{"verdict", "ok"}};
    return {{"verdict", "rejected"},
            {"kind", search::kNearDuplicate},
            {"reason", fmt::format("{:.3g} from {} (least_distance {})", *it->second.distance,
                                   it->second.nearest, arguments_.least)}};
  }

  // Writes the reports. A variant's own reports hold only the verdict, so that nothing else causes
  // it to be judged again.
  [[nodiscard]] Status write() const {
    json all = json::array();
    for (const VariantId id : arguments_.variants) {
      for (const auto& [name, is_within] : is_within_.at(id)) {
        const std::string path =
            fmt::format("{}/{}/{}/novelty.json", arguments_.round_dir, id, name);
        TRY(steps::write_json(path, verdict_of(id, is_within)));
      }
      json one = {{"variant", id}};
      if (auto it = entries_.find(id); it != entries_.end()) {
        const search::NoveltyEntry& entry = it->second;
        one["is_near"] = entry.is_near;
        one["is_known"] = entry.is_known;
        if (entry.distance) {
          one["nearest"] = entry.nearest;
          one["distance"] = search::rounded(*entry.distance);
        }
      }
      all.push_back(std::move(one));
    }
    auto status = world::write_file_atomic(arguments_.sketches_out, search::sketch_lines(earlier_));
    if (!status) return status;
    return steps::write_json(arguments_.out,
                             {{"least_distance", arguments_.least}, {"variants", all}});
  }

  const Arguments& arguments_;
  std::vector<search::CaseRecord> cases_;
  std::vector<search::BenchCase> benches_;
  std::vector<search::Sketched> earlier_;
  std::map<VariantId, std::map<std::string, bool>> is_within_;  // by variant and case
  std::map<VariantId, std::string> unreadable_;                 // the reasons
  std::map<VariantId, search::NoveltyEntry> entries_;
};

}  // namespace

int main(int argc, char** argv) {
  steps::CommandLine line(
      "novelty", "find the variants of a round that are too similar to an earlier variant");
  Arguments arguments;
  line.add("--spec", arguments.spec, "spec.json").required();
  line.add("--least-distance", arguments.least,
           "least distance from an earlier program, as a share")
      .required()
      .between(0.0, 1.0);
  line.add("--seed-dir", arguments.seed_dir, "in the first round: the seed's folder");
  line.add("--previous", arguments.previous, "sketches.jsonl of the previous round");
  line.add("--history", arguments.history, "history.jsonl of the previous round");
  steps::add_ids(line, "--variants", arguments.variants, "v0001,v0002,…").required().separated();
  line.add("--round-dir", arguments.round_dir, "folder that holds a folder for each variant")
      .required();
  line.add("--out", arguments.out, "novelty.json").required();
  line.add("--sketches-out", arguments.sketches_out, "sketches.jsonl").required();
  return steps::run_step(line, argc, argv, [&]() -> Status { return Novelty(arguments).run(); });
}
