#include "engine/llm/slots.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/core/json_read.h"
#include "engine/core/json_text.h"
#include "engine/core/text/lines.h"
#include "engine/core/text/plain_text.h"
#include "engine/llm/fences.h"

namespace evolve::llm {

namespace {

using nlohmann::json;

constexpr size_t kMostEntries = 100;     // of a slot, whatever the budget
constexpr size_t kMostEntryBytes = 600;  // of an entry on one line
constexpr size_t kMostDiagnosis = 4000;  // bytes
constexpr size_t kMostInspiringSources = 2;

// Returns a string as it is, null as an empty text, and any other value as JSON.
std::string words_in(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_null() ? "" : json_block(value);
}

std::string entry_line(std::string_view text) {
  return one_line(text, kMostEntryBytes);
}

std::string tensor_words(const std::vector<SpecText::Tensor>& tensors) {
  std::vector<std::string> out;
  out.reserve(tensors.size());
  for (const SpecText::Tensor& one : tensors)
    out.push_back(fmt::format("{} {}[{}]", one.name, one.dtype, fmt::join(one.shape, ", ")));
  return fmt::format("{}", fmt::join(out, "; "));
}

std::string task_of(const SpecText& spec) {
  std::string out = fmt::format("Kernel `{}`: {}\n", spec.name, spec.formula);
  out += fmt::format("The file exports `{}`, which takes the inputs in this order.\n", spec.entry);
  out += fmt::format("Inputs: {}.\nOutputs: {}.", tensor_words(spec.inputs),
                     tensor_words(spec.outputs));
  if (!spec.gradients.empty()) {
    out += fmt::format("\nIt is differentiated by: {}. Gradients are judged and timed, too.",
                       fmt::join(spec.gradients, ", "));
  }
  return out;
}

std::string plan_format(Mode mode) {
  std::string out =
      "Answer with only the plan, in 10 to 40 lines of plain text: no code, and no fenced blocks. ";
  if (mode == Mode::diff)
    out += "It is for one focused change: a few edits, and all else stays as it is. ";
  if (mode == Mode::rewrite) out += "The whole EVOLVE block is yours to rewrite. ";
  return out + "When it is accepted, you are asked for the code.";
}

std::string format_of(Mode mode, const SpecText& spec) {
  std::string out = "Begin with one line `<plan>…</plan>`: what you change, and why it is faster. ";
  if (mode == Mode::diff) {
    out +=
        "Then give the change as SEARCH/REPLACE edits, one or several, each of this form:\n\n"
        "<<<<<<< SEARCH\nlines of the EVOLVE block, copied exactly, with their "
        "indentation\n=======\n"
        "the lines that take their place\n>>>>>>> REPLACE\n\n"
        "Each SEARCH must be in the EVOLVE block exactly once: copy as many lines as make it "
        "unique. Edits may not overlap.";
  } else {
    out += fmt::format(
        "Then give one fenced block, ```python … ```, and no other: all that stands between the "
        "lines `# EVOLVE-BLOCK-START` and `# EVOLVE-BLOCK-END`, in full, with nothing left out. It "
        "defines `{}`.",
        spec.entry);
  }
  return out +
         "\nText outside of the EVOLVE block stays as it is. End with up to three lines "
         "`<learning>…</learning>`: what is worth knowing for later tries, with its reason.";
}

std::string outcome_of(const JudgedVariant& past) {
  if (past.rejection) {
    const search::Rejection& why = *past.rejection;
    return fmt::format("rejected by {}{}: {}: {}", why.step.empty() ? "a step" : why.step,
                       why.case_name.empty() ? "" : fmt::format(" (case {})", why.case_name),
                       why.kind, why.reason);
  }
  return past.score ? fmt::format("{:.3f}x the seed's speed", *past.score) : "no result";
}

std::string words_of(const JudgedVariant& past) {
  return entry_line(fmt::format("{} (round {}, from {}): {} -> {}", past.id, past.round,
                                fmt::join(past.parents, " and "),
                                past.note.empty() ? "no note" : past.note, outcome_of(past)));
}

// Keeps at most kMostEntries entries of a list: the last ones, which are the most useful.
void keep_last(std::vector<std::string>& entries) {
  if (entries.size() > kMostEntries) {
    entries.erase(entries.begin(),
                  entries.begin() + static_cast<ptrdiff_t>(entries.size() - kMostEntries));
  }
}

std::vector<std::string> tried_of(const Material& material) {
  std::vector<std::string> out;
  for (const JudgedVariant* past : material.history.lineage(material.parent.id)) {
    out.push_back(words_of(*past));
  }
  keep_last(out);
  return out;
}

// Returns the rejections outside of the parent's lineage: of each kind and reason, only the newest.
std::vector<std::string> rejections_of(const Material& material) {
  std::set<const JudgedVariant*> told;
  for (const JudgedVariant* past : material.history.lineage(material.parent.id)) told.insert(past);
  std::set<std::string> seen;
  std::vector<std::string> out;
  const auto& entries = material.history.entries;
  for (auto it = entries.rbegin(); it != entries.rend(); ++it) {
    if (!it->rejection || told.contains(&*it)) continue;
    if (!seen.insert(it->rejection->kind + "\n" + it->rejection->reason).second) continue;
    out.push_back(words_of(*it));
  }
  std::reverse(out.begin(), out.end());
  keep_last(out);
  return out;
}

std::string words_of(const search::Learning& learning) {
  std::vector<std::string> fields;
  for (const auto& [name, text] : learning.fields) {
    if (name == "First seen" || name == "Since") continue;  // a model has no use for these
    fields.push_back(name.empty() ? text : fmt::format("{}: {}", name, text));
  }
  const bool is_sentence = learning.title.ends_with('.');
  return entry_line(fmt::format("- [{}] {}{}{}", learning.id, learning.title,
                                fields.empty() ? ""
                                : is_sentence  ? " "
                                               : ". ",
                                fmt::join(fields, "; ")));
}

// Returns the learnings, a line each. The first lines are learnings that models wrote and the rule
// did not accept, with the outcome of their variants. The accepted learnings come last, so that
// they are kept longest.
std::vector<std::string> learnings_of(const Material& material) {
  std::vector<std::string> out;
  for (const search::ProposedLearning& one : material.lessons.proposed) {
    out.push_back(
        entry_line(fmt::format("- (not proven; {}) {}", one.outcome, one.learning.title)));
  }
  for (const search::Learning& entry : material.lessons.accepted.entries) {
    if (!entry.is_rejected) out.push_back(words_of(entry));
  }
  keep_last(out);
  return out;
}

std::string percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.0f} %", 100 * *share) : "?";
}

