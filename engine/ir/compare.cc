#include "engine/ir/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace evolve::ir {

namespace {

using nlohmann::json;

json pair(const json& before, const json& after) {
  return json::array({before, after});
}

void sort_by_change(json& list) {
  std::stable_sort(list.begin(), list.end(), [](const json& a, const json& b) {
    return std::fabs(a["difference"].get<double>()) > std::fabs(b["difference"].get<double>());
  });
}

json causes(const json& before, const json& after) {
  json out = json::array();
  for (size_t i = 0; i < before.at("by_cause").size(); ++i) {
    const json& a = before.at("by_cause").at(i);
    const json& b = after.at("by_cause").at(i);
    out.push_back({{"cause", a.at("cause").get<std::string>()},
                   {"what", a.at("what").get<std::string>()},
                   {"seconds", pair(a.at("seconds"), b.at("seconds"))},
                   {"difference", b.at("seconds").get<double>() - a.at("seconds").get<double>()}});
  }
  sort_by_change(out);
  return out;
}

// A module's name without the number that XLA gave it.
std::string base_name(const json& kernel) {
  auto name = kernel.at("name").get<std::string>();
  return name.substr(0, name.rfind('.'));
}

json kernels(const json& before, const json& after) {
  std::map<std::string, std::array<double, 2>> seconds;
  size_t side = 0;
  for (const json* facts : {&before, &after}) {
    for (const json& kernel : facts->at("kernels")) {
      seconds[base_name(kernel)][side] +=
          kernel.at("seconds").get<double>() * kernel.at("times").get<double>();
    }
    ++side;
  }
  json out = json::array();
  for (const auto& [name, both] : seconds)
    out.push_back(
        {{"name", name}, {"seconds", pair(both[0], both[1])}, {"difference", both[1] - both[0]}});
  sort_by_change(out);
  return out;
}

// Returns how alike the work of two sections is, from 0 to 1: the sum, over the opcodes, of the
// share that both have. A loop that does more of the same keeps its shares.
double likeness(const json& a, const json& b) {
  auto sum_of = [](const json& opcodes) {
    double sum = 0;
    for (const auto& [name, times] : opcodes.items()) sum += times.get<double>();
    return sum;
  };
  double sum_a = sum_of(a.at("opcodes"));
  double sum_b = sum_of(b.at("opcodes"));
  double common = 0;
  for (const auto& [name, times] : a.at("opcodes").items()) {
    auto other = b.at("opcodes").find(name);
    if (other == b.at("opcodes").end()) continue;
    common += std::min(times.get<double>() / sum_a, other->get<double>() / sum_b);
  }
  return common;
}

// Returns a section's place and work, of the known types. Throws json::exception if a type differs.
json section_record(const json& section) {
  auto whole = [](const json& number) { return number.get_ref<const json::number_unsigned_t&>(); };
  json opcodes = json::object();
  for (const auto& [name, times] : section.at("opcodes").items()) opcodes[name] = whole(times);
  return {{"bundle", whole(section.at("bundle"))},
          {"bundles", whole(section.at("bundles"))},
          {"line", whole(section.at("line"))},
          {"times", whole(section.at("times"))},
          {"by_cause", section.at("by_cause").get<std::map<std::string, double>>()},
          {"opcodes", opcodes},
          {"source", section.at("source").get<std::vector<std::string>>()}};
}

// The pairs of sections that correspond, in the order of the text. They are the pairs that are most
// alike in sum. A section without a counterpart has kNoSection there.
constexpr size_t kNoSection = SIZE_MAX;
using SectionPairs = std::vector<std::pair<size_t, size_t>>;

SectionPairs align(const json& before, const json& after) {
  constexpr double kLeastLikeness = 0.3;
  // A kernel's facts have at most a hundred sections: each takes a hundredth of its time or more.
  constexpr size_t kMostSections = 1000;
  if (std::max(before.size(), after.size()) > kMostSections) return {};
  const size_t rows = before.size();
  const size_t columns = after.size();
  // best[i][j]: the likeness, summed, of the best pairs among the first i and the first j sections.
  std::vector<std::vector<double>> best(rows + 1, std::vector<double>(columns + 1, 0));
  std::vector<std::vector<double>> like = best;
  for (size_t i = 1; i <= rows; ++i) {
    for (size_t j = 1; j <= columns; ++j) {
      like[i][j] = likeness(before[i - 1], after[j - 1]);
      best[i][j] = std::max(best[i - 1][j], best[i][j - 1]);
      if (like[i][j] >= kLeastLikeness)
        best[i][j] = std::max(best[i][j], best[i - 1][j - 1] + like[i][j]);
    }
  }
  SectionPairs out;
  for (size_t i = rows, j = columns; i > 0 || j > 0;) {
    bool is_pair = i > 0 && j > 0 && like[i][j] >= kLeastLikeness &&
                   best[i][j] == best[i - 1][j - 1] + like[i][j];
    bool is_gone = !is_pair && i > 0 && (j == 0 || best[i][j] == best[i - 1][j]);
    out.emplace_back(is_pair || is_gone ? i - 1 : kNoSection, is_gone ? kNoSection : j - 1);
    if (is_pair || is_gone) --i;
    if (!is_gone) --j;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

// Adds the sections of a kernel before and after, and an entry for the rest, so that all entries
// add up to the whole.
void add_sections(const json& before, const json& after, json& out) {
  std::array<double, 2> elsewhere{};
  auto side = [](const json& kernel, size_t index, double& rest) {
    if (index == kNoSection) return std::pair(0.0, json());
    const json& section = kernel.at("sections").at(index);
    double seconds = section.at("seconds").get<double>() * kernel.at("times").get<double>();
    rest -= seconds;
    return std::pair(seconds, section_record(section));
  };
  auto whole = [](const json& kernel) {
    return kernel.at("seconds").get<double>() * kernel.at("times").get<double>();
  };
  elsewhere = {whole(before), whole(after)};
  auto add = [&](double from, double to, const json& a, const json& b) {
    out.push_back({{"module", after.at("name").get<std::string>()},
                   {"seconds", pair(from, to)},
                   {"difference", to - from},
                   {"sections", pair(a, b)}});
  };
  for (const auto& [i, j] : align(before.at("sections"), after.at("sections"))) {
    auto [from, a] = side(before, i, elsewhere[0]);
    auto [to, b] = side(after, j, elsewhere[1]);
    add(from, to, a, b);
  }
  add(elsewhere[0], elsewhere[1], nullptr, nullptr);
}

// Compares by section the modules that each program has once.
json sections(const json& before, const json& after) {
  std::map<std::string, std::array<std::vector<const json*>, 2>> modules;
  size_t side = 0;
  for (const json* facts : {&before, &after}) {
    for (const json& kernel : facts->at("kernels"))
      modules[base_name(kernel)].at(side).push_back(&kernel);
    ++side;
  }
  json out = json::array();
  for (const auto& [name, both] : modules) {
    if (both[0].size() == 1 && both[1].size() == 1)
      add_sections(*both[0].front(), *both[1].front(), out);
  }
  // The rest: modules of only one program, and modules that a program has more than once.
  double from = before.at("seconds").get<double>();
  double to = after.at("seconds").get<double>();
  for (const json& one : out) {
    from -= one["seconds"][0].get<double>();
    to -= one["seconds"][1].get<double>();
  }
  out.push_back({{"module", ""},
                 {"seconds", pair(from, to)},
                 {"difference", to - from},
                 {"sections", pair(nullptr, nullptr)}});
  sort_by_change(out);
  return out;
}

struct Count {
  const char* what;
  const char* unit;
  const char* pointer;  // into facts
};

constexpr std::array<Count, 13> kCounts = {{
    {"loaded from HBM", "bytes", "/dma/load_bytes"},
    {"stored to HBM", "bytes", "/dma/store_bytes"},
    {"loads", "DMAs", "/dma/loads"},
    {"stores", "DMAs", "/dma/stores"},
    {"passes through loops", "passes", "/steps"},
    {"matmuls", "instructions", "/matmuls"},
    {"bundles executed", "bundles", "/bundles/executed"},
    {"of those empty", "bundles", "/bundles/empty"},
    {"bundles of the program", "bundles", "/bundles/static"},
    {"registers spilled", "stores", "/spills/stores_executed"},
    {"registers filled", "loads", "/spills/loads_executed"},
    {"VMEM allocated", "bytes", "/vmem/allocated_bytes"},
    {"of that for spills", "bytes", "/vmem/spilled_bytes"},
}};

json counts(const json& before, const json& after) {
  json out = json::array();
  for (const Count& count : kCounts) {
    json::json_pointer pointer(count.pointer);
    auto a = before.at(pointer).get<double>();
    auto b = after.at(pointer).get<double>();
    if (a != b) out.push_back({{"what", count.what}, {"unit", count.unit}, {"values", pair(a, b)}});
  }
  return out;
}

}  // namespace

Result<json> compare_facts(const json& before, const json& after) {
  try {
    auto a = before.at("seconds").get<double>();
    auto b = after.at("seconds").get<double>();
    return json{{"targets", pair(before.at("target").get<std::string>(),
                                 after.at("target").get<std::string>())},
                {"seconds", pair(a, b)},
                {"difference", b - a},
                {"is_tie", std::fabs(b - a) < kTie * std::max(a, b)},
                {"by_cause", causes(before, after)},
                {"kernels", kernels(before, after)},
                {"sections", sections(before, after)},
                {"counts", counts(before, after)}};
  } catch (const json::exception& error) {
    return bad_input(fmt::format("the facts have an unknown form: {}", error.what()), "",
                     "'evolve analyze --json' writes the facts again");
  }
}

}  // namespace evolve::ir
