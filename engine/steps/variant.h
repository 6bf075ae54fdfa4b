// What the steps at a round's end share: reading what became of its variants.
#pragma once

#include <string>
#include <vector>

#include "engine/search/selection_record.h"
#include "engine/steps/step.h"

namespace evolve::steps {

// A variant by the records in its folder; without its times where `has_times` is false.
inline Result<search::Evaluated> read_variant(const std::string& folder,
                                              const std::vector<search::CaseRecord>& cases,
                                              bool has_times = true) {
  auto variant = read_json(folder + "/variant.json");
  if (!variant) return std::move(variant).error();
  return search::read_evaluated(
      *variant, cases,
      [&](const std::string& case_name, const std::string& file) {
        return read_json(fmt::format("{}/{}/{}", folder, case_name, file));
      },
      has_times);
}

}  // namespace evolve::steps
