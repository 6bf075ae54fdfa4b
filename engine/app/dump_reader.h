// The reader of the dumps and operands that a user names: folders, archives or files.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/ir/model/operands.h"
#include "engine/ir/model/program.h"
#include "engine/ir/readers/dump_name.h"

namespace evolve {

// A program as its dumps show it.
struct ReadProgram {
  ir::Dumps dumps;
  ir::DumpPaths paths;  // the dumps' files; empty: the dumps come from an archive
  // Whether a module has this name, with or without the number that XLA appends.
  [[nodiscard]] bool has_kernel(const std::string& kernel) const;
};

// Reads the programs among the dumps at the paths: folders that libtpu dumped into, archives of the
// compile step, or single dumps. An error is bad input, or names the file that could not be read.
Result<std::vector<ReadProgram>> read_programs_of(const std::vector<std::string>& paths);

// Reads the operands of the kernels: all of them from the JSON file `file` (empty: no file), and
// single ones by their number, as "0=sizes.npy" or "2=mask.json". operands.h has the forms.
Result<ir::ProgramInput> read_operand_files(const std::string& file,
                                            const std::vector<std::string>& numbered);

// Replaces the module's name at the start of an error such as "gmm.1:119: …" by the file of its
// schedule. Adds a hint if the model could not follow the module.
Error in_dump(Error error, const ir::DumpPaths& files);

Result<nlohmann::json> read_json_file(const std::string& path);

// Returns the device `name` with the constants of the file `constants` (empty: with its own).
Result<ir::Device> read_device(const std::string& name, const std::string& constants);

}  // namespace evolve