// Describes the compiled program of a case.
std::string case_words(const std::string& name, const CaseEvidence& of) {
  std::string out = name + ": ";
  if (of.seconds) out += fmt::format("modelled time {:.4g} ms", 1e3 * *of.seconds);
  if (of.cheaper_seconds)
    out += fmt::format(" ({:.4g} ms on the cheaper side of branches on data)",
                       1e3 * *of.cheaper_seconds);
  if (of.seconds) out += "; ";
  out += fmt::format("bottleneck {}: {}", of.bottleneck, of.evidence);
  if (of.prize)
    out += fmt::format("; {} shorter without: {}", percent(of.prize->share), of.prize->what);
  if (of.spills) out += fmt::format("; register spills {:.0f}", *of.spills);
  if (of.vmem_bytes && of.vmem_capacity) {
    out += fmt::format("; VMEM {:.1f} of {:.1f} MiB", *of.vmem_bytes / (1 << 20),
                       *of.vmem_capacity / (1 << 20));
  }
  return entry_line(out);
}

std::vector<std::string> bottleneck_of(const CompilerEvidence& evidence) {
  std::vector<std::string> out;
  for (const auto& [name, of] : evidence.cases) out.push_back(case_words(name, of));
  return out;
}

// Returns other variants that did well, the best last. The best of them come with their sources.
std::vector<std::string> inspirations_of(const Material& material) {
  std::vector<std::string> out;
  std::set<std::string> told = {material.parent.id, material.second_parent.id};
  for (const Elite& elite : material.history.elites) {
    if (!told.insert(elite.id.text()).second) continue;
    out.push_back(entry_line(fmt::format("{}, {:.3f}x: {}", elite.id, elite.score, elite.note)));
    if (!elite.source.empty() && out.size() <= kMostInspiringSources)
      out.back() += "\n" + elite.source;
  }
  std::reverse(out.begin(), out.end());
  keep_last(out);
  return out;
}

