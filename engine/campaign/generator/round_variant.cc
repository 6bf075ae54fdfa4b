#include "engine/campaign/generator/round_variant.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/campaign/generator/round_gates.h"
#include "engine/campaign/generator/round_task.h"
#include "engine/search/variant.h"

namespace evolve {

namespace {

// One case of a variant, or of the XLA baseline.
struct CaseOf {
  std::string id;      // "v0007", "xla"
  std::string folder;  // the variant's
  JudgedCase judged;

  // The XLA baseline is not a candidate: it is trusted, and calls no kernel.
  [[nodiscard]] bool is_candidate() const { return id != "xla"; }
  [[nodiscard]] std::string subject() const { return id + " " + judged.name; }
  [[nodiscard]] std::string at() const { return folder + "/" + judged.name; }
  [[nodiscard]] std::string file(std::string_view name) const {
    return fmt::format("{}/{}", at(), name);
  }
  // A file of the case that all variants share.
  [[nodiscard]] std::string shared(const char* name) const {
    return fmt::format("$work/cases/{}/{}", judged.name, name);
  }
};

class VariantWriter {
 public:
  VariantWriter(const CampaignShape& shape, StepText& text, VariantFiles& files)
      : shape_(shape), target_(*shape.pipeline.target), text_(text), files_(files) {}

  void write_case(const CaseOf& one) {
    write_lower(one);
    write_contract(one);
    if (one.judged.must_be_new) gave(FileKind::novelty, one);
    if (one.judged.is_check) {
      write_judging(one, compared("check", one, checks_gate(one.folder), "program", kJudgeProgram));
      write_judging(one,
                    compared("interpret", one, checks_gate(one.folder), "jaxpr", "jaxpr.json"));
    }
    if (one.judged.is_bench) write_bench(one);
  }

  void write_baseline_case(const CaseOf& one) {
    write_lower(one);
    write_bench(one);
  }

  void write_values(const CaseOf& one, bool is_seed) {
    StepEdge edge = compared("values", one, compile_gate(one.folder), "jaxpr", "jaxpr.json");
    if (!is_seed) {
      edge.in("admission", one.folder + (shape_.is_measured() ? "/race.json" : "/finalists.json"));
    }
    write_judging(one, edge);
  }

 private:
  void gave(FileKind kind, const CaseOf& one) {
    files_.push_back({.kind = kind, .folder = one.at()});
  }

  // Returns another case, for which the candidate is traced before its second trace for this case.
  // Empty: no other case exists.
  [[nodiscard]] std::string case_beside(const std::string& name) const {
    const std::vector<JudgedCase> cases = judged_cases(shape_);
    for (size_t i = 0; i < cases.size() && cases.size() > 1; ++i) {
      if (cases[i].name == name) return cases[(i + 1) % cases.size()].name;
    }
    return {};
  }

  void write_lower(const CaseOf& one) {
    StepEdge edge("lower", one.subject());
    edge.set("report", one.file("lower.json"))
        .set("depfile", one.file("lower.d"))
        .in("source", one.folder + "/canonical.py")
        .flag("entry", shape_.entry)
        .in("signature", one.shared("signature.json"));
    tell_target(edge, target_);
    edge.out("device-out", one.file(kDeviceProgram))
        .out("judge-out", one.file(kJudgeProgram))
        .out("jaxpr-out", one.file("jaxpr.json"))
        .out("operands-out", one.file("operands.json"))
        .out("out", one.file("lower.json"));
    if (const std::string other = case_beside(one.judged.name); !other.empty())
      edge.in("other", fmt::format("$work/cases/{}/signature.json", other));
    text_.add(edge);
    gave(FileKind::lower, one);
  }

  // Adds the check that a candidate's programs meet the contract. The program of a case that is
  // only timed is compared with the candidate's traces for the checked cases.
  void write_contract(const CaseOf& one) {
    StepEdge edge("contract", one.subject());
    edge.set("report", one.file("contract.json"))
        .set("depfile", one.file("contract.d"))
        .in("device-program", one.file(kDeviceProgram))
        .in("judge-program", one.file(kJudgeProgram))
        .in("jaxpr", one.file("jaxpr.json"))
        .in("signature", one.shared("signature.json"))
        .in("terms", one.shared("terms.json"))
        .out("out", one.file("contract.json"));
    if (!one.judged.is_check) {
      for (const std::string& other : shape_.check_cases) {
        edge.in("checked", {fmt::format("{}/{}/jaxpr.json", one.folder, other),
                            fmt::format("$work/cases/{}/signature.json", other)});
      }
    }
    text_.add(edge);
    gave(FileKind::contract, one);
  }

