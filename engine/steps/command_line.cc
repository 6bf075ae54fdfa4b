#include "engine/steps/command_line.h"

#include <fmt/format.h>

#include <cstdio>
#include <exception>

namespace evolve::steps {

namespace {

Result<VariantId> id_of(const std::string& word) {
  const auto id = VariantId::parse(word);
  if (!id) return bad_input(fmt::format("'{}' is no variant's id", word));
  return *id;
}

int fail(const CommandLine& line, const Error& error) {
  fmt::print(stderr, "{}: {}\n", line.name(), error.message);
  if (!error.detail.empty()) fmt::print(stderr, "{}\n", error.detail);
  if (!error.hint.empty()) fmt::print(stderr, "hint: {}\n", error.hint);
  return exit_code(error.code);
}

}  // namespace

options::Option add_id(CommandLine& line, const std::string& name, VariantId& id,
                       const std::string& help) {
  const auto take = [&id](const std::string& word) -> Status {
    TRY_ASSIGN(id, id_of(word));
    return {};
  };
  return line.add_word(name, take, help);
}

options::Option add_ids(CommandLine& line, const std::string& name, std::vector<VariantId>& ids,
                        const std::string& help) {
  const auto take = [&ids](const std::string& word) -> Status {
    TRY_ASSIGN(const VariantId id, id_of(word));
    ids.push_back(id);
    return {};
  };
  return line.add_words(name, take, help);
}

int run_step(CommandLine& line, int argc, char** argv, const std::function<Status()>& step) {
  try {
    const auto answer = line.parse(std::vector<std::string>(argv + 1, argv + argc));
    if (!answer) return fail(line, answer.error());
    if (*answer) {
      fmt::print("{}", **answer);
      return 0;
    }
    const Status status = step();
    return status ? 0 : fail(line, status.error());
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: internal error: {}\n", line.name(), error.what());
    return exit_code(ErrorCode::internal);
  }
}

}  // namespace evolve::steps
