#include "engine/report/analyze_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/core/text/plain_text.h"
#include "engine/core/text/units.h"
#include "engine/ir/readers/opcode.h"

namespace evolve {

namespace {

using nlohmann::json;

std::string megabytes(const json& bytes) {
  return fmt::format("{:.1f} MB", bytes.get<double>() / 1e6);
}

std::string kernels_text(const json& facts) {
  std::string text;
  for (const json& kernel : facts["kernels"]) {
    if (kernel["times"] == 0) continue;
    double share = kernel["seconds"].get<double>() * kernel["times"].get<double>() /
                   facts["seconds"].get<double>();
    text += fmt::format(
        "  {:>9} {:>5}  {}{}: {:.0f} cycles\n", duration(kernel["seconds"]), percent(share),
        kernel["name"].get<std::string>(),
        kernel["times"] == 1 ? "" : fmt::format(" ({} times)", kernel["times"].get<uint64_t>()),
        kernel["cycles"].get<double>());
  }
  return text;
}

std::string causes_text(const json& facts) {
  constexpr double kLeast = 0.005;
  std::vector<json> causes = facts["by_cause"];
  std::stable_sort(causes.begin(), causes.end(), [](const json& a, const json& b) {
    return a["seconds"].get<double>() > b["seconds"].get<double>();
  });
  std::string text;
  for (const json& cause : causes) {
    if (cause["share"].get<double>() < kLeast) continue;
    text += fmt::format("  {:>9} {:>5}  {}\n", duration(cause["seconds"]), percent(cause["share"]),
                        cause["what"].get<std::string>());
  }
  return text;
}

// Returns what each unit executes most in a section, the matrix units first: "vmatmul, vpow2,
// vadd". Opcodes that are hardly executed are left out.
std::string work_words(const json& opcodes) {
  constexpr double kLeast = 0.02;
  constexpr size_t kMost = 4;
  std::array<std::map<std::string, double>, ir::kUnits> families;
  double sum = 0;
  for (const auto& [name, times] : opcodes.items()) {
    auto unit = static_cast<size_t>(ir::decode_opcode(name).unit);
    // These opcodes only come before and after the ones that matter.
    bool is_around =
        name.starts_with("vpop") || name.starts_with("vmatprep") || name.starts_with("vmatpush");
    if (is_around) continue;
    families.at(unit)[name.substr(0, name.find('.'))] += times.get<double>();
    sum += times.get<double>();
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
std::string section_words(const json& section) {
  std::string text = work_words(section["opcodes"]);
  const json& source = section["source"];
  return source.empty() ? text : fmt::format("{} ({})", text, short_source(source[0]));
}

// Lists the source lines that take most of a kernel's time, if the dumps have them.
std::string lines_text(const json& kernel, const json& facts) {
  constexpr size_t kMost = 8;
  std::string text;
  size_t count = 0;
  for (const json& line : kernel["by_line"]) {
    if (count++ == kMost) break;
    double seconds = line["seconds"].get<double>() * kernel["times"].get<double>();
    auto file = line["file"].get<std::string>();
    std::string place = file.empty()
                            ? "no source line, and waits for DMAs"
                            : fmt::format("{}:{}", short_source(file), line["line"].dump());
    text += fmt::format("  {:>9} {:>5}  {}\n", duration(seconds),
                        percent(seconds / facts["seconds"].get<double>()), place);
  }
  return text.empty() ? text : "\nby source line\n" + text;
}

// "0x12 to 0x3f, 64 times"
std::string place_words(const json& section) {
  auto first = section["bundle"].get<uint64_t>();
  auto times = section["times"].get<uint64_t>();
  return fmt::format("{:#x} to {:#x}, {}", first, first + section["bundles"].get<uint64_t>() - 1,
                     times == 1 ? "once" : fmt::format("{} times", times));
}

// Returns the module that takes most of the program's time; null: the program has no modules.
const json* largest_kernel(const json& facts) {
  const json* largest = nullptr;
  auto seconds_of = [](const json& kernel) {
    return kernel["seconds"].get<double>() * kernel["times"].get<double>();
  };
  for (const json& kernel : facts["kernels"]) {
    if (largest == nullptr || seconds_of(kernel) > seconds_of(*largest)) largest = &kernel;
  }
  return largest;
}

// Lists the sections of the program's largest module that take most of its time.
std::string sections_text(const json& facts) {
  constexpr size_t kMost = 5;
  const json* largest = largest_kernel(facts);
  if (largest == nullptr) return "";
  std::vector<json> sections = (*largest)["sections"];
  std::stable_sort(sections.begin(), sections.end(), [](const json& a, const json& b) {
    return a["seconds"].get<double>() > b["seconds"].get<double>();
  });
  if (sections.size() > kMost) sections.resize(kMost);
  // A module whose time is estimated has no sections.
  if (sections.empty()) return "";
  std::string text;
  for (const json& section : sections) {
    double seconds = section["seconds"].get<double>() * (*largest)["times"].get<double>();
    text += fmt::format("  {:>9} {:>5}  {}\n", duration(seconds),
                        percent(seconds / facts["seconds"].get<double>()),
                        place_words(section) + ": " + section_words(section));
  }
  return fmt::format("\nby bundles of {}\n{}", (*largest)["name"].get<std::string>(), text) +
         lines_text(*largest, facts);
}

// "16.0 MB", "1080 bytes"
std::string size_words(const json& bytes) {
  constexpr uint64_t kLeastMegabytes = 100'000;
  return bytes.get<uint64_t>() < kLeastMegabytes ? fmt::format("{} bytes", bytes.get<uint64_t>())
                                                 : megabytes(bytes);
}

// Lists how much of each memory the program's largest module uses at its fullest, if the dumps say
// so.
std::string memory_text(const json& facts) {
  const json* largest = largest_kernel(facts);
  if (largest == nullptr || !largest->contains("memory")) return "";
  std::map<std::string, json> uses = (*largest)["memory"];
  std::vector<std::pair<std::string, json>> spaces(uses.begin(), uses.end());
  std::stable_sort(spaces.begin(), spaces.end(), [](const auto& a, const auto& b) {
    return a.second["peak_live_bytes"] > b.second["peak_live_bytes"];
  });
  std::string text;
  for (const auto& [space, use] : spaces) {
    std::string of = space == "vmem" ? " of " + megabytes(facts["vmem"]["capacity_bytes"]) : "";
    std::string spilled =
        use["spilled_bytes"] == 0
            ? ""
            : fmt::format(", {} of it for spilled registers", size_words(use["spilled_bytes"]));
    text +=
        fmt::format("  {:>10}  {}{}{}\n", size_words(use["peak_live_bytes"]), space, of, spilled);
  }
  return text.empty()
             ? text
             : fmt::format("\nmemory used by {}\n{}", (*largest)["name"].get<std::string>(), text);
}

// "268.4 MB  operand 0, input bf16[4096,4096]: 8 times its size, in 512 transfers, waited for 3 us"
std::string transfers_line(const json& one) {
  const json bytes = one["load_bytes"].get<uint64_t>() + one["store_bytes"].get<uint64_t>();
  const auto count = one["loads"].get<uint64_t>() + one["stores"].get<uint64_t>();
  std::string times;
  if (one.contains("bytes") && one["bytes"] != 0) {
    const double share = bytes.get<double>() / one["bytes"].get<double>();
    times = share < 10 ? fmt::format("{:.2g} times its size, ", share)
                       : fmt::format("{:.0f} times its size, ", share);
  }
  const double waits = one["wait_seconds"].get<double>();
  return fmt::format("  {:>10}  operand {}, {} {}: {}in {} transfer{}{}\n", size_words(bytes),
                     one["operand"].get<uint32_t>(), one["kind"].get<std::string>(),
                     one["shape"].get<std::string>(), times, count, count == 1 ? "" : "s",
                     waits > 0 ? ", waited for " + duration(waits) : "");
}

// Lists what a run of the program's largest module moves of each of its operands.
std::string traffic_text(const json& facts) {
  const json* largest = largest_kernel(facts);
  if (largest == nullptr) return "";
  std::string text;
  for (const json& one : (*largest)["traffic"]) {
    const bool is_moved = one["load_bytes"] != 0 || one["store_bytes"] != 0;
    if (is_moved && !one["operand"].is_null()) text += transfers_line(one);
  }
  return text.empty() ? text
                      : fmt::format("\nmoved by one run of {}\n{}",
                                    (*largest)["name"].get<std::string>(), text);
}

// "2.14x faster"
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

// "  12.3 us → 10.1 us  −2.2 us  waits for DMAs"
std::string change_line(const json& change, const std::string& what) {
  return fmt::format("  {:>9} → {:<9} {:>9}  {}\n", duration(change["seconds"][0]),
                     duration(change["seconds"][1]),
                     signed_duration(change["difference"].get<double>()), what);
}

std::string change_of_section(const json& change) {
  const json& before = change["sections"][0];
  const json& after = change["sections"][1];
  const json& one = after.is_null() ? before : after;
  std::string module = change["module"].get<std::string>();
  if (one.is_null()) return module.empty() ? "other modules" : module + " elsewhere";
  std::string place = before.is_null()  ? "new, " + place_words(after)
                      : after.is_null() ? place_words(before) + ", gone"
                                        : place_words(before) + " → " + place_words(after);
  return fmt::format("{} {}: {}", module, place, section_words(one));
}

}  // namespace

std::string facts_text(const json& facts) {
  const json& modelled = facts["modelled"];
  std::string text = fmt::format("{} on {}, modelled ({} to {})\n", duration(modelled["seconds"]),
                                 facts["target"].get<std::string>(), duration(modelled["low"]),
                                 duration(modelled["high"]));
  text += "\n" + kernels_text(facts) + "\nwhere the time goes\n" + causes_text(facts) +
          sections_text(facts) + traffic_text(facts) + memory_text(facts) + "\n";
  text += fmt::format("bottleneck  {}: {}\n", facts["bottleneck"].get<std::string>(),
                      facts["evidence"].get<std::string>());
  text += fmt::format("prize       −{} without {}\n", percent(facts["prize"]["share"]),
                      facts["prize"]["what"].get<std::string>());
  text += fmt::format("HBM         {} in, {} out\n", megabytes(facts["dma"]["load_bytes"]),
                      megabytes(facts["dma"]["store_bytes"]));
  for (const json& window : facts["vmem"]["windows"])
    text += fmt::format("window      {} {}: {} x{}\n", window["module"].get<std::string>(),
                        window["operand"].get<std::string>(), window["window"].get<std::string>(),
                        window["buffers"].get<uint64_t>());
  if (facts.contains("on_data")) {
    text += fmt::format("on data     from {} to {}; the slower branch counts\n",
                        duration(modelled["cheaper_seconds"]), duration(modelled["seconds"]));
    for (const json& one : facts["on_data"])
      text += fmt::format("            {}: {}\n", one["kernel"].get<std::string>(),
                          one["what"].get<std::string>());
  }
  for (const json& reason : facts["unread"])
    text += fmt::format("not read    {}\n", plain_line(reason.get<std::string>()));
  if (!facts["estimated"].empty())
    text += fmt::format(
        "estimated   {} of XLA's modules, from their bytes and products (--json has the reasons)\n",
        facts["estimated"].size());
  if (!facts["not_modelled"].empty())
    text +=
        fmt::format("left out    {} of XLA's modules around the kernels (--json has the reasons)\n",
                    facts["not_modelled"].size());
  return text;
}

std::string comparison_text(const json& comparison) {
  constexpr double kLeast = 5e-9;  // seconds; smaller changes are not shown
  auto before = comparison["seconds"][0].get<double>();
  auto after = comparison["seconds"][1].get<double>();
  std::string text =
      fmt::format("{} → {}, modelled{}: {}\n", duration(before), duration(after),
                  comparison["targets"][0] == comparison["targets"][1]
                      ? ""
                      : fmt::format(" on {} → {}", comparison["targets"][0].get<std::string>(),
                                    comparison["targets"][1].get<std::string>()),
                  speedup_words(before, after, comparison["is_tie"].get<bool>()));
  for (auto [title, list, name] :
       {std::tuple("by cause", "by_cause", "what"), std::tuple("by module", "kernels", "name")}) {
    std::string lines;
    for (const json& change : comparison[list]) {
      if (std::fabs(change["difference"].get<double>()) < kLeast) continue;
      lines += change_line(change, change[name].get<std::string>());
    }
    if (!lines.empty()) text += fmt::format("\n{}\n{}", title, lines);
  }
  std::string lines;
  for (const json& change : comparison["sections"]) {
    if (std::fabs(change["difference"].get<double>()) < kLeast) continue;
    lines += change_line(change, change_of_section(change));
  }
  if (!lines.empty()) text += "\nby section\n" + lines;
  lines.clear();
  for (const json& count : comparison["counts"])
    lines += fmt::format("  {:>12.0f} → {:<12.0f} {}: {}\n", count["values"][0].get<double>(),
                         count["values"][1].get<double>(), count["unit"].get<std::string>(),
                         count["what"].get<std::string>());
  return lines.empty() ? text : text + "\nother changes\n" + lines;
}

}  // namespace evolve
