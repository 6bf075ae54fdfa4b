// The texts that fill a prompt's slots: a campaign's records, put into words.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/llm/config.h"
#include "engine/llm/history.h"
#include "engine/search/learning/learn.h"

namespace evolve::llm {

// The answer that a model is asked for: a kernel's code, or a plan in words.
enum class Stage { code, plan };

// A kernel that a prompt shows.
struct Source {
  std::string id;  // "v0003"; empty: no kernel
  std::string text;
};

// A slot's text in pieces that can be left out; the piece to drop first is in front.
struct Slot {
  std::vector<std::string> entries;
  // Empty: the entries are our own words, and are shown as they are. Otherwise candidates, models
  // or people wrote the entries. Then they are shown in a fence of this language that they cannot
  // close.
  std::string language;
};
using Slots = std::map<std::string, Slot>;

std::string slot_text(const Slot& slot);

// The parts of a kernel's spec that a prompt shows (spec.json).
struct SpecText {
  struct Tensor {
    std::string name;
    std::string dtype;
    std::vector<std::string> shape;
  };
  std::string name;
  std::string entry;
  std::string formula;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  std::vector<std::string> gradients;
  std::string whole;  // as JSON
};

SpecText read_spec_text(const nlohmann::json& spec);

// The parts of a case's facts that a prompt shows, as far as they are known (facts.json).
struct CaseEvidence {
  struct Prize {
    std::string what;
    std::optional<double> share;
  };
  std::optional<double> seconds;  // modelled
  std::optional<double> cheaper_seconds;
  std::string bottleneck;
  std::string evidence;
  std::optional<Prize> prize;
  std::optional<double> spills;
  std::optional<double> vmem_bytes;
  std::optional<double> vmem_capacity;
};

// The compiler's evidence about a variant (evidence.json, engine/llm/README.md).
struct CompilerEvidence {
  std::string device;                         // as JSON; empty: not known
  std::map<std::string, CaseEvidence> cases;  // the cases that have facts, by name
};

// Reads evidence. If `evidence` is null, the result is empty.
CompilerEvidence read_compiler_evidence(const nlohmann::json& evidence);

// The material of a prompt.
struct Material {
  SpecText spec;
  CompilerEvidence evidence;
  PromptHistory history;
  Source parent;              // for repair: the rejected variant
  Source second_parent = {};  // for crossover
  search::Lessons lessons;    // learned by the campaign, or unproven
  Stage stage = Stage::code;
  std::string plan;  // the plan of the code; empty: no plan
};

Slots make_slots(Mode mode, const Material& material);

// Returns why the parent was rejected. Empty: the parent was not rejected.
std::string diagnosis_of(const Material& material);

}  // namespace evolve::llm
