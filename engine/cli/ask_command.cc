// `evolve ask`: the sweep's search as a service to any program; each message is a line of JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>
#include <istream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "engine/cli/commands.h"
#include "engine/core/json_text.h"
#include "engine/core/outside_json.h"
#include "engine/core/result.h"
#include "engine/core/text/did_you_mean.h"
#include "engine/core/text/plain_text.h"
#include "engine/report/output.h"
#include "engine/search/space/sampler.h"

namespace evolve::cli {

namespace {

using nlohmann::ordered_json;  // keeps parameters in the order in which they were given

constexpr uint64_t kMostCount = uint64_t{1}
                                << 53;  // whole numbers that any JSON reader keeps exact

constexpr size_t kMostLine = size_t{16} << 20;  // bytes

// Returns the given text, shortened for a message.
std::string shown(const std::string& text) {
  constexpr size_t kMost = 80;
  return one_line(text, kMost);
}
std::string shown(const ordered_json& value) {
  return shown(json_line(value));
}

struct AskedParameter {
  std::string name;
  std::vector<ordered_json> values;  // ascending if they have an order
};

struct Question {
  std::vector<AskedParameter> parameters;
  uint64_t seed = 0;
  std::optional<uint64_t> budget;
};

// Whether the values have an order that a search can use: all are numbers, or all are booleans.
// Texts and mixed values have no meaningful order.
bool have_order(const std::vector<ordered_json>& values) {
  const auto are_all = [&](bool (ordered_json::*is_one)() const noexcept) {
    return std::all_of(values.begin(), values.end(),
                       [&](const ordered_json& one) { return (one.*is_one)(); });
  };
  return are_all(&ordered_json::is_number) || are_all(&ordered_json::is_boolean);
}

// Returns a parameter's axis: numbers as they are, false and true as 0 and 1.
search::Axis axis_of(const AskedParameter& parameter) {
  search::Axis axis{parameter.values.size(), {}};
  if (!have_order(parameter.values)) return axis;
  for (const ordered_json& value : parameter.values)
    axis.values.push_back(value.is_boolean() ? (value.get<bool>() ? 1 : 0) : value.get<double>());
  return axis;
}

Result<AskedParameter> read_parameter(const std::string& name, const ordered_json& values) {
  const std::string where = "space." + shown(name);
  if (!values.is_array() || values.empty()) return bad_input(where + ": expected a list of values");
  AskedParameter out{name, {}};
  std::set<std::string> seen;
  for (const ordered_json& value : values) {
    if (!seen.insert(json_line(value)).second)
      return bad_input(fmt::format("{}: {} appears twice", where, shown(value)));
    out.values.push_back(value);
  }
  if (have_order(out.values)) {
    std::sort(out.values.begin(), out.values.end());
    if (std::adjacent_find(out.values.begin(), out.values.end()) != out.values.end())
      return bad_input(where + ": a number appears twice");
  }
  return out;
}

Result<uint64_t> read_count(const ordered_json& from, const char* key, uint64_t least) {
  const ordered_json& value = from[key];
  if (!value.is_number_unsigned() || value.get<uint64_t>() < least ||
      value.get<uint64_t>() > kMostCount)
    return bad_input(fmt::format("{}: expected a whole number from {} to 2^53, got {}", key, least,
                                 shown(value)));
  return value.get<uint64_t>();
}

Result<Question> read_question(const ordered_json& from) {
  const std::vector<std::string> known = {"space", "seed", "budget"};
  if (!from.is_object() || !from.contains("space") || !from["space"].is_object())
    return bad_input("expected a space", "",
                     R"({"space": {"BLOCK": [128, 256]}, "seed": 1, "budget": 100})");
  for (const auto& [key, value] : from.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    auto near = nearest(key, known);
    return bad_input(fmt::format("unknown key '{}'{}", shown(key),
                                 near ? fmt::format(", did you mean '{}'?", *near) : ""));
  }
  Question out;
  for (const auto& [name, values] : from["space"].items()) {
    TRY_ASSIGN(auto parameter, read_parameter(name, values));
    out.parameters.push_back(std::move(parameter));
  }
  if (from.contains("seed")) {
    TRY_ASSIGN(auto seed, read_count(from, "seed", 0));
    out.seed = seed;
  }
  if (from.contains("budget")) {
    TRY_ASSIGN(auto budget, read_count(from, "budget", 1));
    out.budget = budget;
  }
  return out;
}

// Reads an answer: a time, or nullopt for a point that is not valid.
Result<std::optional<double>> read_answer(const ordered_json& from) {
  auto wrong = [](const std::string& what) {
    return bad_input(fmt::format("{}: expected a time above 0, or null", what), "",
                     R"({"tell": 1.25}, or {"tell": null} of a point that is not valid)");
  };
  if (!from.is_object() || !from.contains("tell") || from.size() != 1)
    return wrong("not an answer");
  const ordered_json& cost = from["tell"];
  if (cost.is_null()) return std::optional<double>();
  if (!cost.is_number() || !(cost.get<double>() > 0))
    return wrong(fmt::format("tell: {}", shown(cost)));
  return std::optional<double>(cost.get<double>());
}

// One conversation with a program.
class Conversation {
 public:
  explicit Conversation(std::istream& in) : in_(in) {}

  Status run(const std::string& sampler_name) {
    TRY_ASSIGN(auto begin, read());
    if (!begin) return {};
    auto question = read_question(*begin);
    if (!question) return here(std::move(question).error());
    parameters_ = std::move(question->parameters);
    std::vector<search::Axis> axes;
    for (const AskedParameter& parameter : parameters_) axes.push_back(axis_of(parameter));
    auto grid = search::Grid::make(axes);
    if (!grid) return here(std::move(grid).error().within("space"));
    grid_ = *grid;
    TRY_ASSIGN(auto sampler, search::make_sampler(sampler_name, *std::move(grid), question->seed));
    return converse(*sampler, question->budget);
  }

