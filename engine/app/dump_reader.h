// Dumps and operands as a user names them: folders, archives, files.
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
  ir::DumpPaths paths;  // of the dumps; none where they come from an archive
  // Whether a module is called so, with or without XLA's number.
  [[nodiscard]] bool has_kernel(const std::string& kernel) const;
};

// The programs among the dumps of the paths: folders that libtpu dumped into, the compile step's
// archives, dumps. An error is bad input, or says what could not be read.
Result<std::vector<ReadProgram>> read_programs_of(const std::vector<std::string>& paths);

// What the kernels are given: a JSON file of all (empty: none), and files of operands by their
// number, "0=sizes.npy", "2=mask.json" (operands.h has the forms).
Result<ir::ProgramInput> read_operand_files(const std::string& file,
                                            const std::vector<std::string>& numbered);

// "gmm.1:119: …" with the file that the module's schedule is in.
Error in_dump(Error error, const ir::DumpPaths& files);

Result<nlohmann::json> read_json_file(const std::string& path);

// The device of a name, with the constants of such a file; of an empty path its own.
Result<ir::Device> read_device(const std::string& name, const std::string& constants);

}  // namespace evolve
