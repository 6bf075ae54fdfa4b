#include "engine/ir/compare.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace evolve::ir {

namespace {

template <class T>
void sort_by_change(std::vector<T>& list) {
  std::stable_sort(list.begin(), list.end(), [](const T& a, const T& b) {
    return std::fabs(a.seconds.difference()) > std::fabs(b.seconds.difference());
  });
}

std::vector<CauseChange> causes(const Facts& before, const Facts& after) {
  std::vector<CauseChange> out;
  for (size_t i = 0; i < std::min(before.by_cause.size(), after.by_cause.size()); ++i) {
    const CauseTime& a = before.by_cause[i];
    out.push_back({a.cause, a.what, {a.seconds, after.by_cause[i].seconds}});
  }
  sort_by_change(out);
  return out;
}

// Returns a module's name without the number that XLA gave it.
std::string base_name(const KernelFacts& kernel) {
  return kernel.name.substr(0, kernel.name.rfind('.'));
}

std::vector<ModuleChange> kernels(const Facts& before, const Facts& after) {
  std::map<std::string, Change> seconds;
  for (const KernelFacts& kernel : before.kernels)
    seconds[base_name(kernel)].before += kernel.all_seconds();
  for (const KernelFacts& kernel : after.kernels)
    seconds[base_name(kernel)].after += kernel.all_seconds();
  std::vector<ModuleChange> out;
  out.reserve(seconds.size());
  for (const auto& [name, change] : seconds) out.push_back({name, change});
  sort_by_change(out);
  return out;
}

// Returns how alike the work of two sections is, from 0 to 1. Each opcode adds the smaller of its
// shares in the two sections. So a loop that does more of the same is fully alike.
double likeness(const SectionWork& a, const SectionWork& b) {
  auto sum_of = [](const std::map<std::string, uint64_t>& opcodes) {
    double sum = 0;
    for (const auto& [name, times] : opcodes) sum += static_cast<double>(times);
    return sum;
  };
  double sum_a = sum_of(a.opcodes);
  double sum_b = sum_of(b.opcodes);
  double common = 0;
  for (const auto& [name, times] : a.opcodes) {
    auto other = b.opcodes.find(name);
    if (other == b.opcodes.end()) continue;
    common +=
        std::min(static_cast<double>(times) / sum_a, static_cast<double>(other->second) / sum_b);
  }
  return common;
}

// Pairs of sections that correspond, in the order of the text. The sum of the likeness of all pairs
// is the largest that is possible. A section without a counterpart has kNoSection in its pair.
constexpr size_t kNoSection = SIZE_MAX;
using SectionPairs = std::vector<std::pair<size_t, size_t>>;

SectionPairs align(const std::vector<SectionFacts>& before,
                   const std::vector<SectionFacts>& after) {
  constexpr double kLeastLikeness = 0.3;
  // The maximum number of sections of a kernel. Real facts have at most a hundred, because each
  // section takes a hundredth of the kernel's time or more.
  constexpr size_t kMostSections = 1000;
  if (std::max(before.size(), after.size()) > kMostSections) return {};
  const size_t rows = before.size();
  const size_t columns = after.size();
  // best[i][j]: the summed likeness of the best pairs of the first i sections with the first j.
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
void add_sections(const KernelFacts& before, const KernelFacts& after,
                  std::vector<SectionChange>& out) {
  Change elsewhere = {before.all_seconds(), after.all_seconds()};
  auto side = [](const KernelFacts& kernel, size_t index, double& seconds, double& rest) {
    if (index == kNoSection) return std::optional<SectionWork>();
    const SectionFacts& section = kernel.sections[index];
    seconds = section.seconds * static_cast<double>(kernel.times);
    rest -= seconds;
    return std::optional<SectionWork>(section);
  };
  for (const auto& [i, j] : align(before.sections, after.sections)) {
    SectionChange one{.module = after.name, .seconds = {}, .before = {}, .after = {}};
    one.before = side(before, i, one.seconds.before, elsewhere.before);
    one.after = side(after, j, one.seconds.after, elsewhere.after);
    out.push_back(std::move(one));
  }
  out.push_back({after.name, elsewhere, {}, {}});
}

// Compares the modules that each program has once, section by section.
std::vector<SectionChange> sections(const Facts& before, const Facts& after) {
  struct Modules {
    std::vector<const KernelFacts*> before, after;
  };
  std::map<std::string, Modules> modules;
  for (const KernelFacts& kernel : before.kernels)
    modules[base_name(kernel)].before.push_back(&kernel);
  for (const KernelFacts& kernel : after.kernels)
    modules[base_name(kernel)].after.push_back(&kernel);
  std::vector<SectionChange> out;
  for (const auto& [name, both] : modules) {
    if (both.before.size() == 1 && both.after.size() == 1)
      add_sections(*both.before.front(), *both.after.front(), out);
  }
  // The rest: modules of only one program, and modules that a program has more than once.
  Change rest = {before.seconds, after.seconds};
  for (const SectionChange& one : out) {
    rest.before -= one.seconds.before;
    rest.after -= one.seconds.after;
  }
  out.push_back({"", rest, {}, {}});
  sort_by_change(out);
  return out;
}

struct Count {
  const char* what;
  const char* unit;
  std::optional<double> (*of)(const Facts&);
};

template <class Number>
std::optional<double> as_double(const std::optional<Number>& number) {
  return number ? std::optional(static_cast<double>(*number)) : std::nullopt;
}
std::optional<double> as_double(uint64_t number) {
  return static_cast<double>(number);
}

constexpr std::array<Count, 13> kCounts = {{
    {"loaded from HBM", "bytes", [](const Facts& of) { return std::optional(of.dma.load_bytes); }},
    {"stored to HBM", "bytes", [](const Facts& of) { return std::optional(of.dma.store_bytes); }},
    {"loads", "DMAs", [](const Facts& of) { return as_double(of.dma.loads); }},
    {"stores", "DMAs", [](const Facts& of) { return as_double(of.dma.stores); }},
    {"passes through loops", "passes", [](const Facts& of) { return as_double(of.steps); }},
    {"matmuls", "instructions", [](const Facts& of) { return as_double(of.matmuls); }},
    {"bundles executed", "bundles", [](const Facts& of) { return as_double(of.bundles.executed); }},
    {"of those empty", "bundles", [](const Facts& of) { return as_double(of.bundles.empty); }},
    {"bundles of the program", "bundles",
     [](const Facts& of) { return as_double(of.bundles.in_text); }},
    {"registers spilled", "stores",
     [](const Facts& of) { return as_double(of.spills.stores_executed); }},
    {"registers filled", "loads",
     [](const Facts& of) { return as_double(of.spills.loads_executed); }},
    {"VMEM allocated", "bytes", [](const Facts& of) { return as_double(of.vmem.allocated_bytes); }},
    {"of that for spills", "bytes",
     [](const Facts& of) { return as_double(of.vmem.spilled_bytes); }},
}};

std::vector<CountChange> counts(const Facts& before, const Facts& after) {
  std::vector<CountChange> out;
  for (const Count& count : kCounts) {
    const auto a = count.of(before);
    const auto b = count.of(after);
    if (a && b && *a != *b) out.push_back({count.what, count.unit, *a, *b});
  }
  return out;
}

}  // namespace

FactsComparison compare_facts(const Facts& before, const Facts& after) {
  FactsComparison out;
  out.targets = {before.target, after.target};
  out.seconds = {before.seconds, after.seconds};
  out.is_tie = std::fabs(out.seconds.difference()) < kTie * std::max(before.seconds, after.seconds);
  out.by_cause = causes(before, after);
  out.kernels = kernels(before, after);
  out.sections = sections(before, after);
  out.counts = counts(before, after);
  return out;
}

}  // namespace evolve::ir
