#include "engine/campaign/generator/round_task.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/core/text/plain_text.h"

namespace evolve {

namespace {

// Adds the canonical sources of the Python steps. The steps run from these, so that an edited
// comment re-runs nothing.
void write_steps(const CampaignShape& shape, StepText& text) {
  std::vector<std::string> all;
  for (const std::string& name : shape.step_sources) {
    std::string out = "$work/rules/" + name;
    text.add(normalise_edge(name, "$rules/" + name, out, ""));
    all.push_back(out);
  }
  text.add_phony("$work/rules/all", all);
}

// Returns the subject of an edge that is named after a path: one line, whatever characters the path
// has.
std::string subject_of(const std::string& path) {
  return path_value(plain_line(path));
}

void write_kernel(const CampaignShape& shape, StepText& text) {
  StepEdge spec("spec", "of the kernel");
  spec.reads(shape.files.spec).writes("$work/spec.json");
  for (const JudgedCase& one : judged_cases(shape)) {
    for (const char* file : {"signature", "tolerance", "terms", "cost"}) {
      spec.writes(fmt::format("$work/cases/{}/{}.json", one.name, file));
    }
  }
  const std::vector<std::string>& timed = shape.pipeline.time.cases;
  if (!timed.empty()) spec.flag("time", fmt::format("{}", fmt::join(timed, ",")));
  text.add(spec);
  text.add(normalise_edge(subject_of(shape.files.seed), shape.files.seed, "$work/seed.py",
                          marker_flags(shape)));
  text.add(normalise_edge(subject_of(shape.files.reference), shape.files.reference,
                          "$work/reference.py", ""));
  if (!shape.files.xla.empty())
    text.add(normalise_edge(subject_of(shape.files.xla), shape.files.xla,
                            "$work/round-0/xla/canonical.py", ""));
}

// Adds the edge that computes the reference's outputs for a case. If `is_whole` is false, the edge
// computes only the values at the places where a large timed case is compared.
void write_expected(const CampaignShape& shape, const std::string& name, bool is_whole,
                    StepText& text) {
  const std::string folder = "$work/cases/" + name;
  text.add(StepEdge("expect", name)
               .set("depfile", folder + "/expected.d")
               .in("source", "$work/reference.py")
               .flag("entry", shape.entry)
               .in("signature", folder + "/signature.json")
               .in("secret", "$work/secret")
               .flag("at-places", is_whole ? "0" : "1")
               .out("out", folder + "/expected.npz"));
}

// Adds the edge that checks that a case does not accept values that no kernel has to compute, such
// as zeros. The edge's failure is the user's error, not a fault.
void write_audit(const std::string& name, StepText& text) {
  const std::string folder = "$work/cases/" + name;
  text.add(StepEdge("audit", name)
               .set("depfile", folder + "/audit.d")
               .flag("case", name)
               .in("expected", folder + "/expected.npz")
               .in("signature", folder + "/signature.json")
               .in("tolerance", folder + "/tolerance.json")
               .in("secret", "$work/secret")
               .out("out", folder + "/audit.json"));
}

}  // namespace

EdgeText normalise_edge(const std::string& subject, const std::string& from, const std::string& to,
                        const std::string& flags) {
  EdgeText out = {.rule = "normalise",
                  .outputs = {to},
                  .inputs = {from},
                  .implicit = {"$rules/source/normalise.py"},
                  .bindings = {{"subject", subject}}};
  if (!flags.empty()) out.bindings.emplace_back("flags", flags);
  return out;
}

std::string marker_flags(const CampaignShape& shape) {
  return fmt::format("--markers {} {}", shell_word(shape.pipeline.kernel.marker_start),
                     shell_word(shape.pipeline.kernel.marker_end));
}

void write_task(const CampaignShape& shape, StepText& text) {
  write_steps(shape, text);
  write_kernel(shape, text);
  // The secret is drawn once and recorded, like a person's input. Anyone with the record has the
  // secret, but no candidate has it.
  text.add({.rule = "secret",
            .outputs = {"$work/secret"},
            .bindings = {{"subject", "of the judge"}, {"class", "recorded"}}});
  std::vector<std::string> audits;
  for (const std::string& name : shape.check_cases) {
    write_expected(shape, name, true, text);
    write_audit(name, text);
    audits.push_back(fmt::format("$work/cases/{}/audit.json", name));
  }
  for (const JudgedCase& one : judged_cases(shape)) {
    if (!one.is_check) write_expected(shape, one.name, false, text);
  }
  text.add_phony("task", audits);
}

void tell_target(StepEdge& edge, const Target& target) {
  edge.flag("platform", target.platform)
      .flag("device-kind", path_word(std::string(target.device_kind)));
}

}  // namespace evolve
