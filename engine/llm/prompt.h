// The prompt of one place of a round: what will be sent, without secrets, and why.
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

// The campaign's templates: "system", and one a mode, or that of the plan.
struct Templates {
  Template system;
  std::map<std::string, Template> by_name;

  // The names of the files that a stage needs, without folder.
  static std::vector<std::string> files(Stage stage);
  // `read` gives a file's text by its path. Bad input: as Template::parse.
  static Result<Templates> read(
      const std::string& folder, Stage stage,
      const std::function<Result<std::string>(const std::string& path)>& read_file);
};

struct PromptRequest {
  Config config;
  nlohmann::json spec;
  nlohmann::json evidence;
  History history;
  Source parent, second_parent;
  search::Lessons lessons;
  Source rejected;  // what repair may start from; without one it is for a parent that is rejected
  std::string id;
  int round = 0;
  int index = 0;
  uint64_t random_seed = 0;
  Stage stage = Stage::code;
  Plan plan;  // that the code is asked by; without text: there is none, with a problem: nor code
};

// Both records of a prompt (engine/llm/README.md).
struct Prompt {
  nlohmann::json request;  // request.json: exactly what is sent, which is what an answer depends on
  nlohmann::json record;   // prompt.json: all else, and why
};

// What does not fit the model's prompt_tokens is left out: entries of `tried`, the oldest first,
// then inspirations, learnings, rejections, the device, the spec, the bottleneck, the diagnosis;
// never the task, sources, the plan or format. Where these alone do not fit, where the budget has
// no room for the worst case of this place and of the earlier ones of its round, and where there is
// no plan to go by, the verdict is "rejected".
Prompt make_prompt(const PromptRequest& request, const Templates& templates);

}  // namespace evolve::llm