  // Returns the start of a judging edge: a program of the variant, the gate before the step, and
  // the files with which the program is compared.
  static StepEdge compared(const char* step, const CaseOf& one, const std::string& gate,
                           const char* flag, std::string_view program) {
    StepEdge edge(step, one.subject());
    edge.in(flag, one.file(program))
        .in("gate", gate)
        .in("expected", one.shared("expected.npz"))
        .in("signature", one.shared("signature.json"))
        .in("tolerance", one.shared("tolerance.json"))
        .in("secret", "$work/secret");
    return edge;
  }

  // Adds an edge that judges one case of a variant, and writes a report next to its programs. A
  // step that compares the whole case gets a flag if the case is also timed.
  void write_judging(const CaseOf& one, StepEdge edge) {
    const std::string step = edge.step();
    const std::string report = fmt::format("{}/{}.json", one.at(), step);
    edge.set("report", report).set("depfile", fmt::format("{}/{}.d", one.at(), step));
    if (one.judged.is_bench && one.judged.is_check) edge.flag("is-timed", "1");
    const auto& limits = shape_.pipeline.limits;
    if (const auto limit = limits.find(step); limit != limits.end())
      edge.flag("cpu-seconds", limit->second);
    text_.add(edge.out("out", report));
    gave(report_of_step(step), one);
  }

  // Returns the compiler's flags as one word, without their dashes, because the step would take
  // them for options of its own.
  [[nodiscard]] std::string compile_flags() const {
    std::string out;
    for (const std::string& flag : shape_.pipeline.compile.flags) {
      out += (out.empty() ? "" : ",") + flag.substr(flag.find_first_not_of('-'));
    }
    return out;
  }

  void write_bench(const CaseOf& one) {
    write_compile(one);
    write_analyze(one);
    if (shape_.is_measured()) {
      write_measured_time(one);
    } else {
      text_.add(time_edge(one).in("facts", one.file("facts.json")));
    }
    StepEdge trace = on_compiled("trace", one);
    text_.add(trace.writes(one.file("timeline.json")));
    for (FileKind kind : {FileKind::compile, FileKind::facts, FileKind::time, FileKind::timeline})
      gave(kind, one);
  }

  void write_compile(const CaseOf& one) {
    StepEdge edge("compile", one.subject());
    edge.set("report", one.file("compile.json"))
        .set("depfile", one.file("compile.d"))
        .in("program", one.file(kDeviceProgram))
        .flag("topology", target_.topology)
        .out("out", one.file("compile.json"))
        .out("dumps", one.file(target_.dumps));
    if (!shape_.pipeline.compile.flags.empty()) edge.flag("flags", compile_flags());
    if (one.is_candidate()) edge.in("gate", compile_gate(one.folder));
    text_.add(edge);
  }

  // Returns the start of an edge that reads the compiler's output.
  [[nodiscard]] StepEdge on_compiled(const char* step, const CaseOf& one) const {
    StepEdge edge(step, one.subject());
    edge.flags_in("given")
        .in_variable("compiled", one.file("compile.json"))
        .in_variable("dumps", one.file(target_.dumps))
        .set("target", std::string(target_.model));
    if (one.is_candidate()) edge.in("operands", one.file("operands.json"));
    if (!shape_.files.constants.empty()) edge.in("constants", shape_.files.constants);
    return edge;
  }

  void write_analyze(const CaseOf& one) {
    StepEdge edge = on_compiled("analyze", one);
    // Only a candidate must do a minimum of work; the XLA baseline is trusted.
    if (one.is_candidate()) add_needs(one, edge);
    text_.add(edge.in_variable("cost", one.shared("cost.json"))
                  .set("report", one.file("facts.json"))
                  .writes(one.file("facts.json")));
  }

  // Gives an edge the files that say how much work a candidate must do.
  static void add_needs(const CaseOf& one, StepEdge& edge) {
    edge.in("terms", one.shared("terms.json")).in("signature", one.shared("signature.json"));
  }

  static StepEdge time_edge(const CaseOf& one) {
    StepEdge edge("time", one.subject());
    edge.set("report", one.file("time.json")).writes(one.file("time.json"));
    return edge;
  }

