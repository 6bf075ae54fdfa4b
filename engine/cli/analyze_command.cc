#include "engine/cli/analyze_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "engine/cli/report.h"
#include "engine/ir/compare.h"
#include "engine/ir/dump_name.h"
#include "engine/ir/facts.h"
#include "engine/ir/opcode.h"
#include "engine/ir/page.h"
#include "engine/world/archive.h"
#include "engine/world/files.h"

namespace evolve::cli {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr size_t kMostDumpBytes = size_t{4} << 30;

// The stages that are read; a folder may have 300 others.
bool is_read(const std::string& name) {
  return name.ends_with("/packed-bundles-post-ra.txt") || name == "TLP/vmem_report.html" ||
         name == "TLP/hlo.txt";
}

Result<std::vector<std::string>> files_below(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code error;
  fs::recursive_directory_iterator it(folder, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    // A folder of modules at most: what lies deeper is not the dumps'.
    if (it.depth() > 0) it.disable_recursion_pending();
    if (it->is_regular_file(error)) out.push_back(it->path().string());
  }
  if (error) return world::system_error("read", folder, error.value());
  std::sort(out.begin(), out.end());
  return out;
}

struct Program {
  ir::Dumps dumps;
  ir::DumpPaths paths;  // of the dumps; none where they come from an archive
};

// The programs among dumps that lie in files.
Result<std::vector<Program>> read_programs(const std::vector<std::string>& paths) {
  std::vector<Program> out;
  for (ir::DumpPaths& program : ir::group_dumps(paths)) {
    ir::Dumps dumps;
    for (const auto& [name, path] : program) {
      if (!is_read(name)) continue;
      auto bytes = world::read_file(path);
      if (!bytes) return std::move(bytes).error();
      dumps.emplace(name, *std::move(bytes));
    }
    if (!dumps.empty()) out.push_back({std::move(dumps), std::move(program)});
  }
  return out;
}

Result<std::vector<Program>> read_all(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  std::vector<Program> out;
  for (const std::string& path : paths) {
    std::error_code error;
    if (fs::is_directory(path, error)) {
      auto below = files_below(path);
      if (!below) return std::move(below).error();
      files.insert(files.end(), below->begin(), below->end());
    } else if (path.ends_with(".txt") || path.ends_with(".html")) {
      files.push_back(path);
    } else {
      auto dumps = world::read_archive(path, kMostDumpBytes);
      if (!dumps) return std::move(dumps).error();
      out.push_back({*std::move(dumps), {}});
    }
  }
  auto programs = read_programs(files);
  if (!programs) return std::move(programs).error();
  for (Program& program : *programs) out.push_back(std::move(program));
  return out;
}

Error in_file(const std::string& path, const Error& error) {
  return bad_input(fmt::format("{}: {}", path, error.message), "",
                   "the forms are in engine/ir/README.md");
}

// "gmm.1:119: …" with the file that the module's schedule is in.
Error in_dump(Error error, const ir::DumpPaths& files) {
  std::string name = error.message.substr(0, error.message.find(':'));
  for (const std::string& dump : {name, name + "/packed-bundles-post-ra.txt"}) {
    if (auto file = files.find(dump); file != files.end())
      error.message.replace(0, name.size(), file->second);
  }
  if (error.message.find("the model cannot follow") != std::string::npos)
    error.hint =
        "--operands gives what its control flow hangs on; engine/ir/README.md has the forms";
  return error;
}

Result<json> read_json_file(const std::string& path) {
  auto text = world::read_file(path);
  if (!text) return std::move(text).error();
  json document = json::parse(*text, nullptr, false);
  if (document.is_discarded()) return bad_input(fmt::format("{}: not JSON", path));
  return document;
}

// "0=sizes.npy", "2=mask.json"
Status add_operand(const std::string& text, ir::ProgramInput& input) {
  size_t equals = text.find('=');
  std::string number = text.substr(0, equals);
  bool is_number = !number.empty() && number.size() < 4 &&
                   number.find_first_not_of("0123456789") == std::string::npos;
  if (equals == std::string::npos || !is_number)
    return bad_input(fmt::format("--operand '{}': NUMBER=FILE was expected", text), "",
                     "--operand 0=sizes.npy");
  std::string path = text.substr(equals + 1);
  ir::OperandValues values;
  if (path.ends_with(".npy")) {
    auto bytes = world::read_file(path);
    if (!bytes) return std::move(bytes).error();
    auto read = ir::read_npy(*bytes);
    if (!read) return in_file(path, read.error());
    values.emplace(static_cast<uint32_t>(std::stoul(number)), *std::move(read));
  } else {
    auto document = read_json_file(path);
    if (!document) return std::move(document).error();
    auto read = ir::read_operands(json{{number, *document}});
    if (!read) return in_file(path, read.error());
    values = read->kernels[""].front().operands;
  }
  auto& runs = input.kernels[""];
  if (runs.empty()) runs.emplace_back();
  runs.front().operands.merge(values);
  return {};
}

Result<ir::ProgramInput> read_input(const AnalyzeCommand& command) {
  ir::ProgramInput input;
  if (!command.operands.empty()) {
    auto document = read_json_file(command.operands);
    if (!document) return std::move(document).error();
    auto read = ir::read_operands(*document);
    if (!read) return in_file(command.operands, read.error());
    input = *std::move(read);
  }
  for (const std::string& text : command.operand) {
    if (auto status = add_operand(text, input); !status) return std::move(status).error();
  }
  return input;
}

bool has_kernel(const ir::Dumps& dumps, const std::string& kernel) {
  return std::any_of(dumps.begin(), dumps.end(), [&](const auto& dump) {
    std::string module = dump.first.substr(0, dump.first.find('/'));
    return module == kernel || module.substr(0, module.rfind('.')) == kernel;
  });
}

std::string percent(const json& share) {
  return fmt::format("{:.0f} %", 100 * share.get<double>());
}

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

// "vmatmul, vpow2, vadd": of each unit what a section executes most, the matrix units first; what
// is hardly executed is left out.
std::string work_words(const json& opcodes) {
  constexpr double kLeast = 0.02;
  constexpr size_t kMost = 4;
  std::array<std::map<std::string, double>, ir::kUnits> families;
  double sum = 0;
  for (const auto& [name, times] : opcodes.items()) {
    auto unit = static_cast<size_t>(ir::decode_opcode(name).unit);
    // What comes before and after a telling one.
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

// "kernel.py:39" for "/home/me/kernel.py:39".
std::string short_source(const std::string& source) {
  return source.substr(source.rfind('/') + 1);
}

// What a section does, and the line that most of it comes from.
std::string section_words(const json& section) {
  std::string text = work_words(section["opcodes"]);
  const json& source = section["source"];
  return source.empty() ? text : fmt::format("{} ({})", text, short_source(source[0]));
}

// The lines of the source that most of a kernel's time goes into, where the dumps have them.
std::string lines_text(const json& kernel, const json& facts) {
  constexpr size_t kMost = 8;
  std::string text;
  size_t count = 0;
  for (const json& line : kernel["by_line"]) {
    if (count++ == kMost) break;
    double seconds = line["seconds"].get<double>() * kernel["times"].get<double>();
    auto file = line["file"].get<std::string>();
    std::string place = file.empty()
                            ? "no line of it, and waits for DMAs"
                            : fmt::format("{}:{}", short_source(file), line["line"].dump());
    text += fmt::format("  {:>9} {:>5}  {}\n", duration(seconds),
                        percent(seconds / facts["seconds"].get<double>()), place);
  }
  return text.empty() ? text : "\nat which lines of its source\n" + text;
}

// "0x12 to 0x3f, 64 times"
std::string place_words(const json& section) {
  auto first = section["bundle"].get<uint64_t>();
  auto times = section["times"].get<uint64_t>();
  return fmt::format("{:#x} to {:#x}, {}", first, first + section["bundles"].get<uint64_t>() - 1,
                     times == 1 ? "once" : fmt::format("{} times", times));
}

// The pieces of the program's largest module that most of its time goes into.
std::string sections_text(const json& facts) {
  constexpr size_t kMost = 5;
  const json* largest = nullptr;
  auto seconds_of = [](const json& kernel) {
    return kernel["seconds"].get<double>() * kernel["times"].get<double>();
  };
  for (const json& kernel : facts["kernels"]) {
    if (largest == nullptr || seconds_of(kernel) > seconds_of(*largest)) largest = &kernel;
  }
  std::vector<json> sections = (*largest)["sections"];
  std::stable_sort(sections.begin(), sections.end(), [](const json& a, const json& b) {
    return a["seconds"].get<double>() > b["seconds"].get<double>();
  });
  if (sections.size() > kMost) sections.resize(kMost);
  std::string text;
  for (const json& section : sections) {
    double seconds = section["seconds"].get<double>() * (*largest)["times"].get<double>();
    text += fmt::format("  {:>9} {:>5}  {}\n", duration(seconds),
                        percent(seconds / facts["seconds"].get<double>()),
                        place_words(section) + ": " + section_words(section));
  }
  return fmt::format("\nin which bundles of {}\n{}", (*largest)["name"].get<std::string>(), text) +
         lines_text(*largest, facts);
}

std::string facts_text(const json& facts) {
  const json& modelled = facts["modelled"];
  std::string text = fmt::format("{} on {}, modelled ({} to {})\n", duration(modelled["seconds"]),
                                 facts["target"].get<std::string>(), duration(modelled["low"]),
                                 duration(modelled["high"]));
  text += "\n" + kernels_text(facts) + "\nwhere the time goes\n" + causes_text(facts) +
          sections_text(facts) + "\n";
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
  if (!facts["estimated"].empty())
    text +=
        fmt::format("estimated   {} of XLA's modules by the bytes they move (--json says why)\n",
                    facts["estimated"].size());
  if (!facts["not_modelled"].empty())
    text += fmt::format("left out    {} of XLA's modules around the kernels (--json says why)\n",
                        facts["not_modelled"].size());
  return text;
}

// The module that most of the time goes into.
std::string main_kernel(const ir::ProgramRun& run) {
  auto most = std::max_element(
      run.kernels.begin(), run.kernels.end(),
      [](const auto& a, const auto& b) { return a.all_cycles() < b.all_cycles(); });
  return most->name;
}

// The facts of every program among the dumps of the paths.
Result<json> facts_of(const AnalyzeCommand& command, const std::vector<std::string>& paths) {
  auto device = ir::find_device(command.device);
  if (!device)
    return bad_input(fmt::format("--device '{}': it has no model", command.device), "",
                     "those that have one: " + ir::device_names());
  auto input = read_input(command);
  if (!input) return std::move(input).error();
  auto programs = read_all(paths);
  if (!programs) return std::move(programs).error();
  json all = json::array();
  for (const auto& [dumps, files] : *programs) {
    if (!command.kernel.empty() && !has_kernel(dumps, command.kernel)) continue;
    auto run = ir::run_program(dumps, *device, *input);
    if (!run) return in_dump(run.error(), files);
    auto facts = ir::write_facts(*run, dumps, {command.flops, command.bytes}, *device);
    if (!facts) return in_dump(facts.error(), files);
    if (!command.html.empty()) {
      if (!all.empty())
        return bad_input("--html shows one program, there are several", "", "--kernel NAME");
      std::string title = command.kernel.empty() ? main_kernel(*run) : command.kernel;
      auto status =
          world::write_file_atomic(command.html, ir::write_page(*facts, *run, *device, title));
      if (!status) return std::move(status).error();
    }
    all.push_back(*std::move(facts));
  }
  if (!all.empty()) return all;
  if (!command.kernel.empty())
    return bad_input(fmt::format("no program has a kernel '{}'", command.kernel));
  return bad_input(fmt::format("{}: no schedule is among the dumps", paths.front()), "",
                   "libtpu writes it with LIBTPU_INIT_ARGS=--xla_jf_dump_to=DIR");
}

Result<json> facts_of_one(const AnalyzeCommand& command, const std::string& path) {
  if (path.ends_with(".json")) {
    auto facts = read_json_file(path);
    if (!facts) return std::move(facts).error();
    if (facts->is_object() && facts->contains("by_cause")) return facts;
    return bad_input(fmt::format("{}: no facts of a program that was modelled", path));
  }
  auto all = facts_of(command, {path});
  if (!all) return std::move(all).error();
  if (all->size() > 1)
    return bad_input(fmt::format("{}: {} programs are among the dumps", path, all->size()), "",
                     "--kernel NAME takes the one with this kernel");
  return all->front();
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
  if (one.is_null()) return module + " elsewhere";
  std::string place = before.is_null()  ? "new, " + place_words(after)
                      : after.is_null() ? place_words(before) + ", gone"
                                        : place_words(before) + " → " + place_words(after);
  return fmt::format("{} {}: {}", module, place, section_words(one));
}

std::string comparison_text(const json& comparison) {
  constexpr double kLeast = 5e-9;  // shorter is not shown
  auto before = comparison["seconds"][0].get<double>();
  auto after = comparison["seconds"][1].get<double>();
  std::string text =
      fmt::format("{} → {}, modelled: {}{}\n", duration(before), duration(after),
                  after < before ? fmt::format("{:.2f}x faster", before / after)
                                 : fmt::format("{:.2f}x slower", after / before),
                  comparison["is_tie"].get<bool>() ? "; too close for the model to order" : "");
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
  return lines.empty() ? text : text + "\nwhat else changed\n" + lines;
}

}  // namespace

Status run_analyze(const AnalyzeCommand& command, bool json_wanted) {
  auto all = facts_of(command, command.paths);
  if (!all) return std::move(all).error();
  if (json_wanted) {
    print_out(all->dump(2) + "\n");
    return {};
  }
  std::string text;
  for (const json& facts : *all) text += (text.empty() ? "" : "\n") + facts_text(facts);
  print_out(text);
  return {};
}

Status run_analyze_diff(const AnalyzeCommand& command, bool json_wanted) {
  auto before = facts_of_one(command, command.paths.front());
  if (!before) return std::move(before).error();
  auto after = facts_of_one(command, command.paths.back());
  if (!after) return std::move(after).error();
  json comparison = ir::compare_facts(*before, *after);
  print_out(json_wanted ? comparison.dump(2) + "\n" : comparison_text(comparison));
  return {};
}

}  // namespace evolve::cli
