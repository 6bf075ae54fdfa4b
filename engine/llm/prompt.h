// The prompt of one place of a round: the request that will be sent, without secrets, and the
// reasons for it.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "engine/core/result.h"
#include "engine/llm/config.h"
#include "engine/llm/plan.h"
#include "engine/llm/slots.h"
#include "engine/llm/template.h"

namespace evolve::llm {

// The campaign's templates: "system", and either one for each mode or "plan".
struct Templates {
  PromptTemplate system;
  std::map<std::string, PromptTemplate> by_name;

  // Returns the names of the files that a stage needs, without folder.
  static std::vector<std::string> files(Stage stage);
  // Reads a stage's templates. `read_file` returns a file's text by its path. Bad input: as
  // PromptTemplate::parse.
  static Result<Templates> read(
      const std::string& folder, Stage stage,
      const std::function<Result<std::string>(const std::string& path)>& read_file);
};

struct PromptRequest {
  Config config;
  SpecText spec;
  CompilerEvidence evidence;
  PromptHistory history;
  Source parent, second_parent;
  search::Lessons lessons;
  Source rejected;  // where a repair may start; empty: only a rejected parent is repaired
  std::string id;
  int round = 0;
  int index = 0;
  uint64_t random_seed = 0;
  Stage stage = Stage::code;
  Plan plan;  // the plan of the code; no text: no plan; a problem: no code is asked for
};

// The two records of a prompt (engine/llm/README.md).
struct Prompt {
  nlohmann::json request;  // request.json: exactly what is sent; answers depend on no other record
  nlohmann::json record;   // prompt.json: all else, with reasons
};

// Makes the prompt of a place. If it exceeds the model's prompt_tokens, entries are left out: first
// entries of `tried`, the oldest first; then inspirations, learnings, rejections, the device, the
// spec, the bottleneck, the diagnosis. The task, sources, the plan and the format always stay. The
// verdict is "rejected" in three cases: the texts that always stay do not fit; the budget has no
// room for the worst case of this place and of its round's earlier places; the plan has a problem.
Prompt make_prompt(const PromptRequest& request, const Templates& templates);

}  // namespace evolve::llm
