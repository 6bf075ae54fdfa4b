// Rounds of an invented campaign: random times that improve from round to round, some rejected
// variants, and some variants whose program is known.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "engine/search/history/history.h"
#include "engine/search/selection/selection.h"
#include "engine/search/selection/selection_record.h"
#include "engine/search/space/random.h"

namespace evolve::tests {

class SyntheticRounds {
 public:
  SyntheticRounds(search::SelectionRule rule, int variants, uint64_t seed, uint64_t random_seed = 0)
      : rule_(std::move(rule)), random_seed_(random_seed), variants_(variants), random_(seed) {
    seed_ = variant(VariantId(), 0, VariantId());
    seed_.rejection.reset();
    seed_.seconds = {{"big", 1.0}, {"wide", 1.0}};
  }

  // Returns the request of the next round's select step.
  search::SelectionRequest next() {
    search::SelectionRequest out;
    out.cases = {{"big", 2}, {"wide", 1}};
    out.round = ++round_;
    out.rule = rule_;
    out.random_seed = random_seed_;
    out.seed = seed_;
    out.before = before_.survivors;
    out.places = before_.places;
    out.lineages_made = before_.lineages_made;
    for (int i = 0; i < variants_; ++i) {
      const auto place = static_cast<size_t>(i);
      const VariantId parent =
          before_.places.empty()
              ? seed_.id
              : before_.survivors[static_cast<size_t>(before_.places[place] - 1)].variant.id;
      out.variants.push_back(variant(VariantId(++made_), round_, parent));
    }
    return out;
  }

  // Reads the record of the last round, as the next round's select step does.
  Status take(const nlohmann::json& record) {
    auto read = search::read_selection(record);
    if (!read) return std::move(read).error();
    before_ = *std::move(read);
    return {};
  }

 private:
  search::Evaluated variant(VariantId id, int round, VariantId parent) {
    search::Evaluated out;
    out.id = id;
    out.round = round;
    out.mutator = "sweep";
    if (id != parent) out.parents = {parent};
    out.parameters = {{"BLOCK_M", static_cast<int64_t>(random_.below(1 << 20))}};
    out.note = fmt::format("BLOCK_M 512 -> {}", out.parameters.at("BLOCK_M"));
    out.source = fmt::format("{:064x}", random_.next());
    out.structure = fmt::format("{:064x}", random_.below(5));
    out.cell = fmt::format("mxu vmem-{} mxu-{} block-19", random_.below(4), random_.below(4));
    // About a third of the programs were drawn before.
    const uint64_t program = random_.below(static_cast<uint64_t>(3 * made_ + 10));
    out.programs = {{"big", fmt::format("{:032x}", program)},
                    {"wide", fmt::format("{:032x}", program)}};
    if (random_.below(4) == 0) {
      out.rejection = {"check",
                       "wide",
                       "incorrect",
                       fmt::format("off by {} at [0, 7]", random_.below(1000)),
                       {}};
      return out;
    }
    out.time_kind = TimeKind::modelled;
    for (const char* name : {"big", "wide"})
      out.seconds[name] = search::rounded(0.5 + random_.unit() * (1.0 + 1.0 / (1 + round)));
    return out;
  }

  search::SelectionRule rule_;
  uint64_t random_seed_;
  int variants_;
  search::Random random_;
  search::Evaluated seed_;
  search::Selection before_;
  int round_ = 0;
  int made_ = 0;
};

}  // namespace evolve::tests
