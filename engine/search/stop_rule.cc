#include "engine/search/stop_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/core/text/did_you_mean.h"
#include "engine/core/text/scan.h"

namespace evolve::search {

namespace {

struct Unit {
  const char* name;
  double factor;
};

struct Quantity {
  const char* name;
  std::vector<Unit> units;  // the first is the default
  std::optional<double> (*of)(const Standpoint& at);
};

const std::vector<Quantity>& quantities() {
  using Value = std::optional<double>;
  static const std::vector<Unit> count = {{"", 1}};
  static const std::vector<Unit> times = {{"x", 1}};
  static const std::vector<Unit> money = {{"usd", 1}};
  static const std::vector<Unit> time = {{"s", 1}, {"min", 60}, {"h", 3600}};
  static const std::vector<Quantity> all = {
      {"rounds", count, [](const Standpoint& at) { return Value(at.rounds); }},
      {"speedup", times, [](const Standpoint& at) { return at.speedup; }},
      {"stagnant", count, [](const Standpoint& at) { return Value(at.stagnant); }},
      {"roofline", count, [](const Standpoint& at) { return at.roofline; }},
      {"cost", money, [](const Standpoint& at) { return Value(at.cost_usd); }},
      {"tokens", count, [](const Standpoint& at) { return Value(at.tokens); }},
      {"device", time, [](const Standpoint& at) { return Value(at.device_seconds); }},
      {"wall", time, [](const Standpoint& at) { return Value(at.wall_seconds); }},
  };
  return all;
}

const Quantity* find_quantity(std::string_view name) {
  const auto& all = quantities();
  auto found =
      std::find_if(all.begin(), all.end(), [&](const auto& one) { return name == one.name; });
  return found == all.end() ? nullptr : &*found;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  // Skips blanks, and returns whether the text is at its end.
  bool take_end() {
    skip_blanks();
    return begin_ == text_.size();
  }
  // Takes a word of letters. Empty: no word comes next.
  std::string_view take_word() {
    skip_blanks();
    while (at_ < text_.size() && (is_letter(text_[at_]) || text_[at_] == '_')) ++at_;
    return text_.substr(begin_, at_ - begin_);
  }
  bool take(std::string_view sign) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(sign)) return false;
    at_ += sign.size();
    return true;
  }
  std::optional<double> take_number() {
    skip_blanks();
    std::string_view rest = text_.substr(at_);
    const auto value = evolve::take_number<double>(rest);
    at_ = text_.size() - rest.size();
    return value;
  }
  // Returns an error at the column of the text that was taken last.
  [[nodiscard]] Error wrong(const std::string& what) const {
    return bad_input(fmt::format("'{}': column {}: {}", text_, begin_ + 1, what), "",
                     "write a rule such as: speedup>=1.3 or stagnant 3 or cost>=5usd");
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    begin_ = at_;
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t begin_ = 0;  // of the text that was taken last
};

std::string names_of(const std::vector<Unit>& units) {
  std::string out;
  for (const Unit& unit : units) out += fmt::format("{}{}", out.empty() ? "" : ", ", unit.name);
  return out;
}

Result<const Quantity*> read_quantity(Reader& reader) {
  const std::string name(reader.take_word());
  if (name.empty()) return reader.wrong("expected a condition");
  if (const Quantity* found = find_quantity(name)) return found;
  std::vector<std::string> known;
  for (const Quantity& one : quantities()) known.emplace_back(one.name);
  auto near = nearest(name, known);
  return reader.wrong(fmt::format("unknown quantity '{}'{}", name,
                                  near ? fmt::format(", did you mean '{}'?", *near) : ""));
}

// Returns the factor of the unit with this name.
Result<double> factor_of(const Quantity& quantity, std::string_view name, const Reader& reader) {
  for (const Unit& unit : quantity.units) {
    if (name == unit.name) return unit.factor;
  }
  const bool has_units = quantity.units.front().name[0] != '\0';
  return reader.wrong(has_units ? fmt::format("{} has the unit {}, not '{}'", quantity.name,
                                              names_of(quantity.units), name)
                                : fmt::format("expected 'and' or 'or', got '{}'", name));
}

bool is_joint(std::string_view word) {
  return word == "and" || word == "or";
}

}  // namespace

Result<StopRule> StopRule::parse(std::string_view text) {
  Reader reader(text);
  StopRule out;
  out.any_of_.emplace_back();
  while (true) {
    TRY_ASSIGN(auto quantity, read_quantity(reader));
    reader.take(">=");
    const auto least = reader.take_number();
    if (!least || !std::isfinite(*least) || *least <= 0)
      return reader.wrong(fmt::format("{}: expected a number above 0", quantity->name));
    Condition condition = {quantity->name, *least};
    std::string_view word = reader.take_word();
    if (!word.empty() && !is_joint(word)) {
      TRY_ASSIGN(auto factor, factor_of(*quantity, word, reader));
      condition.least *= factor;
      word = reader.take_word();
    }
    out.any_of_.back().push_back(std::move(condition));
    if (word.empty() && reader.take_end()) return out;
    if (!is_joint(word)) return reader.wrong("expected 'and' or 'or'");
    if (word == "or") out.any_of_.emplace_back();
  }
}

std::optional<std::string> StopRule::reason(const Standpoint& at) const {
  for (const auto& all_of : any_of_) {
    std::string text;
    const bool holds = std::all_of(all_of.begin(), all_of.end(), [&](const Condition& condition) {
      const auto value = find_quantity(condition.quantity)->of(at);
      if (!value || *value < condition.least) return false;
      text += fmt::format("{}{} {:.6g} >= {:.6g}", text.empty() ? "" : " and ", condition.quantity,
                          *value, condition.least);
      return true;
    });
    if (holds) return text;
  }
  return std::nullopt;
}

int stagnant_rounds(std::span<const double> best_scores, double resolution) {
  double best = 0;
  int out = 0;
  for (double score : best_scores) {
    const bool is_better = score > best * (1 + resolution);
    if (is_better) best = score;
    out = is_better ? 0 : out + 1;
  }
  return out;
}

}  // namespace evolve::search
