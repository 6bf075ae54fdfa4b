#include "engine/search/space/space.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/core/json_read.h"

namespace evolve::search {

namespace {

using nlohmann::json;

Error bad_spec(const std::string& what) {
  return external(fmt::format("spec.json: {}", what));
}

Result<Parameter> read_parameter(const json& from) {
  const json& name = member(from, "name");
  const json& values = member(from, "values");
  if (!name.is_string() || !values.is_array() || values.empty())
    return bad_spec("a parameter has no values");
  Parameter parameter;
  parameter.name = name.get<std::string>();
  for (const json& value : values) {
    if (!value.is_number_integer()) return bad_spec("a value is not a whole number");
    parameter.values.push_back(value.get<int64_t>());
  }
  return parameter;
}

}  // namespace

std::string describe_change(const Point& from, const Point& to) {
  std::string out;
  for (const auto& [name, value] : to) {
    auto before = from.find(name);
    if (before == from.end() || before->second == value) continue;
    out += fmt::format("{}{} {} -> {}", out.empty() ? "" : ", ", name, before->second, value);
  }
  return out.empty() ? "no change" : out;
}

Result<Space> Space::make(std::vector<Parameter> parameters,
                          const std::vector<std::string>& constraints) {
  Space space;
  space.parameters_ = std::move(parameters);
  std::vector<std::string> names = space.names();
  for (const std::string& text : constraints) {
    auto formula = Formula::parse(text, names);
    if (!formula) return std::move(formula).error().within("constraints");
    space.constraints_.push_back(*std::move(formula));
  }
  return space;
}

Result<Space> Space::from_spec_json(const json& spec) {
  const json& list = member(spec, "parameters");
  const json& formulas = member(spec, "constraints");
  if (!list.is_array() || !formulas.is_array())
    return bad_spec("the parameters or the constraints are missing");
  std::vector<Parameter> parameters;
  for (const json& one : list) {
    TRY_ASSIGN(auto parameter, read_parameter(one));
    parameters.push_back(std::move(parameter));
  }
  std::vector<std::string> constraints;
  for (const json& formula : formulas) {
    if (!formula.is_string()) return bad_spec("a constraint is not a text");
    constraints.push_back(formula.get<std::string>());
  }
  return make(std::move(parameters), constraints);
}

std::vector<std::string> Space::names() const {
  std::vector<std::string> out;
  out.reserve(parameters_.size());
  for (const Parameter& parameter : parameters_) out.push_back(parameter.name);
  return out;
}

uint64_t Space::size() const {
  uint64_t size = 1;
  for (const Parameter& parameter : parameters_) {
    if (size > kMostPoints / parameter.values.size()) return kMostPoints;
    size *= parameter.values.size();
  }
  return size;
}

Point Space::at(uint64_t index) const {
  Point point;
  for (auto it = parameters_.rbegin(); it != parameters_.rend(); ++it) {
    point[it->name] = it->values[index % it->values.size()];
    index /= it->values.size();
  }
  return point;
}

std::optional<uint64_t> Space::index_of(const Point& point) const {
  uint64_t index = 0;
  for (const auto& [name, values] : parameters_) {
    auto value = point.find(name);
    if (value == point.end()) return std::nullopt;
    auto place = std::lower_bound(values.begin(), values.end(), value->second);
    if (place == values.end() || *place != value->second) return std::nullopt;
    index = index * values.size() + static_cast<uint64_t>(place - values.begin());
  }
  return index;
}

Result<Grid> Space::grid() const {
  std::vector<Axis> axes;
  for (const Parameter& parameter : parameters_)
    axes.push_back({parameter.values.size(), {parameter.values.begin(), parameter.values.end()}});
  return Grid::make(std::move(axes));
}

Result<bool> Space::allows(const Point& point) const {
  std::vector<int64_t> values;
  values.reserve(parameters_.size());
  for (const Parameter& parameter : parameters_) {
    auto it = point.find(parameter.name);
    if (it == point.end()) return internal_error(fmt::format("a point lacks '{}'", parameter.name));
    values.push_back(it->second);
  }
  for (const Formula& constraint : constraints_) {
    auto holds = constraint.holds(values);
    if (!holds || !*holds) return holds;
  }
  return true;
}

}  // namespace evolve::search
