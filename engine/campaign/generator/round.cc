#include "engine/campaign/generator/round.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/campaign/generator/round_gates.h"
#include "engine/campaign/generator/round_mutate.h"
#include "engine/campaign/generator/round_novelty.h"
#include "engine/campaign/generator/round_task.h"
#include "engine/graph/edge_text.h"
#include "engine/search/variant.h"

namespace evolve {

namespace {

// As in rules/steps/measure.py.
constexpr const char* kProtocol = "cpu-abba-3";

// Files by the flags that name them: "--cost $work/cost.json --out …", and the files alone.
std::string flags_of(const Bindings& files) {
  std::string out;
  for (const auto& [flag, path] : files)
    out += fmt::format("{}--{} {}", out.empty() ? "" : " ", flag, path_word(path));
  return out;
}
std::vector<std::string> files_of(const Bindings& files) {
  std::vector<std::string> out;
  for (const auto& [flag, path] : files) out.push_back(path);
  return out;
}

template <class Item>
void append(std::vector<Item>& to, const std::vector<Item>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

class RoundWriter {
 public:
  explicit RoundWriter(const CampaignShape& shape)
      : shape_(shape), text_(shape.is_sandboxed, shape.node_pools) {}

  std::string write() {
    text_.comment(
        "# All rounds of the campaign. Made by evolve from the pipeline and the spec; the build "
        "runs what\n"
        "# stands here. Included by build.ninja, which binds the paths.\n");
    const auto paths = shape_.user_paths();
    auto have = [&paths](char c) {
      return std::any_of(paths.begin(), paths.end(), [c](const std::string& path) {
        return path.find(c) != std::string::npos;
      });
    };
    if (have('\n')) text_.comment("ninja_required_version = 1.14\n");
    if (have('|')) text_.comment("bar = |\n");
    write_task(shape_, text_);
    write_seed();
    for (int round = 1; round <= shape_.rounds; ++round) write_round(round);
    text_.comment(fmt::format("\ndefault round-{}\n", shape_.rounds));
    return text_.text();
  }

 private:
  void add(const EdgeText& edge) { text_.add(edge); }
  void add_python(EdgeText edge, const Bindings& flags) {
    text_.add_python(std::move(edge), flags);
  }

  // Round 0: what the variants are compared with. The XLA baseline first, for it compiles longest.
  void write_seed() {
    std::vector<std::string> outputs;
    if (!shape_.xla.empty()) {
      for (const std::string& name : shape_.bench_cases) {
        write_lower("xla", "$work/round-0/xla", name, outputs);
        write_bench("xla", "$work/round-0/xla", name, outputs);
      }
    }
    write_seed_variant(text_);
    write_variant(0, outputs);
    write_values(0, outputs);
    outputs.push_back(write_seed_gate(shape_, text_));
    outputs.emplace_back("task");
    add({"phony", {"round-0"}, outputs, {}, {}, {}});
  }

  void write_round(int round) {
    text_.comment(fmt::format("\n# Round {}\n", round));
    const int first = (round - 1) * shape_.variants + 1;
    std::vector<std::string> outputs;
    write_mutators(shape_, round, text_);
    for (int i = 0; i < shape_.variants; ++i) write_variant(first + i, outputs);
    write_novelty(shape_, round, text_);
    if (is_cut()) write_cut(round, outputs);
    if (shape_.is_measured) write_race(round, outputs);
    if (!shape_.is_measured && has_large_cases()) write_finalists(round, outputs);
    for (int i = 0; i < shape_.variants; ++i) write_values(first + i, outputs);
    write_select(round, outputs);
    std::vector<std::string> all = outputs;
    all.push_back(fmt::format("round-{}", round - 1));
    all.push_back(round_folder(round) + "/selection.json");
    add({"phony", {fmt::format("round-{}", round)}, all, {}, {}, {}});
  }

  // The edges of a variant from its kernel.py on. Appends what the round needs of it to `outputs`.
  void write_variant(int number, std::vector<std::string>& outputs) {
    std::string folder = "$work/" + variant_folder(shape_, number);
    std::string id = variant_id(number);
    add(normalise_edge(id, folder + "/kernel.py", folder + "/canonical.py", "--on-error keep"));
    const size_t first = outputs.size();
    outputs.push_back(folder + "/variant.json");
    outputs.push_back(folder + "/kernel.py");
    outputs.push_back(folder + "/canonical.py");
    for (const JudgedCase& one : judged_cases(shape_, number)) {
      write_lower(id, folder, one.name, outputs);
      write_contract(id, folder, one, outputs);
      if (one.must_be_new) outputs.push_back(fmt::format("{}/{}/novelty.json", folder, one.name));
      if (one.is_check) {
        write_check(id, folder, one, outputs);
        write_interpret(id, folder, one, outputs);
      }
      if (one.is_bench) write_bench(id, folder, one.name, outputs);
    }
    write_gates(shape_, number, text_);
    add({"phony", {id}, {outputs.begin() + static_cast<long>(first), outputs.end()}, {}, {}, {}});
  }

  // A case that a candidate is called for before, where it is lowered a second time; empty: there
  // is no other.
  [[nodiscard]] std::string case_beside(const std::string& name) const {
    const std::vector<JudgedCase> cases = judged_cases(shape_);
    for (size_t i = 0; i < cases.size() && cases.size() > 1; ++i) {
      if (cases[i].name == name) return cases[(i + 1) % cases.size()].name;
    }
    return {};
  }

  void write_lower(const std::string& id, const std::string& folder, const std::string& name,
                   std::vector<std::string>& outputs) {
    std::string at = folder + "/" + name;
    std::string signature = fmt::format("$work/cases/{}/signature.json", name);
    std::vector<std::string> inputs = {folder + "/canonical.py", signature};
    Bindings arguments = {{"source", folder + "/canonical.py"},
                          {"entry", shape_.entry},
                          {"signature", signature},
                          {"target", shape_.target},
                          {"tpu-out", at + "/tpu.program"},
                          {"cpu-out", at + "/cpu.program"},
                          {"jaxpr-out", at + "/jaxpr.json"},
                          {"operands-out", at + "/operands.json"},
                          {"out", at + "/lower.json"}};
    if (const std::string other = case_beside(name); !other.empty()) {
      inputs.push_back(fmt::format("$work/cases/{}/signature.json", other));
      arguments.emplace_back("other", inputs.back());
    }
    add_python({"lower",
                {at + "/tpu.program", at + "/cpu.program", at + "/jaxpr.json",
                 at + "/operands.json", at + "/lower.json"},
                inputs,
                {},
                {},
                {{"subject", id + " " + name},
                 {"report", at + "/lower.json"},
                 {"depfile", at + "/lower.d"}}},
               arguments);
    outputs.push_back(at + "/lower.json");
  }

  // Whether a candidate's programs are of the kind that was asked for. That of a case that is only
  // timed is held against what the candidate was traced to for the cases that are checked.
  void write_contract(const std::string& id, const std::string& folder, const JudgedCase& one,
                      std::vector<std::string>& outputs) {
    const std::string at = folder + "/" + one.name;
    const std::string of_case = "$work/cases/" + one.name;
    std::vector<std::string> inputs = {at + "/tpu.program", at + "/cpu.program", at + "/jaxpr.json",
                                       of_case + "/signature.json", of_case + "/terms.json"};
    Bindings arguments = {{"tpu", inputs[0]},   {"cpu", inputs[1]},
                          {"jaxpr", inputs[2]}, {"signature", inputs[3]},
                          {"terms", inputs[4]}, {"out", at + "/contract.json"}};
    if (!one.is_check) {
      for (const std::string& other : shape_.check_cases) {
        inputs.push_back(fmt::format("{}/{}/jaxpr.json", folder, other));
        inputs.push_back(fmt::format("$work/cases/{}/signature.json", other));
        arguments.emplace_back("checked", *(inputs.end() - 2) + " " + inputs.back());
      }
    }
    add_python({"contract",
                {at + "/contract.json"},
                inputs,
                {},
                {},
                {{"subject", id + " " + one.name},
                 {"report", at + "/contract.json"},
                 {"depfile", at + "/contract.d"}}},
               arguments);
    outputs.push_back(at + "/contract.json");
  }

  // An edge that judges one case of a variant by the files that its flags name. It leaves a report
  // beside them. What is compared as a whole is told where the case is timed, too.
  void write_judging(const std::string& step, const std::string& id, const std::string& at,
                     const JudgedCase& one, Bindings files, std::vector<std::string>& outputs) {
    const std::string report = fmt::format("{}/{}.json", at, step);
    const std::vector<std::string> inputs = files_of(files);
    if (one.is_bench && one.is_check) files.emplace_back("is-timed", "1");
    if (const auto limit = shape_.limits.find(step); limit != shape_.limits.end())
      files.emplace_back("cpu-seconds", std::to_string(limit->second));
    files.emplace_back("out", report);
    add_python({step,
                {report},
                inputs,
                {},
                {},
                {{"subject", id + " " + one.name},
                 {"report", report},
                 {"depfile", fmt::format("{}/{}.d", at, step)}}},
               files);
    outputs.push_back(report);
  }

  // A program of a variant, the gate before it, and what it is held against.
  static Bindings held_against(const std::string& gate, const std::string& name, const char* flag,
                               const std::string& program) {
    const std::string of_case = "$work/cases/" + name;
    return {{flag, program},
            {"gate", gate},
            {"expected", of_case + "/expected.npz"},
            {"signature", of_case + "/signature.json"},
            {"tolerance", of_case + "/tolerance.json"},
            {"secret", "$work/secret"}};
  }

  void write_check(const std::string& id, const std::string& folder, const JudgedCase& one,
                   std::vector<std::string>& outputs) {
    const std::string at = folder + "/" + one.name;
    write_judging("check", id, at, one,
                  held_against(checks_gate(folder), one.name, "program", at + "/cpu.program"),
                  outputs);
  }

  // What the TPU interpreter finds.
  void write_interpret(const std::string& id, const std::string& folder, const JudgedCase& one,
                       std::vector<std::string>& outputs) {
    const std::string at = folder + "/" + one.name;
    write_judging("interpret", id, at, one,
                  held_against(checks_gate(folder), one.name, "jaxpr", at + "/jaxpr.json"),
                  outputs);
  }

  // What a variant's programs of large timed cases give, at some places. Only variants that may
  // survive are asked; the seed always is.
  void write_values(int number, std::vector<std::string>& outputs) {
    const std::string id = variant_id(number);
    const std::string folder = "$work/" + variant_folder(shape_, number);
    for (const JudgedCase& one : judged_cases(shape_)) {
      if (one.is_check) continue;
      const std::string at = folder + "/" + one.name;
      Bindings files = held_against(compile_gate(folder), one.name, "jaxpr", at + "/jaxpr.json");
      if (number != 0) {
        files.emplace_back("admission",
                           folder + (shape_.is_measured ? "/race.json" : "/finalists.json"));
      }
      write_judging("values", id, at, one, files, outputs);
    }
  }

  // As one word: without the dashes, which would be taken for options of the step's own.
  [[nodiscard]] std::string compile_flags() const {
    std::string out;
    for (const std::string& flag : shape_.compile_flags) {
      out += (out.empty() ? "" : ",") + flag.substr(flag.find_first_not_of('-'));
    }
    return out;
  }

  void write_bench(const std::string& id, const std::string& folder, const std::string& name,
                   std::vector<std::string>& outputs) {
    std::string at = folder + "/" + name;
    std::string subject = id + " " + name;
    std::string cost = fmt::format("$work/cases/{}/cost.json", name);
    Bindings arguments = {{"program", at + "/tpu.program"},
                          {"target", shape_.target},
                          {"out", at + "/compile.json"},
                          {"dumps", at + "/dumps.tar.gz"}};
    if (!shape_.compile_flags.empty()) arguments.emplace_back("flags", compile_flags());
    std::vector<std::string> inputs = {at + "/tpu.program"};
    // The baseline is trusted, and calls no kernel.
    const bool is_candidate = id != "xla";
    const std::string gate = is_candidate ? compile_gate(folder) : "";
    if (is_candidate) {
      inputs.push_back(gate);
      arguments.emplace_back("gate", gate);
    }
    add_python(
        {"compile",
         {at + "/compile.json", at + "/dumps.tar.gz"},
         inputs,
         {},
         {},
         {{"subject", subject}, {"report", at + "/compile.json"}, {"depfile", at + "/compile.d"}}},
        arguments);
    Bindings compiled = {{"subject", subject},
                         {"portable", "1"},
                         {"compiled", at + "/compile.json"},
                         {"dumps", at + "/dumps.tar.gz"},
                         {"target", shape_.target}};
    std::vector<std::string> compiled_files = {at + "/compile.json", at + "/dumps.tar.gz"};
    Bindings given;
    if (is_candidate) given.emplace_back("operands", at + "/operands.json");
    if (!shape_.constants.empty()) given.emplace_back("constants", shape_.constants);
    // A baseline is not held against what its case needs.
    Bindings analyzed = given;
    if (is_candidate) append(analyzed, needs_of(name));
    Bindings bindings = compiled;
    if (!analyzed.empty()) bindings.emplace_back("given", flags_of(analyzed));
    bindings.emplace_back("cost", cost);
    bindings.emplace_back("report", at + "/facts.json");
    std::vector<std::string> analyzed_files = compiled_files;
    append(analyzed_files, files_of(analyzed));
    analyzed_files.push_back(cost);
    add({"analyze", {at + "/facts.json"}, analyzed_files, {"$steps/analyze"}, {}, bindings});
    append(compiled_files, files_of(given));
    if (!given.empty()) compiled.emplace_back("given", flags_of(given));
    if (shape_.is_measured) {
      write_measured_time(subject, folder, name, cost, gate);
    } else {
      write_time(subject, at, {{"facts", at + "/facts.json"}});
    }
    add({"trace", {at + "/timeline.json"}, compiled_files, {"$steps/trace"}, {}, compiled});
    for (const char* file : {"/compile.json", "/facts.json", "/time.json", "/timeline.json"}) {
      outputs.push_back(at + file);
    }
  }

  // What a candidate's work is held against.
  static Bindings needs_of(const std::string& name) {
    const std::string of_case = "$work/cases/" + name;
    return {{"terms", of_case + "/terms.json"}, {"signature", of_case + "/signature.json"}};
  }

  void write_time(const std::string& subject, const std::string& at, const Bindings& files) {
    add({"time",
         {at + "/time.json"},
         files_of(files),
         {"$steps/time"},
         {},
         {{"subject", subject},
          {"portable", "1"},
          {"flags", flags_of(files)},
          {"report", at + "/time.json"}}});
  }

  // What the variants of a round are measured for: a short measurement decides who is in the race,
  // and those are measured again, longer. The seed and the XLA baseline are not in it.
  void write_measured_time(const std::string& subject, const std::string& folder,
                           const std::string& name, const std::string& cost,
                           const std::string& gate) {
    const std::string at = folder + "/" + name;
    Bindings files = {{"samples", at + "/samples.json"}, {"cost", cost}};
    if (!gate.empty()) append(files, needs_of(name));
    Measurement longer = {"samples", "", shape_.timing.confirming, gate, ""};
    if (!gate.empty() && folder != "$work/" + variant_folder(shape_, 0)) {
      write_measure(subject, at, name,
                    {"screening", ", screening", shape_.timing.screening, gate,
                     is_cut() ? folder + "/cut.json" : ""});
      files.emplace_back("screening", at + "/screening.json");
      longer.race = folder + "/race.json";
    }
    write_measure(subject, at, name, longer);
    write_time(subject, at, files);
  }

  struct Measurement {
    std::string file;    // "samples": samples.json
    std::string suffix;  // of the subject
    Effort effort;
    std::string gate;  // the one before it; empty: a baseline has none
    std::string race;  // or cut, which says whether it is to be; empty: it is
  };

  // A variant's program beside the seed's, one such edge at a time.
  void write_measure(const std::string& subject, const std::string& at, const std::string& name,
                     const Measurement& wanted) {
    const std::string anchor =
        fmt::format("$work/{}/{}/cpu.program", variant_folder(shape_, 0), name);
    const std::string of_case = "$work/cases/" + name;
    const std::string out = fmt::format("{}/{}.json", at, wanted.file);
    const std::string depfile = fmt::format("{}/{}.d", at, wanted.file);
    std::vector<std::string> inputs = {at + "/cpu.program"};
    if (anchor != inputs.front()) inputs.push_back(anchor);
    Bindings arguments = {{"program", at + "/cpu.program"},
                          {"anchor", anchor},
                          {"device", "$device_kind"},
                          {"protocol", kProtocol},
                          {"processes", std::to_string(wanted.effort.processes)},
                          {"runs", std::to_string(wanted.effort.runs)},
                          {"seconds", fmt::format("{:.3g}", wanted.effort.seconds)},
                          {"out", out}};
    auto read = [&](const char* flag, const std::string& path) {
      inputs.push_back(path);
      arguments.emplace_back(flag, path);
    };
    read("signature", of_case + "/signature.json");
    read("expected", of_case + "/expected.npz");
    read("tolerance", of_case + "/tolerance.json");
    read("secret", "$work/secret");
    if (!wanted.gate.empty()) read("gate", wanted.gate);
    if (!wanted.race.empty()) read("race", wanted.race);
    add_python({"measure",
                {out},
                inputs,
                {},
                {},
                {{"subject", subject + wanted.suffix},
                 {"class", "measured"},
                 {"device_kind", "$device_kind"},
                 {"protocol", kProtocol},
                 {"device", "cpu 1"},
                 {"depfile", depfile}}},
               arguments);
  }

  // Whether the model says first who is measured.
  [[nodiscard]] bool is_cut() const { return shape_.is_measured && shape_.timing.first_cut; }

  // The edge of a step that says who of the round's variants is measured: all of them, and to each
  // whether it is in. `own` are flags that the step has alone.
  EdgeText admission(const std::string& step, int round, const std::string& own) const {
    const std::string folder = round_folder(round);
    EdgeText edge;
    edge.rule = step;
    edge.outputs = {fmt::format("{}/{}.json", folder, step)};
    std::string variants;
    for (const std::string& id : variants_of_round(shape_, round)) {
      variants += (variants.empty() ? "" : ",") + id;
      edge.outputs.push_back(fmt::format("{}/{}/{}.json", folder, id, step));
    }
    std::string flags =
        fmt::format("--spec $work/spec.json --top-k {} {} --variants {} --round-dir {} --out {}",
                    shape_.survival.capacity(), own, variants, folder, edge.outputs.front());
    edge.inputs = {"$work/spec.json"};
    if (round > 1) {
      edge.inputs.push_back(round_folder(round - 1) + "/selection.json");
      flags += " --previous " + edge.inputs.back();
    }
    if (shape_.least_distance) flags += " --must-be-new";
    edge.implicit = {"$steps/" + step};
    edge.bindings = {{"subject", fmt::format("round-{}", round)}, {"flags", flags}};
    return edge;
  }

  // Who of the round's variants is measured at all: of those that nothing turned down, who is not
  // far slower by the model.
  void write_cut(int round, const std::vector<std::string>& evaluated) {
    const std::string seed = "$work/" + variant_folder(shape_, 0);
    EdgeText edge =
        admission("cut", round,
                  fmt::format("--margin {} --random-seed {} --round {} --seed-dir {}",
                              *shape_.timing.first_cut, shape_.random_seed, round, seed));
    std::vector<std::string> all = evaluated;
    seed_evaluation(seed, all);
    for (const std::string& path : all) {
      const bool is_of_cut = path.ends_with(".json") && !path.ends_with("/timeline.json") &&
                             !path.ends_with("/time.json") && !path.ends_with("/values.json");
      if (is_of_cut) edge.inputs.push_back(path);
    }
    add(edge);
  }

  // Who of the round's variants is measured again: of those that nothing turned down.
  void write_race(int round, const std::vector<std::string>& evaluated) {
    EdgeText edge =
        admission("race", round, fmt::format("--finalists {}", shape_.timing.finalists));
    for (const std::string& path : evaluated) {
      if (path.ends_with("/timeline.json") || path.ends_with(".py")) continue;
      // In place of the time that the race is about.
      const bool is_time = path.ends_with("/time.json");
      edge.inputs.push_back(is_time ? path.substr(0, path.rfind('/')) + "/screening.json" : path);
    }
    add(edge);
  }

  // Whether a case is timed that is too large to be checked as a whole.
  [[nodiscard]] bool has_large_cases() const {
    const auto cases = judged_cases(shape_);
    return std::any_of(cases.begin(), cases.end(), [](const auto& one) { return !one.is_check; });
  }

  // Which of the round's variants may survive by their modelled times.
  void write_finalists(int round, const std::vector<std::string>& evaluated) {
    const std::string seed = "$work/" + variant_folder(shape_, 0);
    EdgeText edge = admission("finalists", round, "--seed-dir " + seed);
    std::vector<std::string> all = evaluated;
    seed_evaluation(seed, all);
    for (const std::string& path : all) {
      const bool is_read = path.ends_with(".json") && !path.ends_with("/timeline.json") &&
                           !path.ends_with("/values.json");
      if (is_read) edge.inputs.push_back(path);
    }
    add(edge);
  }

  // What the policy goes by, and nothing else.
  [[nodiscard]] std::string survival_flags() const {
    const Survival& rule = shape_.survival;
    std::string out = fmt::format("--policy {} --top-k {}", rule.policy, rule.top_k);
    if (rule.by_point) out += " --by-point";
    if (rule.policy == "lineages") out += fmt::format(" --lineages {}", rule.most_lineages);
    if (rule.policy == "islands") {
      out += fmt::format(" --islands {} --migration-interval {}", rule.islands,
                         rule.migration_interval);
    }
    if (rule.policy == "map_elites") {
      out += fmt::format(" --cells {} --random-seed {}", rule.most_cells, shape_.random_seed);
    }
    return out;
  }

  // `evaluated` is what the round's variants gave.
  void write_select(int round, const std::vector<std::string>& evaluated) {
    std::string folder = round_folder(round);
    std::string seed = "$work/" + variant_folder(shape_, 0);
    std::string variants;
    for (const std::string& id : variants_of_round(shape_, round)) {
      variants += (variants.empty() ? "" : ",") + id;
    }
    std::string flags = fmt::format(
        "--spec $work/spec.json --round {0} {1} --variants {2} --round-dir {3} --seed-dir {4} "
        "--seed-kernel $work/seed.py --out {3}/selection.json --history-out {3}/history.jsonl",
        round, survival_flags(), variants, folder, seed);
    EdgeText edge;
    edge.rule = "select";
    const Ancestry descent = ancestry_of(shape_, round + 1);
    edge.outputs = {descent.selection, descent.history, descent.learnings};
    flags += fmt::format(" --effect {} --learnings-out {}", shape_.learn_effect, descent.learnings);
    for (const std::string& lineage : descent.lineages) {
      edge.outputs.push_back(lineage);
      flags += " --lineage-out " + lineage;
    }
    for (const std::string& evidence : descent.evidence) {
      edge.outputs.push_back(evidence);
      flags += " --evidence-out " + evidence;
    }
    edge.inputs = {"$work/spec.json", "$work/seed.py"};
    if (const Ancestry before = ancestry_of(shape_, round); !before.selection.empty()) {
      edge.inputs.push_back(before.selection);
      edge.inputs.push_back(before.history);
      edge.inputs.insert(edge.inputs.end(), before.lineages.begin(), before.lineages.end());
      edge.inputs.insert(edge.inputs.end(), before.evidence.begin(), before.evidence.end());
      flags += fmt::format(" --previous {} --history {}", before.selection, before.history);
    }
    if (shape_.least_distance) flags += " --must-be-new";
    if (is_cut()) {
      edge.inputs.push_back(folder + "/cut.json");
      flags += " --cut " + edge.inputs.back();
    }
    if (!shape_.learnings.empty()) {
      edge.inputs.push_back(shape_.learnings);
      flags += " --by-person " + path_word(edge.inputs.back());
    }
    std::vector<std::string> all = evaluated;
    std::vector<std::string> of_seed;
    seed_evaluation(seed, of_seed);
    all.insert(all.end(), of_seed.begin(), of_seed.end());
    for (const std::string& path : all) {
      // A timeline is for people.
      if (!path.ends_with("/timeline.json")) edge.inputs.push_back(path);
    }
    edge.implicit = {"$steps/select"};
    edge.bindings = {{"subject", fmt::format("round-{}", round)}, {"flags", flags}};
    add(edge);
  }

  // What the selection reads of the seed.
  void seed_evaluation(const std::string& seed, std::vector<std::string>& paths) const {
    paths.push_back(seed + "/variant.json");
    paths.push_back(seed + "/canonical.py");
    for (const StepReport& report : judging_reports(judged_cases(shape_))) {
      if (report.step == "novelty") continue;  // it is what the others are held against
      paths.push_back(fmt::format("{}/{}/{}", seed, report.case_name, report.file));
    }
  }

  const CampaignShape& shape_;
  ManifestText text_;
};

}  // namespace

std::string write_rounds(const CampaignShape& shape) {
  return RoundWriter(shape).write();
}

}  // namespace evolve
