#include "engine/ir/readers/utilisation.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/core/text/scan.h"
#include "engine/ir/readers/text.h"

namespace evolve::ir {

namespace {

constexpr size_t kMostUnits = 1024;
// The largest number that a row may have. No bundle has as much, and sums do not overflow.
constexpr uint64_t kMostCount = 1'000'000;

// Reads the names of units: "MXU, XLU, VALU".
std::vector<UnitUse> read_units(std::string_view line) {
  std::vector<UnitUse> out;
  while (!trimmed(line).empty() && out.size() <= kMostUnits) {
    size_t comma = std::min(line.find(','), line.size());
    out.push_back({std::string(trimmed(line.substr(0, comma))), 0, 0});
    line.remove_prefix(std::min(comma + 1, line.size()));
  }
  return out;
}

class UtilisationReader {
 public:
  UtilisationReader(std::string_view text, std::string name)
      : text_(text), name_(std::move(name)) {}

  Result<Utilisation> read() {
    if (!text_.ends_with('\n')) {
      line_ = 1 + static_cast<uint64_t>(std::count(text_.begin(), text_.end(), '\n'));
      return error("the file ends within a line");
    }
    if (next_line() != "== CAPACTIY:") return error("expected '== CAPACTIY:'");
    out_.units = read_units(next_line());
    if (out_.units.empty() || out_.units.size() > kMostUnits)
      return error("the names of units are missing");
    TRY(read_row(&UnitUse::capacity));
    if (next_line() != "== UTILIZATION:") return error("expected '== UTILIZATION:'");
    out_.line = line_ + 1;
    while (!text_.empty()) {
      TRY(read_row(&UnitUse::used));
      ++out_.bundles;
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] Error error(const std::string& what) const {
    return bad_input(fmt::format("{}:{}: {}", name_, line_, what));
  }

  std::string_view next_line() {
    size_t end = std::min(text_.find('\n'), text_.size());
    std::string_view line = text_.substr(0, end);
    text_.remove_prefix(std::min(end + 1, text_.size()));
    ++line_;
    return line;
  }

  // Adds a row, one number for each unit, to the units' counts.
  Status read_row(uint64_t UnitUse::*count) {
    std::string_view row = next_line();
    for (UnitUse& unit : out_.units) {
      row.remove_prefix(std::min(row.find_first_not_of(' '), row.size()));
      const auto number = take_number<uint64_t>(row);
      if (!number || *number > kMostCount)
        return error(fmt::format("the number for {} is missing", unit.unit));
      unit.*count += *number;
    }
    if (!trimmed(row).empty())
      return error(fmt::format("more numbers than {} units", out_.units.size()));
    return {};
  }

  std::string_view text_;
  std::string name_;
  uint64_t line_ = 0;
  Utilisation out_;
};

}  // namespace

Result<Utilisation> read_utilisation(std::string_view text, const std::string& name) {
  return UtilisationReader(text, name).read();
}

}  // namespace evolve::ir