 private:
  Status converse(search::Sampler& sampler, std::optional<uint64_t> budget) {
    while (!budget || told_ < *budget) {
      auto point = sampler.next();
      if (!point) break;
      const ordered_json configuration = configuration_of(*point);
      print_out(json_line(ordered_json{{"ask", configuration}}) + "\n");
      bool was_wrong = false;
      auto cost = answer(configuration, was_wrong);
      if (!cost) {
        summarise();
        return was_wrong ? Status(here(bad_input("the input ends with an invalid answer")))
                         : Status();
      }
      sampler.tell(*point, *cost);
      note(configuration, *cost);
    }
    summarise();
    return {};
  }

  // Reads the answer to a question. A wrong answer is reported, and the question is asked again.
  // Nullopt: the input has ended; `was_wrong` then says whether it ended at a wrong answer.
  std::optional<std::optional<double>> answer(const ordered_json& configuration, bool& was_wrong) {
    while (true) {
      auto line = read();
      if (line && !*line) return std::nullopt;
      auto cost = line ? read_answer(**line) : Result<std::optional<double>>(line.error());
      if (cost) return *cost;
      was_wrong = true;
      ++wrong_;
      const Error why = line ? here(cost.error()) : line.error();
      print_err(fmt::format("evolve: error: {}; the point is asked again\n", why.message));
      print_out(json_line(ordered_json{{"ask", configuration}}) + "\n");
    }
  }

  // Reads the next line that is not empty; nullopt: the input has ended.
  Result<std::optional<ordered_json>> read() {
    for (std::string line; take_line(line);) {
      if (line.size() > kMostLine)
        return here(bad_input(fmt::format("a line is longer than {} bytes", kMostLine)));
      if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
      auto out = parse_outside<ordered_json>(line);
      if (!out) return here(std::move(out).error());
      return std::optional<ordered_json>(*std::move(out));
    }
    return std::optional<ordered_json>();
  }

  // Reads a line. False: the input has ended. Only the beginning of a line that is too long is
  // kept.
  bool take_line(std::string& line) {
    line.clear();
    int c = in_.get();
    if (c == std::istream::traits_type::eof()) return false;
    ++line_;
    for (; c != std::istream::traits_type::eof() && c != '\n'; c = in_.get()) {
      if (line.size() <= kMostLine) line += static_cast<char>(c);
    }
    return true;
  }

  [[nodiscard]] Error here(Error error) const {
    return std::move(error).within(fmt::format("stdin:{}", line_));
  }

  [[nodiscard]] ordered_json configuration_of(uint64_t point) const {
    ordered_json out = ordered_json::object();
    for (size_t i = 0; i < parameters_.size(); ++i)
      out[parameters_[i].name] = parameters_[i].values[grid_->place(point, i)];
    return out;
  }

  void note(const ordered_json& configuration, std::optional<double> cost) {
    ++told_;
    if (!cost) ++invalid_;
    if (!cost || (best_cost_ && *best_cost_ <= *cost)) return;
    best_cost_ = cost;
    best_ = configuration;
  }

  void summarise() const {
    std::string line =
        fmt::format("evolve: {} of {} points asked, {} not valid", told_, grid_->size(), invalid_);
    if (wrong_ > 0) line += fmt::format(", {} invalid answers", wrong_);
    if (best_cost_) line += fmt::format("; best: {} {}", *best_cost_, json_line(best_));
    print_err(line + "\n");
  }

  std::istream& in_;
  int line_ = 0;
  std::vector<AskedParameter> parameters_;
  std::optional<search::Grid> grid_;
  uint64_t told_ = 0;
  uint64_t invalid_ = 0;
  uint64_t wrong_ = 0;  // wrong answers
  std::optional<double> best_cost_;
  ordered_json best_;
};

// Speaks with the program behind `in` and stdout until `in` ends. Each message is a line:
//
//   in    {"space": {"BLOCK_M": [128, 256], "ORDER": ["ij", "ji"]}, "seed": 1, "budget": 100}
//   out   {"ask": {"BLOCK_M": 128, "ORDER": "ij"}}
//   in    {"tell": 1.25}        the point's time, above 0, in any unit; or null: not valid
//   out   {"ask": …}            and so on
//
// A parameter's values are any JSON, in any order, no two alike. Numbers and booleans have an order
// that the search uses. `seed` is 0 to 2^53 (default: 0). The questions end after `budget` answers,
// or when every point was asked for. Each point is asked for once. The same seed and answers give
// the same questions. `sampler` is one of search::sampler_names().
//
// An answer of another form is reported on stderr, with the line's number, and the point is asked
// for again. At the end, stderr gets the number of points asked for, and the best point.
//
// Bad input: the first line has another form, or the input ends at a wrong answer.
Status run_ask(const std::string& sampler, std::istream& in) {
  return Conversation(in).run(sampler);
}

}  // namespace

void add_ask(Commands& commands) {
  auto ask = commands.add(
      "ask",
      "search a space for its best point: ask on stdout and read times from stdin, as JSON lines");
  auto sampler = std::make_shared<std::string>(search::sampler_names().front());
  ask.add("--sampler", *sampler,
          fmt::format("how points are chosen, one of: {} (default: {})",
                      fmt::join(search::sampler_names(), ", "), search::sampler_names().front()));
  commands.on(ask, [sampler](const CommonOptions&) { return run_ask(*sampler, std::cin); });
}

}  // namespace evolve::cli
