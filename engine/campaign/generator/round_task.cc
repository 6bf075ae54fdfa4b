#include "engine/campaign/generator/round_task.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/core/text/plain_text.h"

namespace evolve {

namespace {

// The canonical sources of the Python steps: what runs, so that a comment in one re-runs nothing.
void write_steps(const CampaignShape& shape, ManifestText& text) {
  std::vector<std::string> all;
  for (const std::string& name : shape.step_sources) {
    std::string out = "$work/steps/" + name;
    text.add(normalise_edge(name, "$rules/steps/" + name, out, ""));
    all.push_back(out);
  }
  text.add({"phony", {"$work/steps/all"}, all, {}, {}, {}});
}

// What an edge is called by a path: one line, whatever the path holds.
std::string subject_of(const std::string& path) {
  return path_value(plain_line(path));
}

void write_kernel(const CampaignShape& shape, ManifestText& text) {
  std::vector<std::string> outputs = {"$work/spec.json"};
  for (const JudgedCase& one : judged_cases(shape)) {
    for (const char* file : {"signature", "tolerance", "terms", "cost"}) {
      outputs.push_back(fmt::format("$work/cases/{}/{}.json", one.name, file));
    }
  }
  EdgeText spec = {"spec", outputs, {shape.spec}, {"$steps/spec"}, {}, {}};
  spec.bindings = {{"subject", "of the kernel"}};
  if (!shape.timed_cases.empty()) {
    spec.bindings.emplace_back("flags",
                               fmt::format("--time {}", fmt::join(shape.timed_cases, ",")));
  }
  text.add(spec);
  text.add(
      normalise_edge(subject_of(shape.seed), shape.seed, "$work/seed.py", marker_flags(shape)));
  text.add(normalise_edge(subject_of(shape.reference), shape.reference, "$work/reference.py", ""));
  if (!shape.xla.empty())
    text.add(
        normalise_edge(subject_of(shape.xla), shape.xla, "$work/round-0/xla/canonical.py", ""));
}

// What the reference gives for a case: as a whole, or at the places that a large timed case is
// compared at.
void write_expected(const CampaignShape& shape, const std::string& name, bool is_whole,
                    ManifestText& text) {
  std::string folder = "$work/cases/" + name;
  text.add_python({"expect",
                   {folder + "/expected.npz"},
                   {"$work/reference.py", folder + "/signature.json", "$work/secret"},
                   {},
                   {},
                   {{"subject", name}, {"depfile", folder + "/expected.d"}}},
                  {{"source", "$work/reference.py"},
                   {"entry", shape.entry},
                   {"signature", folder + "/signature.json"},
                   {"secret", "$work/secret"},
                   {"at-places", is_whole ? "0" : "1"},
                   {"out", folder + "/expected.npz"}});
}

// Whether the task asks for anything: what fails here is the user's, and no fault.
void write_audit(const std::string& name, ManifestText& text) {
  std::string folder = "$work/cases/" + name;
  Bindings arguments = {{"case", name}};
  std::vector<std::string> inputs;
  for (const auto& [flag, file] : {std::pair("expected", "expected.npz"),
                                   {"signature", "signature.json"},
                                   {"tolerance", "tolerance.json"}}) {
    inputs.push_back(fmt::format("{}/{}", folder, file));
    arguments.emplace_back(flag, inputs.back());
  }
  inputs.emplace_back("$work/secret");
  arguments.emplace_back("secret", inputs.back());
  arguments.emplace_back("out", folder + "/audit.json");
  text.add_python({"audit",
                   {folder + "/audit.json"},
                   inputs,
                   {},
                   {},
                   {{"subject", name}, {"depfile", folder + "/audit.d"}}},
                  arguments);
}

}  // namespace

EdgeText normalise_edge(const std::string& subject, const std::string& from, const std::string& to,
                        const std::string& flags) {
  EdgeText out = {"normalise", {to}, {from}, {"$rules/steps/normalise.py"}, {}, {}};
  out.bindings = {{"subject", subject}};
  if (!flags.empty()) out.bindings.emplace_back("flags", flags);
  return out;
}

std::string marker_flags(const CampaignShape& shape) {
  return fmt::format("--markers {} {}", shell_word(shape.marker_start),
                     shell_word(shape.marker_end));
}

void write_task(const CampaignShape& shape, ManifestText& text) {
  write_steps(shape, text);
  write_kernel(shape, text);
  // Drawn once, kept like what a person said: who has the record has it, and no candidate does.
  text.add({"secret",
            {"$work/secret"},
            {},
            {},
            {},
            {{"subject", "of the judge"}, {"class", "recorded"}}});
  std::vector<std::string> audits;
  for (const std::string& name : shape.check_cases) {
    write_expected(shape, name, true, text);
    write_audit(name, text);
    audits.push_back(fmt::format("$work/cases/{}/audit.json", name));
  }
  for (const JudgedCase& one : judged_cases(shape)) {
    if (!one.is_check) write_expected(shape, one.name, false, text);
  }
  text.add({"phony", {"task"}, audits, {}, {}, {}});
}

}  // namespace evolve
