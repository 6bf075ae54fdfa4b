#include "engine/app/dump_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/core/outside_json.h"
#include "engine/ir/model/calibration.h"
#include "engine/ir/model/cut_names.h"
#include "engine/ir/readers/llo.h"
#include "engine/ir/readers/utilisation.h"
#include "engine/world/archive.h"
#include "engine/world/files.h"

namespace evolve {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr size_t kMostDumpBytes = size_t{4} << 30;

bool is_read_of_program(const std::string& name) {
  return name == "TLP/vmem_report.html" || name == "TLP/hlo.txt" ||
         name == "TLP/all-fingerprints.txt" || name == "TLP/hlo-static-bundle-profile.txt";
}

// Whether this is one of the dumps that are read for a module in addition to its schedule.
bool is_read_of_module(const std::string& name) {
  size_t slash = name.find('/');
  std::string_view stage = std::string_view(name).substr(slash + 1);
  return stage == ir::kLloPass || stage == ir::kUtilisationDump;
}

// Whether a dump is of a stage that is read; a folder may have 300 other stages.
bool is_read(const std::string& name) {
  return name.ends_with("/packed-bundles-post-ra.txt") || is_read_of_module(name) ||
         is_read_of_program(name);
}

Result<std::vector<std::string>> files_below(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code error;
  fs::recursive_directory_iterator it(folder, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    // The dumps lie at most one folder down, in folders of modules; deeper files are not dumps.
    if (it.depth() > 0) it.disable_recursion_pending();
    if (it->is_regular_file(error)) out.push_back(it->path().string());
  }
  if (error) return world::system_error("read", folder, error.value());
  std::sort(out.begin(), out.end());
  return out;
}

// Reads the programs whose dumps are the files at `paths`.
Result<std::vector<ReadProgram>> read_programs(const std::vector<std::string>& paths) {
  std::vector<ReadProgram> out;
  for (ir::DumpPaths& program : ir::group_dumps(paths)) {
    ir::Dumps dumps;
    for (const auto& [name, path] : program) {
      if (!is_read(name)) continue;
      TRY_ASSIGN(auto bytes, world::read_file(path));
      dumps.emplace(name, std::move(bytes));
    }
    if (dumps.empty()) continue;
    const auto names = ir::whole_names(dumps);
    out.push_back({ir::with_whole_names(std::move(dumps), names),
                   ir::with_whole_names(std::move(program), names)});
  }
  return out;
}

Error in_file(const std::string& path, const Error& error) {
  return bad_input(fmt::format("{}: {}", path, error.message), "",
                   "engine/ir/README.md describes the forms");
}

// Adds the operand that a text such as "0=sizes.npy" or "2=mask.json" names.
Status add_operand(const std::string& text, ir::ProgramInput& input) {
  size_t equals = text.find('=');
  std::string number = text.substr(0, equals);
  bool is_number = !number.empty() && number.size() < 4 &&
                   number.find_first_not_of("0123456789") == std::string::npos;
  if (equals == std::string::npos || !is_number)
    return bad_input(fmt::format("--operand '{}': expected NUMBER=FILE", text), "",
                     "--operand 0=sizes.npy");
  std::string path = text.substr(equals + 1);
  ir::OperandValues values;
  if (path.ends_with(".npy")) {
    TRY_ASSIGN(auto bytes, world::read_file(path));
    auto read = ir::read_npy(bytes);
    if (!read) return in_file(path, read.error());
    values.emplace(static_cast<uint32_t>(std::stoul(number)), *std::move(read));
  } else {
    TRY_ASSIGN(auto document, read_json_file(path));
    auto read = ir::read_operands(json{{number, document}});
    if (!read) return in_file(path, read.error());
    values = read->kernels[""].front().operands;
  }
  auto& runs = input.kernels[""];
  if (runs.empty()) runs.emplace_back();
  runs.front().operands.merge(values);
  return {};
}

}  // namespace

bool ReadProgram::has_kernel(const std::string& kernel) const {
  return std::any_of(dumps.begin(), dumps.end(), [&](const auto& dump) {
    std::string module = dump.first.substr(0, dump.first.find('/'));
    return module == kernel || module.substr(0, module.rfind('.')) == kernel;
  });
}

Result<std::vector<ReadProgram>> read_programs_of(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  std::vector<ReadProgram> out;
  for (const std::string& path : paths) {
    std::error_code error;
    if (fs::is_directory(path, error)) {
      TRY_ASSIGN(auto below, files_below(path));
      files.insert(files.end(), below.begin(), below.end());
    } else if (path.ends_with(".txt") || path.ends_with(".html")) {
      files.push_back(path);
    } else {
      TRY_ASSIGN(auto dumps, world::read_archive(path, kMostDumpBytes));
      const auto names = ir::whole_names(dumps);
      out.push_back({ir::with_whole_names(std::move(dumps), names), {}});
    }
  }
  TRY_ASSIGN(auto programs, read_programs(files));
  for (ReadProgram& program : programs) out.push_back(std::move(program));
  return out;
}

Error in_dump(Error error, const ir::DumpPaths& files) {
  std::string name = error.message.substr(0, error.message.find(':'));
  for (const std::string& dump : {name, name + "/packed-bundles-post-ra.txt"}) {
    if (auto file = files.find(dump); file != files.end())
      error.message.replace(0, name.size(), file->second);
  }
  if (error.message.find("the model cannot follow") != std::string::npos)
    error.hint =
        "give the operands that the control flow depends on with --operands; engine/ir/README.md "
        "describes the forms";
  return error;
}

Result<json> read_json_file(const std::string& path) {
  TRY_ASSIGN(auto text, world::read_file(path));
  auto document = parse_outside(text);
  if (!document) return std::move(document).error().within(path);
  return document;
}

Result<ir::ProgramInput> read_operand_files(const std::string& file,
                                            const std::vector<std::string>& numbered) {
  ir::ProgramInput input;
  if (file.ends_with(".npy"))
    return bad_input(fmt::format("--operands {}: expected a JSON file", file), "",
                     fmt::format("use --operand 0={} for the first operand", file));
  if (!file.empty()) {
    TRY_ASSIGN(auto document, read_json_file(file));
    auto read = ir::read_operands(document);
    if (!read) return in_file(file, read.error());
    input = *std::move(read);
  }
  for (const std::string& text : numbered) {
    TRY(add_operand(text, input));
  }
  return input;
}

Result<ir::Device> read_device(const std::string& name, const std::string& constants) {
  auto device = ir::find_device(name);
  if (!device)
    return bad_input(fmt::format("--device '{}': no model of this device", name), "",
                     "one of: " + ir::device_names());
  if (constants.empty()) return *device;
  TRY_ASSIGN(auto document, read_json_file(constants));
  auto with = ir::with_constants(*device, document);
  if (!with) return std::move(with).error().within(constants);
  return with;
}

}  // namespace evolve
