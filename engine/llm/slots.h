// The texts that fill a prompt's slots: a campaign's records, put into words.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
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
  // Empty: the entries are our own words, and are shown as they are. Else candidates, models or
  // people wrote them, and they are shown in a fence of this language that they cannot close.
  std::string language;
};
using Slots = std::map<std::string, Slot>;

std::string slot_text(const Slot& slot);

// The material of a prompt.
struct Material {
  nlohmann::json spec;      // spec.json
  nlohmann::json evidence;  // evidence.json (engine/llm/README.md); null: missing
  History history;
  Source parent;              // for repair: the rejected variant
  Source second_parent = {};  // for crossover
  search::Lessons lessons;    // learned by the campaign, or unproven
  Stage stage = Stage::code;
  std::string plan;  // for the code to carry out; empty: no plan
};

Slots make_slots(Mode mode, const Material& material);

// Why the parent was rejected; empty: it was not.
std::string diagnosis_of(const Material& material);

}  // namespace evolve::llm
