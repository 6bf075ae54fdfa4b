// Completion: the words that may stand where the user presses the tab key.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/options/description.h"

namespace evolve::options {

struct Candidate {
  std::string word;
  std::string help;  // one line; empty: none

  friend bool operator==(const Candidate&, const Candidate&) = default;
};

// Returns the values of a kind of word: the rounds for "round". `before`: the complete words that
// are typed already.
using ValuesOf = std::function<std::vector<Candidate>(const std::string& kind,
                                                      std::span<const std::string> before)>;

// Returns the words that may stand at the place of `current`, and that begin with it. `before`: the
// words between the program's name and that place. No word: any word may stand there, or a path.
std::vector<Candidate> complete(const CommandInfo& program, std::span<const std::string> before,
                                const std::string& current, const ValuesOf& values_of);

// Returns the script that makes a shell complete the words of `program` by "PROGRAM complete".
// `shell`: "bash", "zsh" or "fish".
std::string completion_script(const std::string& shell, const std::string& program);

}  // namespace evolve::options
