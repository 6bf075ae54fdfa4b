#include "engine/ir/model/on_data.h"

#include <map>
#include <utility>

namespace evolve::ir {

namespace {

class Range {
 public:
  Range(const Schedule& schedule, const Device& device, const Parameters& parameters)
      : schedule_(schedule), device_(device), parameters_(parameters) {}

  Result<DataRange> find() {
    TRY_ASSIGN(auto plain, run({}));
    DataRange out;
    if (seen_.empty()) {
      out.dearer = std::move(plain);
      return out;
    }
    std::map<uint32_t, bool> dearer, cheaper;
    // A run may find further predicates, which run() appends to `seen_`.
    for (size_t i = 0; i < seen_.size(); ++i) {
      const uint32_t site = seen_[i].instruction;
      TRY_ASSIGN(auto other, run({{site, true}}));
      dearer[site] = other.cycles > plain.cycles;
      cheaper[site] = !dearer[site];
    }
    for (auto [sides, simulation] : {std::pair(&dearer, &out.dearer), {&cheaper, &least_}}) {
      TRY_ASSIGN(auto one, run(*sides));
      *simulation = std::move(one);
    }
    if (least_.cycles > out.dearer.cycles) std::swap(least_, out.dearer);
    out.cheaper = std::move(least_);
    for (DataBranches::OpenPredicate& one : seen_) out.on_data.push_back(std::move(one.what));
    return out;
  }

 private:
  // Simulates with the assumptions `holds`. Other predicates on data are assumed to be false.
  Result<Simulation> run(std::map<uint32_t, bool> holds) {
    DataBranches branches;
    branches.holds = std::move(holds);
    for (const DataBranches::OpenPredicate& one : seen_)
      branches.holds.try_emplace(one.instruction, false);
    SimulationOptions options;
    options.on_data = &branches;
    while (true) {
      auto simulation = simulate(schedule_, device_, parameters_, options);
      if (simulation || !branches.asked || seen_.size() == kMostDataBranches) return simulation;
      // The predicate may be assumed already and still not known, because another instruction makes
      // a value of the same name. Then the error stands.
      if (!branches.holds.try_emplace(branches.asked->instruction, false).second) return simulation;
      seen_.push_back(*std::exchange(branches.asked, std::nullopt));
    }
  }

  const Schedule& schedule_;
  const Device& device_;
  const Parameters& parameters_;
  std::vector<DataBranches::OpenPredicate> seen_;
  Simulation least_;
};

}  // namespace

Result<DataRange> simulate_range(const Schedule& schedule, const Device& device,
                                 const Parameters& parameters) {
  return Range(schedule, device, parameters).find();
}

}  // namespace evolve::ir