  // Adds the edges that measure a case. A short measurement decides which of a round's variants are
  // finalists. The finalists are measured again, longer. The seed and the XLA baseline do not take
  // part in this race.
  void write_measured_time(const CaseOf& one) {
    StepEdge time = time_edge(one);
    time.in("samples", one.file("samples.json")).in("cost", one.shared("cost.json"));
    if (one.is_candidate()) add_needs(one, time);
    std::string race;
    if (one.is_candidate() && one.folder != seed_folder()) {
      write_measure(one, {.file = "screening",
                          .suffix = ", screening",
                          .effort = shape_.timing.screening,
                          .race = shape_.is_cut() ? one.folder + "/cut.json" : ""});
      time.in("screening", one.file("screening.json"));
      race = one.folder + "/race.json";
    }
    write_measure(
        one, {.file = "samples", .suffix = "", .effort = shape_.timing.confirming, .race = race});
    text_.add(time);
  }

  [[nodiscard]] std::string seed_folder() const { return "$work/" + variant_folder(shape_, 0); }

  struct Measurement {
    std::string file;    // "samples": samples.json
    std::string suffix;  // the subject's
    Effort effort;
    std::string race;  // report of the race or cut that decides; empty: always measured
  };

  // Adds the edge that measures a variant's program next to the seed's. Only one such edge runs at
  // a time.
  void write_measure(const CaseOf& one, const Measurement& wanted) {
    const std::string program = one.file(kJudgeProgram);
    const std::string anchor =
        fmt::format("{}/{}/{}", seed_folder(), one.judged.name, kJudgeProgram);
    const Measured& how = target_.measured(shape_.pipeline.time.device);
    StepEdge edge("measure", one.subject() + wanted.suffix);
    edge.set("class", "measured")
        .set("device_kind", "$device_kind")
        .set("protocol", std::string(how.protocol))
        .set("device", fmt::format("{} 1", how.device))
        .set("depfile", fmt::format("{}/{}.d", one.at(), wanted.file))
        .in("program", program);
    // The seed is its own anchor, and an edge has a file as an input only once.
    anchor == program ? edge.flag("anchor", anchor) : edge.in("anchor", anchor);
    edge.flag("device", "$device_kind")
        .flag("protocol", how.protocol)
        .flag("processes", wanted.effort.processes)
        .flag("runs", wanted.effort.runs)
        .flag("seconds", fmt::format("{:.3g}", wanted.effort.seconds))
        .out("out", fmt::format("{}/{}.json", one.at(), wanted.file))
        .in("signature", one.shared("signature.json"))
        .in("expected", one.shared("expected.npz"))
        .in("tolerance", one.shared("tolerance.json"))
        .in("secret", "$work/secret");
    if (one.is_candidate()) edge.in("gate", compile_gate(one.folder));
    if (!wanted.race.empty()) edge.in("race", wanted.race);
    text_.add(edge);
  }

  const CampaignShape& shape_;
  const Target& target_;
  StepText& text_;
  VariantFiles& files_;
};

}  // namespace

void write_variant(const CampaignShape& shape, int number, StepText& text, VariantFiles& files) {
  const std::string folder = "$work/" + variant_folder(shape, number);
  const std::string id = VariantId(number).text();
  text.add(normalise_edge(id, folder + "/kernel.py", folder + "/canonical.py", "--on-error keep"));
  VariantFiles own;
  for (FileKind kind : {FileKind::record, FileKind::kernel, FileKind::canonical})
    own.push_back({.kind = kind, .folder = folder});
  VariantWriter writer(shape, text, own);
  for (const JudgedCase& one : judged_cases(shape, number))
    writer.write_case({.id = id, .folder = folder, .judged = one});
  write_gates(shape, number, text);
  text.add_phony(id, all_paths(own));
  files.insert(files.end(), own.begin(), own.end());
}

void write_values(const CampaignShape& shape, int number, StepText& text, VariantFiles& files) {
  VariantWriter writer(shape, text, files);
  for (const JudgedCase& one : judged_cases(shape)) {
    if (one.is_check) continue;
    writer.write_values({.id = VariantId(number).text(),
                         .folder = "$work/" + variant_folder(shape, number),
                         .judged = one},
                        number == 0);
  }
}

void write_baseline(const CampaignShape& shape, StepText& text, VariantFiles& files) {
  if (shape.files.xla.empty()) return;
  VariantWriter writer(shape, text, files);
  for (const std::string& name : shape.bench_cases) {
    writer.write_baseline_case(
        {.id = "xla", .folder = "$work/round-0/xla", .judged = {.name = name, .is_bench = true}});
  }
}

bool has_large_cases(const CampaignShape& shape) {
  const auto cases = judged_cases(shape);
  return std::any_of(cases.begin(), cases.end(), [](const auto& one) { return !one.is_check; });
}

}  // namespace evolve
