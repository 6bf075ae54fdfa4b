// The space that a sweep searches: parameters with their values, and the constraints that a point
// must meet.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/expression.h"
#include "engine/core/result.h"
#include "engine/search/space/grid.h"
#include "engine/search/space/parameter.h"

namespace evolve::search {

// A value for each parameter.
using Point = std::map<std::string, int64_t>;

// Describes how `to` differs from `from`, in the order of the names: "BLOCK_K 512 -> 256, BLOCK_M
// 512 -> 1024". If nothing differs: "no change".
std::string describe_change(const Point& from, const Point& to);

class Space {
 public:
  // Makes a space. Bad input: a constraint does not parse.
  static Result<Space> make(std::vector<Parameter> parameters,
                            const std::vector<std::string>& constraints);
  // Makes the space of a spec.json.
  static Result<Space> from_spec_json(const nlohmann::json& spec);

  [[nodiscard]] const std::vector<Parameter>& parameters() const { return parameters_; }
  [[nodiscard]] std::vector<std::string> names() const;
  // The number of points, whatever the constraints; capped at kMostPoints (grid.h).
  [[nodiscard]] uint64_t size() const;
  // The point with number `index` < size(); the last parameter varies fastest.
  [[nodiscard]] Point at(uint64_t index) const;
  // The number of a point. Nullopt: one of its values is not in its parameter's list.
  [[nodiscard]] std::optional<uint64_t> index_of(const Point& point) const;
  // The points as a sampler sees them, under the same numbers. Bad input: no parameters, or more
  // than 2^62 points.
  [[nodiscard]] Result<Grid> grid() const;
  // Whether all constraints hold. Bad input: a constraint has no value at this point (a division by
  // zero).
  [[nodiscard]] Result<bool> allows(const Point& point) const;

 private:
  std::vector<Parameter> parameters_;
  std::vector<Formula> constraints_;
};

}  // namespace evolve::search
