// Manual pages, for the program `man`.
#pragma once

#include <string>
#include <vector>

#include "engine/options/description.h"

namespace evolve::options {

struct ManualPage {
  std::string name;  // of its file: "evolve-build.1"
  std::string text;  // in the language of man(7)
};

// Returns the page of a program and a page for each of its commands. `version`: "evolve 0.1.0".
std::vector<ManualPage> manual_pages(const CommandInfo& program, const std::string& version);

}  // namespace evolve::options
