// Shared parts of the commands that make a kernel's folder and pipeline with programs of
// rules/init.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/cli/common_options.h"

namespace evolve::cli {

// Checks that `name` can name a kernel, which is a folder and a Python identifier in small letters.
// Bad input: it cannot.
Status check_kernel_name(const std::string& name);
// Returns where a kernel's folder and pipeline go: the nearest folder at or above this one that has
// kernels, or else this one.
std::filesystem::path kernels_root();

// Runs a program of rules/ ("init.init"), which prints a report as JSON.
Result<nlohmann::json> python_report(const std::string& program,
                                     const std::vector<std::string>& words);
// Prints the notices of a report.
void say_notices(const nlohmann::json& report);

// Runs a program of rules/ ("init.init"), which writes a kernel below `root`, and returns its
// report.
Result<nlohmann::json> write_kernel(const std::string& program, std::vector<std::string> words,
                                    const std::filesystem::path& root);
// Prints what was written, what is wrong with it, and what to do next. `done`: more text about what
// was written.
void say_written(const CommonOptions& common, const nlohmann::json& report,
                 const std::string& done = "");

}  // namespace evolve::cli
