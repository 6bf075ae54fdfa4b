#include "engine/report/analyze_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "engine/core/text/plain_text.h"
#include "engine/core/text/units.h"
#include "engine/ir/readers/opcode.h"

namespace evolve {

namespace {

std::string megabytes(double bytes) {
  return fmt::format("{:.1f} MB", bytes / 1e6);
}

std::string kernels_text(const ir::Facts& facts) {
  std::string text;
  for (const ir::KernelFacts& kernel : facts.kernels) {
    if (kernel.times == 0) continue;
    text += fmt::format("  {:>9} {:>5}  {}{}: {:.0f} cycles\n", duration(kernel.seconds),
                        percent(kernel.all_seconds() / facts.seconds), kernel.name,
                        kernel.times == 1 ? "" : fmt::format(" ({} times)", kernel.times),
                        kernel.cycles);
  }
  return text;
}

std::string causes_text(const ir::Facts& facts) {
  constexpr double kLeast = 0.005;
  std::vector<ir::CauseTime> causes = facts.by_cause;
  std::stable_sort(causes.begin(), causes.end(),
                   [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  std::string text;
  for (const ir::CauseTime& cause : causes) {
    if (cause.share < kLeast) continue;
    text += fmt::format("  {:>9} {:>5}  {}\n", duration(cause.seconds), percent(cause.share),
                        cause.what);
  }
  return text;
}

// Returns the opcode that each unit executes most in a section, the matrix units first: "vmatmul,
// vpow2, vadd". Rare opcodes are left out.
std::string work_words(const std::map<std::string, uint64_t>& opcodes) {
  constexpr double kLeast = 0.02;
  constexpr size_t kMost = 4;
  std::array<std::map<std::string, double>, ir::kUnits> families;
  double sum = 0;
  for (const auto& [name, times] : opcodes) {
    auto unit = static_cast<size_t>(ir::decode_opcode(name).unit);
    // These opcodes only come before and after the opcodes that matter.
    bool is_around =
        name.starts_with("vpop") || name.starts_with("vmatprep") || name.starts_with("vmatpush");
    if (is_around) continue;
    families.at(unit)[name.substr(0, name.find('.'))] += static_cast<double>(times);
    sum += static_cast<double>(times);
  }
  std::vector<std::string> names;
  for (const auto& family : families) {
    auto most = std::max_element(family.begin(), family.end(),
                                 [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most != family.end() && most->second >= kLeast * sum) names.push_back(most->first);
  }
  if (names.size() > kMost) names.resize(kMost);
  return fmt::format("{}", fmt::join(names, ", "));
}

// Returns "kernel.py:39" for "/home/me/kernel.py:39".
std::string short_source(const std::string& source) {
  return source.substr(source.rfind('/') + 1);
}

// Says what a section does, and names the line that most of it comes from.
std::string section_words(const ir::SectionWork& section) {
  std::string text = work_words(section.opcodes);
  if (section.source.empty()) return text;
  return fmt::format("{} ({})", text, short_source(section.source.front()));
}

// Lists the source lines that take most of a kernel's time, if the dumps have them.
std::string lines_text(const ir::KernelFacts& kernel, const ir::Facts& facts) {
  constexpr size_t kMost = 8;
  std::string text;
  size_t count = 0;
  for (const ir::LineTime& line : kernel.by_line) {
    if (count++ == kMost) break;
    double seconds = line.seconds * static_cast<double>(kernel.times);
    std::string place = line.file.empty()
                            ? "no source line, and waits for DMAs"
                            : fmt::format("{}:{}", short_source(line.file), line.line);
    text += fmt::format("  {:>9} {:>5}  {}\n", duration(seconds), percent(seconds / facts.seconds),
                        place);
  }
  return text.empty() ? text : "\nby source line\n" + text;
}

// Returns a text such as "0x12 to 0x3f, 64 times".
std::string place_words(const ir::SectionWork& section) {
  return fmt::format("{:#x} to {:#x}, {}", section.bundle, section.bundle + section.bundles - 1,
                     section.times == 1 ? "once" : fmt::format("{} times", section.times));
}

// Returns the module that takes most of the program's time; null: the program has no modules.
const ir::KernelFacts* largest_kernel(const ir::Facts& facts) {
  const ir::KernelFacts* largest = nullptr;
  for (const ir::KernelFacts& kernel : facts.kernels) {
    if (largest == nullptr || kernel.all_seconds() > largest->all_seconds()) largest = &kernel;
  }
  return largest;
}

// Lists the sections of the program's largest module that take most of its time.
std::string sections_text(const ir::Facts& facts) {
  constexpr size_t kMost = 5;
  const ir::KernelFacts* largest = largest_kernel(facts);
  if (largest == nullptr) return "";
  std::vector<ir::SectionFacts> sections = largest->sections;
  std::stable_sort(sections.begin(), sections.end(),
                   [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  if (sections.size() > kMost) sections.resize(kMost);
  // A module whose time is estimated has no sections.
  if (sections.empty()) return "";
  std::string text;
  for (const ir::SectionFacts& section : sections) {
    double seconds = section.seconds * static_cast<double>(largest->times);
    text += fmt::format("  {:>9} {:>5}  {}\n", duration(seconds), percent(seconds / facts.seconds),
                        place_words(section) + ": " + section_words(section));
  }
  return fmt::format("\nby bundles of {}\n{}", largest->name, text) + lines_text(*largest, facts);
}

// Returns a text such as "16.0 MB" or "1080 bytes".
std::string size_words(uint64_t bytes) {
  constexpr uint64_t kLeastMegabytes = 100'000;
  return bytes < kLeastMegabytes ? fmt::format("{} bytes", bytes)
                                 : megabytes(static_cast<double>(bytes));
}

// Lists the peak use of each memory by the program's largest module, if the dumps have it.
std::string memory_text(const ir::Facts& facts) {
  const ir::KernelFacts* largest = largest_kernel(facts);
  if (largest == nullptr || !largest->memory) return "";
  std::vector<std::pair<std::string, ir::MemoryUse>> spaces(largest->memory->begin(),
                                                            largest->memory->end());
  std::stable_sort(spaces.begin(), spaces.end(), [](const auto& a, const auto& b) {
    return a.second.peak_live_bytes > b.second.peak_live_bytes;
  });
  std::string text;
  for (const auto& [space, use] : spaces) {
    std::string of = space == "vmem" ? " of " + megabytes(facts.vmem.capacity_bytes) : "";
    std::string spilled = use.spilled_bytes == 0 ? ""
                                                 : fmt::format(", {} of it for spilled registers",
                                                               size_words(use.spilled_bytes));
    text += fmt::format("  {:>10}  {}{}{}\n", size_words(use.peak_live_bytes), space, of, spilled);
  }
  return text.empty() ? text : fmt::format("\nmemory used by {}\n{}", largest->name, text);
}

// Returns a line such as "268.4 MB  operand 0, input bf16[4096,4096]: 8 times its size, in 512
// transfers, waited for 3 us".
std::string transfers_line(const ir::OperandTraffic& one) {
  const uint64_t bytes =
      static_cast<uint64_t>(one.load_bytes) + static_cast<uint64_t>(one.store_bytes);
  const uint64_t count = one.loads + one.stores;
  std::string times;
  if (one.bytes && *one.bytes != 0) {
    const double share = static_cast<double>(bytes) / static_cast<double>(*one.bytes);
    times = share < 10 ? fmt::format("{:.2g} times its size, ", share)
                       : fmt::format("{:.0f} times its size, ", share);
  }
  return fmt::format("  {:>10}  operand {}, {} {}: {}in {} transfer{}{}\n", size_words(bytes),
                     one.operand.value_or(0), one.kind, one.shape, times, count,
                     count == 1 ? "" : "s",
                     one.wait_seconds > 0 ? ", waited for " + duration(one.wait_seconds) : "");
}

// Lists how many bytes of each operand one run of the program's largest module moves.
std::string traffic_text(const ir::Facts& facts) {
  const ir::KernelFacts* largest = largest_kernel(facts);
  if (largest == nullptr) return "";
  std::string text;
  for (const ir::OperandTraffic& one : largest->traffic) {
    const bool is_moved = one.load_bytes != 0 || one.store_bytes != 0;
    if (is_moved && one.operand) text += transfers_line(one);
  }
  return text.empty() ? text : fmt::format("\nmoved by one run of {}\n{}", largest->name, text);
}

// Returns a text such as "2.14x faster".
std::string speedup_words(double before, double after, bool is_tie) {
  const std::string words = after < before ? fmt::format("{:.2f}x faster", before / after)
                                           : fmt::format("{:.2f}x slower", after / before);
  return is_tie ? fmt::format("a tie, {:.1f} % apart: too close for the model to order",
                              100 * std::fabs(after / before - 1))
                : words;
}

std::string signed_duration(double seconds) {
  return (seconds < 0 ? "−" : "+") + duration(std::fabs(seconds));
}

// Returns a line such as "  12.3 us → 10.1 us  −2.2 us  waits for DMAs".
std::string change_line(const ir::Change& change, const std::string& what) {
  return fmt::format("  {:>9} → {:<9} {:>9}  {}\n", duration(change.before), duration(change.after),
                     signed_duration(change.difference()), what);
}

std::string change_of_section(const ir::SectionChange& change) {
  const auto& [module, seconds, before, after] = change;
  if (!before && !after) return module.empty() ? "other modules" : module + " elsewhere";
  std::string place = !before  ? "new, " + place_words(*after)
                      : !after ? place_words(*before) + ", gone"
                               : place_words(*before) + " → " + place_words(*after);
  return fmt::format("{} {}: {}", module, place, section_words(after ? *after : *before));
}

// Returns a line for each change that is large enough to be shown, below a title. Empty: there is
// no such change. `words` returns the description of a change.
template <class T, class Words>
std::string changes_text(const std::string& title, const std::vector<T>& changes,
                         const Words& words) {
  constexpr double kLeast = 5e-9;  // seconds
  std::string lines;
  for (const T& change : changes) {
    if (std::fabs(change.seconds.difference()) < kLeast) continue;
    lines += change_line(change.seconds, words(change));
  }
  return lines.empty() ? lines : fmt::format("\n{}\n{}", title, lines);
}

}  // namespace

std::string facts_text(const ir::Facts& facts) {
  const ir::ModelledTime& modelled = facts.modelled;
  std::string text = fmt::format("{} on {}, modelled ({} to {})\n", duration(modelled.seconds),
                                 facts.target, duration(modelled.low), duration(modelled.high));
  text += "\n" + kernels_text(facts) + "\nwhere the time goes\n" + causes_text(facts) +
          sections_text(facts) + traffic_text(facts) + memory_text(facts) + "\n";
  text += fmt::format("bottleneck  {}: {}\n", facts.bottleneck, facts.evidence);
  text += fmt::format("prize       −{} without {}\n", percent(facts.prize.share), facts.prize.what);
  text += fmt::format("HBM         {} in, {} out\n", megabytes(facts.dma.load_bytes),
                      megabytes(facts.dma.store_bytes));
  for (const ir::WindowFacts& window : facts.vmem.windows)
    text += fmt::format("window      {} {}: {} x{}\n", window.module, window.operand, window.window,
                        window.buffers);
  if (modelled.cheaper_seconds) {
    text += fmt::format("on data     from {} to {}; the slower branch counts\n",
                        duration(*modelled.cheaper_seconds), duration(modelled.seconds));
    for (const ir::DataBranch& one : facts.on_data)
      text += fmt::format("            {}: {}\n", one.kernel, one.what);
  }
  for (const std::string& reason : facts.unread)
    text += fmt::format("not read    {}\n", plain_line(reason));
  if (!facts.estimated.empty())
    text += fmt::format(
        "estimated   {} of XLA's modules, from their bytes and products (--json has the reasons)\n",
        facts.estimated.size());
  if (!facts.not_modelled.empty())
    text +=
        fmt::format("left out    {} of XLA's modules around the kernels (--json has the reasons)\n",
                    facts.not_modelled.size());
  return text;
}

std::string comparison_text(const ir::FactsComparison& comparison) {
  const auto& [before, after] = comparison.targets;
  const ir::Change& seconds = comparison.seconds;
  std::string text =
      fmt::format("{} → {}, modelled{}: {}\n", duration(seconds.before), duration(seconds.after),
                  before == after ? "" : fmt::format(" on {} → {}", before, after),
                  speedup_words(seconds.before, seconds.after, comparison.is_tie));
  text += changes_text("by cause", comparison.by_cause,
                       [](const ir::CauseChange& one) { return one.what; });
  text += changes_text("by module", comparison.kernels,
                       [](const ir::ModuleChange& one) { return one.name; });
  text += changes_text("by section", comparison.sections, change_of_section);
  std::string lines;
  for (const ir::CountChange& count : comparison.counts)
    lines += fmt::format("  {:>12.0f} → {:<12.0f} {}: {}\n", count.before, count.after, count.unit,
                         count.what);
  return lines.empty() ? text : text + "\nother changes\n" + lines;
}

}  // namespace evolve
