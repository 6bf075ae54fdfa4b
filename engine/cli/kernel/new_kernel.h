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
// Bad input: the name is of another form.
Status check_kernel_name(const std::string& name);
// Returns the folder that a new kernel and its pipeline go into: the nearest folder, from the
// current folder upwards, that has kernels, or else the current folder.
std::filesystem::path kernels_root();

// Runs a program of rules/ ("init.init"), and returns the report that it prints as JSON.
Result<nlohmann::json> python_report(const std::string& program,
                                     const std::vector<std::string>& words);
// Prints the notices of a report.
void say_notices(const nlohmann::json& report);

// Runs a program of rules/ ("init.init"), which writes a kernel below `root`, and returns its
// report.
Result<nlohmann::json> write_kernel(const std::string& program, std::vector<std::string> words,
                                    const std::filesystem::path& root);
// Prints the files that were written, the faults of the seed, and the next commands. `done`: more
// text about the files.
void say_written(const CommonOptions& common, const nlohmann::json& report,
                 const std::string& done = "");

}  // namespace evolve::cli
