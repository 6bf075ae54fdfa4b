#include "engine/report/campaign_text.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/core/json_text.h"
#include "engine/core/outside_json.h"
#include "engine/core/text/plain_text.h"
#include "engine/core/text/units.h"
#include "engine/report/table.h"

namespace evolve {

namespace {

using nlohmann::json;

// Returns a text such as "BLOCK_M=512 BLOCK_N=1024".
std::string parameters_text(const json& parameters) {
  std::string out;
  if (!parameters.is_object()) return out;
  for (const auto& [name, value] : parameters.items()) {
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", plain_line(name), json_line(value));
  }
  return out;
}

std::string compared_text(const json& compared) {
  const int whole = compared["whole"].get<int>();
  std::string out = fmt::format("        compared with the reference: {} {} in full", whole,
                                whole == 1 ? "case" : "cases");
  if (const int count = compared["at_places"].get<int>(); count > 0) {
    out += fmt::format(", {} large {} at {} places", count, count == 1 ? "one" : "ones",
                       compared["places"].get<int64_t>());
  }
  if (const int count = compared["not_at_all"].get<int>(); count > 0)
    out += fmt::format(", {} not at all", count);
  return out + "\n";
}

std::string ratio_text(const json& row, const char* key) {
  if (!row.contains(key)) return "-";
  double other = row[key].get<double>();
  std::string out = duration(other);
  if (row.contains("seconds"))
    out += fmt::format(" ({:.2f}x)", other / row["seconds"].get<double>());
  return out;
}

// Returns ", from 3.1 us depending on the data" for a kernel whose control flow depends on data.
std::string cheaper_text(const json& row) {
  if (!row.contains("cheaper_seconds")) return "";
  return fmt::format(", from {} depending on the data",
                     duration(row["cheaper_seconds"].get<double>()));
}

std::string times_table(const json& times, const std::string& variant) {
  std::vector<std::vector<std::string>> rows = {{"case", variant, "seed", "XLA", ""}};
  for (const json& row : times) {
    rows.push_back({line_member(row, "case"),
                    row.contains("seconds") ? duration(row["seconds"].get<double>()) : "-",
                    ratio_text(row, "seed_seconds"), ratio_text(row, "xla_seconds"),
                    line_member(row, "kind") + cheaper_text(row)});
  }
  return table(rows, "  ");
}

// Says how well the model agreed with measured times; empty: the model was not compared with any.
std::string model_text(const json& model) {
  const auto compared = model.value("compared", 0);
  if (compared == 0) return {};
  const double percent = 100 * std::expm1(model.value("error", 0.0));
  std::string out = fmt::format("the model was off by {:.{}f} % over {} variants", percent,
                                percent < 10 ? 1 : 0, compared);
  const auto count = [&](const char* key) { return model.value(key, 0); };
  if (count("ruled_out") + count("spot_checks") > 0) {
    out += fmt::format(", ruled out {}; {} of {} spot checks survived", count("ruled_out"),
                       count("wrong"), count("spot_checks"));
  }
  return out;
}

}  // namespace

std::string build_text(const json& report) {
  std::string out =
      fmt::format("evolve: {} edges: {} ran, {} cached, {} failed in {}\n",
                  report["ran"].get<int>() + report["cached"].get<int>() +
                      report["failed"].get<int>() + report["skipped"].get<int>(),
                  report["ran"].get<int>(), report["cached"].get<int>(),
                  report["failed"].get<int>(), duration(report["seconds"].get<double>()));
  if (const int retried = report["retried"].get<int>(); retried > 0) {
    out += fmt::format("        {} reruns of commands that failed, or whose inputs changed\n",
                       retried);
  }
  if (const json variants = report.value("not_done", json::array()); !variants.empty()) {
    const std::string first = variants.front().get<std::string>();
    out += fmt::format(
        "        warning: {} variants cannot survive, because a step could not run on them: evolve "
        "show {}\n",
        variants.size(), first);
  }
  if (const auto words = report.value("outside", std::vector<std::string>()); !words.empty()) {
    out += fmt::format("        the spec allows outside of kernels: {}\n", fmt::join(words, ", "));
  }
  if (report["round"].get<int>() == 0) return out;
  std::string verdicts;
  for (const auto& [kind, count] : report["verdicts"].items()) {
    verdicts += fmt::format("{}{} {}", verdicts.empty() ? "" : ", ", count.get<int>(), kind);
  }
  const int rounds = report["round"].get<int>();
  out += fmt::format("        {} {}, {} variants: {}\n", rounds, rounds == 1 ? "round" : "rounds",
                     report["variants"].get<int>(), verdicts);
  const std::string model = model_text(report.value("model", json::object()));
  if (!model.empty()) out += "        " + model + "\n";
  if (model.empty() && report.value("first_cut", false)) {
    out +=
        "        warning: time.first_cut ruled nothing out, because the model has no times: evolve "
        "show v0000\n";
  }
  if (!report.contains("best")) return out;
  std::string best = line_member(report["best"], "variant");
  out += fmt::format("        best {} on {}: {}\n", best, line_member(report, "target"),
                     parameters_text(report["best"].value("parameters", json::object())));
  return out + times_table(report["times"], best) + compared_text(report["compared"]);
}

namespace {

// Returns "v0003" for "$work/round-1/v0003/square/compile.json"; empty: the variant paid itself.
std::string payer(const std::string& paid_by, const std::string& variant) {
  size_t round = paid_by.find("/round-");
  if (round == std::string::npos) return {};
  size_t start = paid_by.find('/', round + 1) + 1;
  std::string id = paid_by.substr(start, paid_by.find('/', start) - start);
  return id == variant ? std::string() : id;
}

std::string step_detail(const json& row) {
  if (row.contains("comparison")) {
    return fmt::format("{}, {:.3f} of the seed's [{:.3f}, {:.3f}]: {}",
                       duration(row["seconds"].get<double>()), row["ratio"].get<double>(),
                       row["low"].get<double>(), row["high"].get<double>(),
                       line_member(row, "comparison"));
  }
  if (row.contains("seconds")) return duration(row["seconds"].get<double>()) + cheaper_text(row);
  if (row.contains("bottleneck") && row["bottleneck"].is_string()) {
    return "bound by " + row["bottleneck"].get<std::string>();
  }
  if (!line_member(row, "reason").empty()) {
    return fmt::format("{}: {}", line_member(row, "kind"), line_member(row, "reason"));
  }
  if (row.contains("outputs") && !row["outputs"].empty()) {
    return fmt::format("max error {:.2g}", row["outputs"][0].value("max_abs_error", 0.0));
  }
  if (row.contains("all_steps")) {
    return fmt::format("{} elements at places that were drawn, by {} of {} steps of the grid",
                       row.value("elements", 0), row.value("steps", 0), row.value("all_steps", 0));
  }
  return {};
}

}  // namespace

std::string variant_text(const json& report) {
  std::string variant = line_member(report, "variant");
  const json& origin = report["origin"];
  std::string out = variant;
  if (origin.is_object()) {
    std::string parents;
    for (const json& parent : origin.value("parents", json::array()))
      parents += " " + parent.get<std::string>();
    out +=
        fmt::format(" · round {} · {}{}{}", origin.value("round", 0),
                    line_member(origin, "mutator"), parents.empty() ? "" : " of" + parents,
                    line_member(origin, "note").empty() ? "" : " · " + line_member(origin, "note"));
    out += "\n" + parameters_text(origin.value("parameters", json::object()));
    if (origin.contains("problem")) {
      const json& problem = origin["problem"];
      out += fmt::format("\nno kernel: {}: {}; the parent takes the variant's place",
                         line_member(problem, "kind"), line_member(problem, "reason"));
    }
  }
  const json cut = report.value("cut", json::object());
  if (cut.contains("reason")) {
    const bool is_in = cut.value("is_in", true), is_modelled = cut.contains("modelled");
    const char* what = !is_modelled ? (is_in ? "not ruled out" : "not measured")
                       : is_in      ? "measured as a spot check"
                                    : "ruled out";
    out += fmt::format("\n{}: {}", what, line_member(cut, "reason"));
  }
  out += "\n\n";
  std::vector<std::vector<std::string>> rows = {{"case", "step", "verdict", "", "paid by"}};
  for (const json& row : report["steps"]) {
    std::string other = payer(line_member(row, "paid_by"), variant);
    std::string paid = other.empty() ? "itself" : other;
    if (row.contains("ran_seconds"))
      paid += fmt::format(", {:.1f} s", row["ran_seconds"].get<double>());
    rows.push_back({line_member(row, "case"), line_member(row, "step"), line_member(row, "verdict"),
                    step_detail(row), paid});
  }
  out += table(rows, "  ") + "\n";
  return out + times_table(report["times"], variant) +
         "\n  files: " + line_member(report, "folder") + "\n";
}

std::string rounds_text(const json& report) {
  std::vector<std::vector<std::string>> rows = {
      {"round", "recorded", "record", "best", "score", "rejected", "survivors"}};
  for (const json& round : report) {
    const json& selection = round["selection"];
    json best = selection.value("best", json::object());
    std::string survivors = line_member(round, "problem");
    for (const json& survivor : selection.value("survivors", json::array())) {
      survivors += (survivors.empty() ? "" : " ") + line_member(survivor, "variant");
    }
    rows.push_back(
        {std::to_string(round["round"].get<int>()), line_member(round, "recorded"),
         (round["record"].is_null() ? selection.value("from", "-") : json_line(round["record"])) +
             (round.value("imported", false) ? ", imported" : ""),
         line_member(best, "variant"),
         best.contains("score") ? fmt::format("{:.4f}", best["score"].get<double>()) : "-",
         std::to_string(selection.value("rejected", json::array()).size()), survivors});
  }
  return table(rows, "");
}

std::string round_text(const json& selection, bool is_imported) {
  std::string out =
      fmt::format("round {} ({}{})\n\n", selection.value("round", 0),
                  line_member(selection, "time_kind"), is_imported ? ", imported" : "");
  std::vector<std::vector<std::string>> rows = {{"survivor", "score", "parameters", "reason"}};
  for (const json& survivor : selection.value("survivors", json::array())) {
    rows.push_back({line_member(survivor, "variant"),
                    fmt::format("{:.4f}", survivor.value("score", 0.0)),
                    parameters_text(survivor.value("parameters", json::object())),
                    line_member(survivor, "reason")});
  }
  out += table(rows, "  ") + "\n";
  const bool has_model = selection.contains("model");
  rows = {{"ranking", "score"}};
  if (has_model) rows.front().emplace_back("modelled");
  for (const json& row : selection.value("ranking", json::array())) {
    rows.push_back({line_member(row, "variant"), fmt::format("{:.4f}", row.value("score", 0.0))});
    if (!has_model) continue;
    // The modelled time is shown as a speedup, as the score is.
    rows.back().push_back(
        row.contains("modelled") ? fmt::format("{:.4f}", 1 / row["modelled"].get<double>()) : "-");
    if (row.value("spot_check", false)) rows.back().back() += ", a spot check";
  }
  out += table(rows, "  ");
  if (has_model) {
    const std::string model = model_text(selection["model"]);
    if (!model.empty()) out += "\n  so far " + model + "\n";
    rows = {{"ruled out", "reason"}};
    for (const json& row : selection.value("ruled_out", json::array())) {
      rows.push_back({line_member(row, "variant"), line_member(row, "reason")});
    }
    if (rows.size() > 1) out += "\n" + table(rows, "  ");
  }
  json rejected = selection.value("rejected", json::array());
  if (rejected.empty()) return out;
  rows = {{"rejected", "step", "case", "kind", "reason"}};
  for (const json& row : rejected) {
    rows.push_back({line_member(row, "variant"), line_member(row, "step"), line_member(row, "case"),
                    line_member(row, "kind"), line_member(row, "reason")});
  }
  return out + "\n" + table(rows, "  ");
}

}  // namespace evolve
