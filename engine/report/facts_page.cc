#include "engine/report/facts_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "engine/core/text/markup.h"
#include "engine/ir/model/lost_time.h"

namespace evolve {

namespace {

constexpr double kWidth = 1000;   // of a drawing, in its own units
constexpr size_t kColumns = 250;  // of a heat map
// The least share of the time for which a module is drawn. The table has all modules.
constexpr double kLeastDrawn = 0.02;

constexpr const char* kHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>
:root { color-scheme: light dark; --text: #1b1f24; --quiet: #5c6670; --line: #d8dde3; --page: #ffffff; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e9ec; --quiet: #9aa5b1; --line: #343b43; --page: #15181c; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page); max-width: 66rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; } h3 { font-size: 1rem; margin: 1.4rem 0 .3rem; }
.quiet { color: var(--quiet); } .big { font-size: 1.2rem; margin: .4rem 0; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; color: var(--quiet); } td, th { padding: .25rem .6rem .25rem 0; border-bottom: 1px solid var(--line); }
td.n, th.n { text-align: right; } svg { width: 100%; height: auto; display: block; } text { font: 12px system-ui, sans-serif; fill: var(--quiet); }
i { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin-right: .4em; }
</style></head><body>
)";

// The colours of the causes. The tables show the same facts without colour.
constexpr std::array<const char*, ir::kCauses> kColours = {
    "#2f8f4e", "#3b7dd8", "#b0417e", "#8a6fd1", "#9aa5b1", "#d9822b", "#e2b93b", "#a3552a"};

std::string time_words(double seconds) {
  if (seconds >= 1e-3) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.4g} µs", seconds * 1e6);
}

std::string fine_percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string rectangle(double x, double y, double width, double height, const std::string& fill,
                      const std::string& tip, double opacity = 1) {
  return fmt::format(
      "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\" fill=\"{}\" "
      "fill-opacity=\"{:.3f}\"><title>{}</title></rect>",
      x, y, std::max(width, 0.4), height, fill, opacity, escaped_markup(tip));
}

std::string label(double x, double y, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", x, y, escaped_markup(text));
}

std::string drawing(double height, const std::string& title, const std::string& content) {
  return fmt::format("<svg viewBox=\"0 0 {} {:.0f}\" role=\"img\" aria-label=\"{}\">{}</svg>\n",
                     kWidth, height, escaped_markup(title), content);
}

// Returns a bar of all causes, and a table with the same numbers.
std::string causes_section(const ir::Facts& facts) {
  std::string bar;
  std::string rows;
  double x = 0;
  for (size_t i = 0; i < facts.by_cause.size(); ++i) {
    const ir::CauseTime& cause = facts.by_cause[i];
    std::string time = time_words(cause.seconds);
    if (cause.share > 0)
      bar += rectangle(x, 0, cause.share * kWidth, 26, kColours.at(i),
                       fmt::format("{}: {} ({})", cause.what, time, fine_percent(cause.share)));
    x += cause.share * kWidth;
    rows += fmt::format(
        "<tr><td><i style=\"background:{}\"></i>{}</td><td class=\"n\">{}</td><td "
        "class=\"n\">{}</td></tr>\n",
        kColours.at(i), escaped_markup(cause.what), time, fine_percent(cause.share));
  }
  return "<h2>Where the time goes</h2>\n" + drawing(26, "time by cause", bar) +
         "<table><tr><th>cause</th><th class=\"n\">time</th><th class=\"n\">share</th></tr>\n" +
         rows + "</table>\n";
}

std::string modules_section(const ir::Facts& facts) {
  std::string rows;
  for (const ir::KernelFacts& kernel : facts.kernels) {
    rows += fmt::format(
        "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
        "class=\"n\">{}</td><td>{}</td></tr>\n",
        escaped_markup(kernel.name), kernel.times, time_words(kernel.seconds),
        fine_percent(kernel.all_seconds() / facts.seconds), escaped_markup(kernel.evidence));
  }
  for (auto [modules, words] :
       {std::pair(&facts.estimated, "estimated from its bytes and products"),
        std::pair(&facts.not_modelled, "not included")}) {
    for (const auto& [module, why] : *modules)
      rows += fmt::format("<tr><td>{}</td><td colspan=\"4\" class=\"quiet\">{}: {}</td></tr>\n",
                          escaped_markup(module), words, escaped_markup(why));
  }
  return "<h2>Modules</h2>\n<table><tr><th>module</th><th class=\"n\">runs</th><th "
         "class=\"n\">one run</th><th class=\"n\">share</th><th>bound by</th></tr>\n" +
         rows + "</table>\n";
}

// Draws one run from its start to its end: tracks of its loads, stores, waits and passes.
std::string timeline(const ir::KernelRun& kernel, const ir::Device& device) {
  constexpr double kTrack = 24;
  constexpr double kLeft = 90;
  constexpr std::array<const char*, 4> kNames = {"loads", "stores", "waits", "passes"};
  constexpr std::array<const char*, 4> kFill = {"#3b7dd8", "#8a6fd1", "#d9822b", "#9aa5b1"};
  std::string content;
  for (size_t i = 0; i < kNames.size(); ++i)
    content += label(0, static_cast<double>(i) * kTrack + 15, kNames.at(i));
  const ir::Simulation& run = kernel.simulation;
  double scale = (kWidth - kLeft) / run.cycles;
  for (const ir::Span& span : run.spans) {
    auto kind = static_cast<size_t>(span.kind);
    double seconds = (span.end - span.start) / device.clock_hz;
    std::string tip = fmt::format("{} at {}: {}", kNames.at(kind),
                                  time_words(span.start / device.clock_hz), time_words(seconds));
    if (span.bytes > 0) tip += fmt::format(", {:.0f} bytes", span.bytes);
    content += rectangle(kLeft + span.start * scale, static_cast<double>(kind) * kTrack + 3,
                         (span.end - span.start) * scale, kTrack - 6, kFill.at(kind), tip, 0.75);
  }
  std::string note = run.spans_are_cut ? "<p class=\"quiet\">Shows the first and the last events "
                                         "of each kind; the events between them are left out.</p>\n"
                                       : "";
  return fmt::format("<h3>Timeline of one run, {}</h3>\n",
                     time_words(run.cycles / device.clock_hz)) +
         drawing(4 * kTrack, "timeline", content) + note;
}

// Draws the instructions issued per executed bundle, by unit, over the bundles of the program text.
std::string heat_map(const ir::KernelRun& kernel) {
  constexpr double kRow = 18;
  constexpr double kLeft = 90;
  constexpr double kFull = 2;  // instructions per bundle that are drawn solid
  const ir::Schedule& schedule = kernel.schedule;
  size_t columns = std::min(kColumns, schedule.bundles.size());
  std::vector<std::array<double, ir::kUnits + 1>> cells(columns);  // the last: bundles executed
  for (size_t i = 0; i < schedule.bundles.size(); ++i) {
    auto& cell = cells[i * columns / schedule.bundles.size()];
    auto times = static_cast<double>(kernel.simulation.executed[i]);
    cell[ir::kUnits] += times;
    const ir::Bundle& bundle = schedule.bundles[i];
    for (uint32_t k = 0; k < bundle.issues; ++k) {
      const ir::Unit unit = schedule.opcodes[schedule.issues[bundle.first_issue + k]].unit;
      cell.at(static_cast<size_t>(unit)) += times;
    }
  }
  double most = 1;
  for (const auto& cell : cells) most = std::max(most, cell[ir::kUnits]);
  double width = (kWidth - kLeft) / static_cast<double>(columns);
  std::string content;
  for (size_t unit = 0; unit <= ir::kUnits; ++unit) {
    double y = static_cast<double>(unit) * kRow;
    const char* name = unit == ir::kUnits ? "executed" : ir::unit_name(static_cast<ir::Unit>(unit));
    content += label(0, y + 13, name);
    for (size_t column = 0; column < columns; ++column) {
      const auto& cell = cells[column];
      if (cell[ir::kUnits] == 0 || cell.at(unit) == 0) continue;
      double value =
          unit == ir::kUnits ? cell[ir::kUnits] / most : cell.at(unit) / cell[ir::kUnits];
      size_t first = column * schedule.bundles.size() / columns;
      content += rectangle(kLeft + static_cast<double>(column) * width, y + 1, width, kRow - 2,
                           unit == ir::kUnits ? "#9aa5b1" : "#2f8f4e",
                           fmt::format("bundle {:#x}: {} {:.2f}", first, name, value),
                           std::min(1.0, unit == ir::kUnits ? value : value / kFull));
    }
  }
  return fmt::format("<h3>Instructions a bundle, by unit, over its {} bundles</h3>\n",
                     schedule.bundles.size()) +
         drawing((ir::kUnits + 1) * kRow, "unit heat map", content);
}

// Returns a table of the sections that take a kernel's time, each with a bar of its causes.
std::string sections_table(const ir::KernelFacts& kernel) {
  constexpr double kBar = 240;
  std::string rows;
  for (const ir::SectionFacts& section : kernel.sections) {
    std::string bar;
    double x = 0;
    for (size_t i = 0; i < kernel.by_cause.size(); ++i) {
      const ir::CauseTime& cause = kernel.by_cause[i];
      bool is_wait = cause.cause == ir::cause_name(ir::Cause::dma_bandwidth);
      auto found = section.by_cause.find(is_wait ? "wait" : cause.cause);
      double part = found == section.by_cause.end() ? 0 : found->second;
      if (part == 0) continue;
      bar += rectangle(x, 0, part / section.seconds * kBar, 14, kColours.at(i),
                       fmt::format("{}: {}", is_wait ? "waits" : cause.what, time_words(part)));
      x += part / section.seconds * kBar;
    }
    rows += fmt::format(
        "<tr><td>{:#x} to {:#x}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
        "class=\"n\">{}</td><td class=\"n\">{}</td><td><svg width=\"{}\" "
        "height=\"14\">{}</svg></td></tr>\n",
        section.bundle, section.bundle + section.bundles - 1, section.line, section.times,
        time_words(section.seconds), fine_percent(section.seconds / kernel.seconds), kBar, bar);
  }
  return "<h3>By section</h3>\n<table><tr><th>bundles</th><th class=\"n\">line</th><th "
         "class=\"n\">times</th><th class=\"n\">time</th><th class=\"n\">share</th><th>by "
         "cause</th></tr>\n" +
         rows + "</table>\n";
}

// An allocation in VMEM, or several adjacent allocations for spilled registers with the same
// lifetime.
struct Block {
  uint64_t first = 0, last = 0;  // bundles
  double offset = 0, bytes = 0;
  bool is_spill = false;
  std::string tag;
};

std::vector<Block> blocks_of(const ir::KernelFacts& kernel) {
  std::vector<Block> out;
  if (!kernel.allocations) return out;
  for (const ir::AllocationFacts& one : *kernel.allocations) {
    bool is_drawn = one.space == "vmem" && one.offset && one.live;
    if (!is_drawn) continue;
    Block block{.first = one.live->front(),
                .last = one.live->back(),
                .offset = static_cast<double>(*one.offset),
                .bytes = static_cast<double>(one.bytes),
                .is_spill = one.is_spill,
                .tag = one.tag};
    bool is_next = !out.empty() && block.is_spill && out.back().is_spill &&
                   out.back().first == block.first && out.back().last == block.last &&
                   out.back().offset + out.back().bytes == block.offset;
    if (is_next) {
      out.back().bytes += block.bytes;
    } else {
      out.push_back(std::move(block));
    }
  }
  return out;
}

// Draws the blocks in VMEM over the bundles of the program text.
std::string memory_map(const ir::KernelFacts& kernel, size_t bundles) {
  constexpr double kHeight = 200;
  constexpr double kLeft = 90;
  const std::vector<Block> blocks = blocks_of(kernel);
  double most = 0;  // bytes, up to the end of the last block
  for (const Block& block : blocks) most = std::max(most, block.offset + block.bytes);
  if (most == 0) return "";
  double across = (kWidth - kLeft) / static_cast<double>(bundles);
  double down = kHeight / most;
  std::string content =
      label(0, 13, fmt::format("{:.2f} MiB", most / 1048576)) + label(0, kHeight - 3, "0");
  for (const Block& block : blocks) {
    std::string tip = fmt::format("{}: {:.1f} KiB, bundles {:#x} to {:#x}", block.tag,
                                  block.bytes / 1024, block.first, block.last);
    content += rectangle(kLeft + static_cast<double>(block.first) * across,
                         (most - block.offset - block.bytes) * down,
                         static_cast<double>(block.last - block.first + 1) * across,
                         std::max(block.bytes * down - 1, 0.5),
                         block.is_spill ? "#b0417e" : "#3b7dd8", tip, 0.75);
  }
  return "<h3>VMEM over its bundles</h3>\n" + drawing(kHeight, "VMEM map", content) +
         "<p class=\"quiet\"><i style=\"background:#3b7dd8\"></i>blocks and scratch <i "
         "style=\"background:#b0417e\"></i>spilled registers</p>\n";
}

// Returns a table of how many bytes of each operand in HBM one run moves.
std::string traffic_table(const ir::KernelFacts& kernel) {
  std::string rows;
  for (const ir::OperandTraffic& one : kernel.traffic) {
    const double bytes = one.load_bytes + one.store_bytes;
    if (bytes == 0) continue;
    const bool is_known = one.bytes && *one.bytes != 0;
    rows += fmt::format(
        "<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{:.2f} MB</td><td "
        "class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
        one.operand ? fmt::format("{} {}", one.kind, *one.operand) : "none of them",
        escaped_markup(one.shape), one.loads + one.stores, bytes / 1e6,
        is_known ? fmt::format("{:.2f}", bytes / static_cast<double>(*one.bytes)) : "",
        time_words(one.wait_seconds));
  }
  if (rows.empty()) return rows;
  return "<h3>Moved from and to HBM by a run</h3>\n<table><tr><th>operand</th><th>shape</th><th "
         "class=\"n\">transfers</th><th class=\"n\">bytes</th><th class=\"n\">times its "
         "size</th><th class=\"n\">waited for</th></tr>\n" +
         rows + "</table>\n";
}

std::string memory_section(const ir::VmemFacts& vmem) {
  if (!vmem.allocated_bytes) return "<h2>VMEM</h2>\n<p>The compiler's report is missing.</p>\n";
  std::string rows;
  for (const ir::WindowFacts& window : vmem.windows)
    rows += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{:.1f} "
        "KiB</td></tr>\n",
        escaped_markup(window.module), escaped_markup(window.operand),
        escaped_markup(window.window), window.buffers, static_cast<double>(window.bytes) / 1024);
  const double capacity = vmem.capacity_bytes;
  const auto used = static_cast<double>(*vmem.allocated_bytes);
  const auto spilled = static_cast<double>(vmem.spilled_bytes.value_or(0));
  std::string bar =
      rectangle(0, 0, kWidth, 20, "#9aa5b1", fmt::format("{:.0f} MiB", capacity / 1048576), 0.25) +
      rectangle(0, 0, used / capacity * kWidth, 20, "#3b7dd8",
                fmt::format("allocated: {:.2f} MiB", used / 1048576)) +
      rectangle(0, 0, spilled / capacity * kWidth, 20, "#b0417e",
                fmt::format("spilled registers: {:.2f} MiB", spilled / 1048576));
  return fmt::format("<h2>VMEM</h2>\n<p>{:.2f} of {:.0f} MiB, {:.2f} for spilled registers</p>\n",
                     used / 1048576, capacity / 1048576, spilled / 1048576) +
         drawing(20, "VMEM", bar) +
         "<table><tr><th>module</th><th>operand</th><th>block</th><th class=\"n\">buffers</th><th "
         "class=\"n\">in all</th></tr>\n" +
         rows + "</table>\n";
}

}  // namespace