std::vector<std::string> entry_of(std::string text) {
  if (text.empty()) return {};
  return {std::move(text)};
}

std::vector<SpecText::Tensor> tensors_at(const json& spec, const char* key) {
  std::vector<SpecText::Tensor> out;
  for (const json& one : list_at(spec, key)) {
    SpecText::Tensor& tensor = out.emplace_back();
    tensor.name = words_in(member(one, "name"));
    tensor.dtype = words_in(member(one, "dtype"));
    for (const json& size : list_at(one, "shape")) tensor.shape.push_back(words_in(size));
  }
  return out;
}

CaseEvidence read_case(const json& facts) {
  CaseEvidence out;
  out.seconds = number_at(member(facts, "modelled"), "seconds");
  out.cheaper_seconds = number_at(member(facts, "modelled"), "cheaper_seconds");
  out.bottleneck = text_at(facts, "bottleneck");
  out.evidence = words_in(member(facts, "evidence"));
  if (const json& prize = member(facts, "prize"); prize.is_object())
    out.prize = {words_in(member(prize, "what")), number_at(prize, "share")};
  out.spills = number_at(member(facts, "spills"), "stores_executed");
  out.vmem_bytes = number_at(member(facts, "vmem"), "allocated_bytes");
  out.vmem_capacity = number_at(member(facts, "vmem"), "capacity_bytes");
  return out;
}

}  // namespace

SpecText read_spec_text(const json& spec) {
  SpecText out;
  out.name = words_in(member(spec, "name"));
  out.entry = words_in(member(spec, "entry"));
  out.formula = words_in(member(spec, "formula"));
  out.inputs = tensors_at(spec, "inputs");
  out.outputs = tensors_at(spec, "outputs");
  out.gradients = texts_at(spec, "gradients");
  out.whole = words_in(spec);
  return out;
}

CompilerEvidence read_compiler_evidence(const json& evidence) {
  CompilerEvidence out;
  out.device = words_in(member(evidence, "device"));
  const json& cases = member(evidence, "cases");
  if (!cases.is_object()) return out;
  for (const auto& [name, facts] : cases.items()) {
    // A program that did not compile, or that the device's model cannot follow, has no bottleneck.
    if (member(facts, "bottleneck").is_string()) out.cases.emplace(name, read_case(facts));
  }
  return out;
}

std::string slot_text(const Slot& slot) {
  if (slot.entries.empty()) return {};
  const std::string text = fmt::format("{}", fmt::join(slot.entries, "\n"));
  return slot.language.empty() ? text : fenced(text, slot.language);
}

std::string diagnosis_of(const Material& material) {
  const JudgedVariant* past = material.history.find(material.parent.id);
  if (past == nullptr || !past->rejection) return {};
  return std::string(start_of(outcome_of(*past), kMostDiagnosis));
}

Slots make_slots(Mode mode, const Material& material) {
  Slots out;
  out["task"] = {{task_of(material.spec)}, ""};
  out["spec"] = {{material.spec.whole}, "json"};
  const bool is_plan = material.stage == Stage::plan;
  out["format"] = {{is_plan ? plan_format(mode) : format_of(mode, material.spec)}, ""};
  out["plan"] = {entry_of(material.plan), "text"};
  out["parent_source"] = {{material.parent.text}, "python"};
  if (mode == Mode::crossover)
    out["second_parent_source"] = {entry_of(material.second_parent.text), "python"};
  out["bottleneck"] = {bottleneck_of(material.evidence), "text"};
  out["tried"] = {tried_of(material), "text"};
  out["rejections"] = {rejections_of(material), "text"};
  out["inspirations"] = {inspirations_of(material), "text"};
  out["learnings"] = {learnings_of(material), "text"};
  out["device"] = {entry_of(material.evidence.device), "text"};
  if (mode == Mode::repair) out["diagnosis"] = {entry_of(diagnosis_of(material)), "text"};
  return out;
}

}  // namespace evolve::llm
