// `evolve model`: the constants of a TPU's model, and the model's error against measured times.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/app/dump_reader.h"
#include "engine/campaign/target.h"
#include "engine/cli/commands.h"
#include "engine/core/json_text.h"
#include "engine/core/result.h"
#include "engine/ir/model/calibration.h"
#include "engine/ir/model/device.h"
#include "engine/ir/model/program.h"
#include "engine/ir/model/validation.h"
#include "engine/report/output.h"
#include "engine/report/table.h"
#include "engine/world/files.h"

namespace evolve::cli {

namespace {

using nlohmann::json;

struct ModelCommand {
  std::string rows;  // a file of measured times
  std::string device{default_target().model};
  std::string constants;  // a file of constants; empty: the device's own
  std::string out;        // empty: DEVICE-libtpu-VERSION.json, or DEVICE.json
};

// A row of the file of measured times.
struct Row {
  ReadProgram program;
  ir::ProgramInput input;
  std::string kernel;  // empty: the whole program
};

Result<double> cycles_of(const Row& row, const ir::Device& device) {
  auto run = ir::run_program(row.program.dumps, device, row.input);
  if (!run) return in_dump(run.error(), row.program.paths);
  if (row.kernel.empty()) return run->cycles();
  double sum = 0;
  for (const ir::KernelRun& one : run->kernels) {
    bool is_it = one.name == row.kernel || one.name.substr(0, one.name.rfind('.')) == row.kernel;
    if (is_it) sum += one.all_cycles();
  }
  return sum;
}

Result<ir::Observation> read_row(const json& row, const std::string& folder) {
  auto path_of = [&](const char* key) {
    return (std::filesystem::path(folder) / row[key].get<std::string>()).string();
  };
  auto read = std::make_shared<Row>();
  read->kernel = row.value("kernel", "");
  TRY_ASSIGN(auto programs, read_programs_of({path_of("dumps")}));
  std::erase_if(programs, [&](const ReadProgram& one) {
    return !read->kernel.empty() && !one.has_kernel(read->kernel);
  });
  if (programs.size() != 1)
    return bad_input(fmt::format("{}: the dumps contain {} programs; expected one",
                                 path_of("dumps"), programs.size()),
                     "", "select the program with \"kernel\": NAME");
  read->program = std::move(programs.front());
  if (row.contains("operands")) {
    TRY_ASSIGN(auto input, read_operand_files(path_of("operands"), {}));
    read->input = std::move(input);
  }
  ir::Observation out;
  out.seconds = row["seconds"].get<double>();
  out.group = row.value("group", "");
  out.family = row.value("family", "");
  out.cycles = [read](const ir::Device& device) { return cycles_of(*read, device); };
  return out;
}

struct Rows {
  std::vector<ir::Observation> observations;
  std::set<std::string> libtpu;  // versions
};

Result<Rows> read_rows(const std::string& path) {
  TRY_ASSIGN(auto document, read_json_file(path));
  auto error = [&](size_t number, const std::string& what) {
    return bad_input(fmt::format("{}: row {}: {}", path, number, what), "",
                     "[{\"dumps\": DIR, \"seconds\": 1.2e-4, …}, …]");
  };
  if (!document.is_array()) return error(1, "expected a list of rows");
  std::string folder = std::filesystem::path(path).parent_path().string();
  Rows out;
  for (const json& row : document) {
    size_t number = out.observations.size() + 1;
    bool is_row = row.is_object() && row.value("dumps", json()).is_string() &&
                  row.value("seconds", json()).is_number();
    if (!is_row) return error(number, "expected 'dumps' and 'seconds'");
    for (const char* key : {"operands", "kernel", "group", "family", "libtpu"}) {
      if (row.contains(key) && !row[key].is_string())
        return error(number, fmt::format("'{}' is not a text", key));
    }
    TRY_ASSIGN(auto one, read_row(row, folder));
    if (one.group.empty()) one.group = fmt::format("row {}", number);
    out.libtpu.insert(row.value("libtpu", ""));
    out.observations.push_back(std::move(one));
  }
  return out;
}

json constants_json(const ir::Calibration& found, const Rows& rows) {
  std::set<std::string> groups;
  for (const ir::Observation& one : rows.observations) groups.insert(one.group);
  json out = {{"device", found.device.name},
              {"clock_hz", found.device.clock_hz},
              {"dma_latency_seconds", found.device.dma_latency_seconds},
              {"hbm_bytes_per_second", found.device.hbm_bytes_per_second},
              {"error", found.device.error},
              {"rows", rows.observations.size()},
              {"groups", groups.size()},
              {"error_before", found.error_before},
              {"error_seen", found.error},
              {"error_unseen", found.error_unseen},
              {"rank_correlation", found.rank_correlation}};
  if (rows.libtpu.size() == 1 && !rows.libtpu.begin()->empty())
    out["libtpu"] = *rows.libtpu.begin();
  return out;
}

std::string calibration_text(const ir::Device& start, const ir::Calibration& found,
                             const json& constants) {
  std::string text =
      fmt::format("{} measured times in {} groups, {}\n\n{:<24}{:>10}{:>10}\n",
                  constants["rows"].get<uint64_t>(), constants["groups"].get<uint64_t>(),
                  start.name, "", "before", "found");
  auto line = [&](const char* what, double before, double after, double unit) {
    text += fmt::format("{:<24}{:>10.3f}{:>10.3f}\n", what, before / unit, after / unit);
  };
  line("clock, GHz", start.clock_hz, found.device.clock_hz, 1e9);
  line("DMA latency, us", start.dma_latency_seconds, found.device.dma_latency_seconds, 1e-6);
  line("HBM, TB/s", start.hbm_bytes_per_second, found.device.hbm_bytes_per_second, 1e12);
  line("mean error, %", found.error_before, found.error, 1e-2);
  text += fmt::format("{:<24}{:>10}{:>10.3f}\n", "unseen groups' error, %", "",
                      100 * found.error_unseen);
  return text +
         fmt::format("{:<24}{:>10}{:>10.3f}\n", "rank correlation", "", found.rank_correlation);
}

json pairs_json(const std::vector<ir::OrderedPairs>& intervals) {
  json out = json::array();
  for (const ir::OrderedPairs& one : intervals)
    out.push_back({{"least_difference", one.least},
                   {"most_difference", std::isfinite(one.most) ? json(one.most) : json()},
                   {"pairs", one.pairs},
                   {"right", one.right}});
  return out;
}

json validation_json(const ir::Device& device, const ir::Validation& found, const Rows& rows) {
  json out = {{"device", device.name},
              {"rows", rows.observations.size()},
              {"modelled", rows.observations.size() - found.not_modelled.size()},
              {"not_modelled", found.not_modelled},
              {"scale", found.scale},
              {"error", found.error},
              {"rank_correlation", found.rank_correlation},
              {"pairs_of_groups", pairs_json(found.of_groups)},
              {"pairs", pairs_json(found.of_all)},
              {"families", json::array()},
              {"times", json::array()}};
  for (const ir::Family& one : found.families)
    out["families"].push_back({{"family", one.name}, {"rows", one.rows}, {"error", one.error}});
  for (size_t i = 0; i < found.modelled.size(); ++i) {
    const ir::Observation& row = rows.observations[i];
    json time = {{"group", row.group}, {"family", row.family}, {"measured", row.seconds}};
    time["modelled"] = found.modelled[i] ? json(*found.modelled[i]) : json();
    out["times"].push_back(std::move(time));
  }
  return out;
}

std::string interval_words(const ir::OrderedPairs& one) {
  if (!std::isfinite(one.most)) return fmt::format("{:g} % or more", 100 * one.least);
  return fmt::format("{:g} to {:g} %", 100 * one.least, 100 * one.most);
}

std::string right_words(const ir::OrderedPairs& one) {
  if (one.pairs == 0) return "-";
  return fmt::format("{} of {} ({:.0f} %)", one.right, one.pairs,
                     100 * static_cast<double>(one.right) / static_cast<double>(one.pairs));
}

std::string validation_text(const ir::Device& device, const ir::Validation& found,
                            const Rows& rows) {
  const size_t count = rows.observations.size();
  std::string text = fmt::format(
      "{} of {} rows modelled on {}\nmean error {:.2f} % after the common scale {:.4f}, rank "
      "correlation {:.4f}\n",
      count - found.not_modelled.size(), count, device.name, 100 * found.error, found.scale,
      found.rank_correlation);
  std::vector<std::vector<std::string>> pairs = {
      {"times differ by", "right within a group", "right"}};
  for (size_t i = 0; i < found.of_all.size(); ++i)
    pairs.push_back({interval_words(found.of_all[i]), right_words(found.of_groups[i]),
                     right_words(found.of_all[i])});
  text += "\npairs in the right order\n" + table(pairs, "  ");
  if (found.families.size() > 1) {
    std::vector<std::vector<std::string>> families = {{"family", "rows", "mean error"}};
    for (const ir::Family& one : found.families)
      families.push_back({one.name.empty() ? "-" : one.name, fmt::format("{}", one.rows),
                          fmt::format("{:.2f} %", 100 * one.error)});
    text += "\n" + table(families, "  ");
  }
  if (!found.not_modelled.empty()) text += "\nnot modelled\n";
  for (const std::string& why : found.not_modelled) text += fmt::format("  {}\n", why);
  return text;
}

// Returns the error with the file's name before its message.
Error in_rows(Error error, const std::string& path) {
  if (!error.message.starts_with(path)) error.message = path + ": " + error.message;
  return error;
}

// Compares the model's times with a file of measured times. Reports how many rows are modelled, the
// error after one common scale, how many pairs are in the right order (grouped by how far the two
// times differ), and the error of each family.
Status run_model_validate(const ModelCommand& command, bool json_wanted) {
  TRY_ASSIGN(auto device, read_device(command.device, command.constants));
  TRY_ASSIGN(auto rows, read_rows(command.rows));
  auto found = ir::validate(device, rows.observations);
  if (!found) return in_rows(std::move(found).error(), command.rows);
  print_out(json_wanted ? json_block(validation_json(device, *found, rows)) + "\n"
                        : validation_text(device, *found, rows));
  return {};
}

// Fits the constants to measured times, prints how well they fit, and writes a file of constants.
//
// Measured times, JSON:
//   [{"dumps": PATH, "seconds": 1.2e-4, "operands": FILE.json, "kernel": "gmm",
//     "group": "4096x512", "family": "gmm", "libtpu": "0.0.42.1"}, …]
//
// `dumps` and `seconds` are required. Paths are relative to the file's folder. The time is the
// program's, or only the time of the runs of `kernel`. A group is left out as a whole when the
// error on unseen times is worked out; a row without a group is a group by itself. A family is a
// kind of kernel.
//
// The file has the constants of engine/ir/model/calibration.h, "libtpu": "0.0.42.1", and how the
// constants were found.
Status run_model_calibrate(const ModelCommand& command, bool json_wanted) {
  TRY_ASSIGN(auto start, read_device(command.device, ""));
  TRY_ASSIGN(auto rows, read_rows(command.rows));
  auto found = ir::calibrate(start, rows.observations);
  if (!found) return in_rows(std::move(found).error(), command.rows);
  json constants = constants_json(*found, rows);
  std::string out = command.out;
  if (out.empty()) {
    out = command.device;
    if (constants.contains("libtpu")) out += "-libtpu-" + constants["libtpu"].get<std::string>();
    out += ".json";
  }
  TRY(world::write_file_atomic(out, json_block(constants) + "\n"));
  if (json_wanted) {
    json modelled = json::array();
    for (size_t i = 0; i < found->modelled.size(); ++i)
      modelled.push_back({{"group", rows.observations[i].group},
                          {"measured", rows.observations[i].seconds},
                          {"modelled", found->modelled[i]}});
    constants["times"] = std::move(modelled);
    print_out(json_block(constants) + "\n");
    return {};
  }
  print_out(calibration_text(start, *found, constants) + fmt::format("\n{}\n", out));
  return {};
}

}  // namespace

void add_model(Commands& commands) {
  auto model =
      commands.add("model", "calibrate and check the model of a TPU's times: calibrate, validate");
  model.require_command();
  auto options = std::make_shared<ModelCommand>();
  auto calibrate = model.add_command("calibrate", "fit the model's constants to measured times");
  calibrate
      .add("times", options->rows,
           "a JSON file of measured times: [{\"dumps\": DIR, \"seconds\": 1.2e-4}, …]")
      .required();
  auto validate = model.add_command("validate", "compare the model with measured times");
  validate
      .add("times", options->rows,
           "a JSON file of measured times: [{\"dumps\": DIR, \"seconds\": 1.2e-4}, …]")
      .required();
  validate.add("--constants", options->constants,
               "the constants of the TPU's model: a file that 'evolve model calibrate' "
               "wrote (default: built in)");
  for (Parser command : {calibrate, validate}) {
    command.add("--device", options->device,
                fmt::format("the TPU to model (default: {})", options->device));
    commands.add_folder_and_json(command);
  }
  calibrate.add("--out", options->out,
                "the file to write (default: DEVICE-libtpu-VERSION.json, or DEVICE.json if "
                "the times do not name one version of libtpu)");
  commands.on(calibrate, [options](const CommonOptions& common) {
    return run_model_calibrate(*options, common.json);
  });
  commands.on(validate, [options](const CommonOptions& common) {
    return run_model_validate(*options, common.json);
  });
}

}  // namespace evolve::cli