std::string facts_page(const ir::Facts& facts, const ir::ProgramRun& run, const ir::Device& device,
                       const std::string& title) {
  std::string page = kHead;
  page.replace(page.find("{title}"), 7, escaped_markup(title));
  page += fmt::format(
      "<h1>{}</h1>\n<p class=\"quiet\">{}, modelled by {}: nothing here was measured</p>\n"
      "<p class=\"big\"><b>{}</b> <span class=\"quiet\">({} to {})</span></p>\n"
      "<p>{}. Without {} it would take {} less.</p>\n",
      escaped_markup(title), device.name, facts.model, time_words(facts.modelled.seconds),
      time_words(facts.modelled.low), time_words(facts.modelled.high),
      escaped_markup(facts.evidence), escaped_markup(facts.prize.what),
      fine_percent(facts.prize.share));
  page += causes_section(facts) + modules_section(facts);
  double whole = run.cycles();
  for (size_t i = 0; i < run.kernels.size(); ++i) {
    const ir::KernelRun& kernel = run.kernels[i];
    bool has_text = !kernel.schedule.bundles.empty();
    if (!has_text || kernel.all_cycles() < kLeastDrawn * whole) continue;
    page += fmt::format("<h2>{}</h2>\n", escaped_markup(kernel.name)) + timeline(kernel, device) +
            heat_map(kernel) + traffic_table(facts.kernels[i]) +
            memory_map(facts.kernels[i], kernel.schedule.bundles.size()) +
            sections_table(facts.kernels[i]);
  }
  return page + memory_section(facts.vmem) + "</body></html>\n";
}

}  // namespace evolve
