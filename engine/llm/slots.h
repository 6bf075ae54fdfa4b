// What fills a prompt's slots: a campaign's records, put into words.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/llm/config.h"
#include "engine/llm/history.h"
#include "engine/search/learning/learn.h"

namespace evolve::llm {

// What a model is asked for: a kernel's code, or in words what is to be done.
enum class Stage { code, plan };

// A kernel that a prompt shows.
struct Source {
  std::string id;  // "v0003"; empty: there is none
  std::string text;
};

// A slot's text in pieces that can be left out, what may go first in front.
struct Slot {
  std::vector<std::string> entries;
  // Empty: the entries are ours, and stand as they are. Else they are what candidates, models or
  // people wrote, and stand in a fence of this language that they cannot close.
  std::string language;
};
using Slots = std::map<std::string, Slot>;

std::string slot_text(const Slot& slot);

// What a prompt is made of.
struct Material {
  nlohmann::json spec;      // spec.json
  nlohmann::json evidence;  // evidence.json (engine/llm/README.md); null: none
  History history;
  Source parent;         // of repair the rejected one
  Source second_parent;  // of crossover
  search::Lessons
      lessons;  // what the campaign has learned, and what models say and nobody has seen
  Stage stage = Stage::code;
  std::string plan;  // that the code carries out; empty: there is none
};

Slots make_slots(Mode mode, const Material& material);

// Why the variant was rejected, or empty.
std::string diagnosis_of(const Material& material);

}  // namespace evolve::llm
