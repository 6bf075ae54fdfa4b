#include "engine/core/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "engine/core/json_text.h"
#include "engine/core/outside_json.h"
#include "engine/core/path.h"
#include "engine/core/text/plain_text.h"

namespace evolve {

namespace {

using nlohmann::json;

json encode(const std::vector<RecordedFile>& files) {
  json out = json::array();
  for (const RecordedFile& file : files) out.push_back({file.path, file.content.hex()});
  return out;
}

// The symbols that a path in a record may begin with. No file of a record is below the other
// symbols of the machine.
constexpr std::string_view kWork = "$work/";
constexpr std::array<std::string_view, 3> kSourceFolders = {"$rules/", "$steps/", "$outside/"};
// Prefix of a path that is written with escapes.
constexpr std::string_view kBytes = "$bytes/";
// The only source below $work.
constexpr std::string_view kRounds = "$work/rounds.ninja";

// Whether a path is canonical, printable, and stays below the folder that it belongs to.
bool is_safe(const std::string& path) {
  const std::string canonical = canonical_path(path);
  return !path.empty() && canonical == path && is_below(path) && is_plain_line(path);
}

bool is_output(const RecordedFile& file) {
  return file.path.starts_with(kWork);
}

bool is_source(const RecordedFile& file) {
  return !file.path.starts_with('$') || file.path == kRounds || file.path.starts_with(kBytes) ||
         std::any_of(kSourceFolders.begin(), kSourceFolders.end(),
                     [&](std::string_view folder) { return file.path.starts_with(folder); });
}

// Whether recorded_name() can return this name, and the path stays in its folder.
bool is_safe_name(const std::string& name) {
  if (!name.starts_with(kBytes)) return is_safe(name);
  const std::string path = path_of_recorded(name);
  const bool is_outside = path.starts_with("$outside/");
  return (is_outside || !path.starts_with('$')) && path.find('\0') == std::string::npos &&
         is_below(path) && canonical_path(path) == path && recorded_name(path) == name;
}

bool read(const json& text, std::string& out) {
  if (!text.is_string()) return false;
  out = text.get<std::string>();
  return true;
}

bool read(const json& text, Digest& out) {
  auto digest = text.is_string() ? Digest::from_hex(text.get<std::string>()) : std::nullopt;
  out = digest.value_or(Digest{});
  return digest.has_value();
}

bool read(const json& files, std::vector<RecordedFile>& out) {
  if (!files.is_array()) return false;
  for (const json& file : files) {
    RecordedFile one;
    const bool is_whole = file.is_array() && file.size() == 2 && read(file[0], one.path) &&
                          read(file[1], one.content) && is_safe_name(one.path);
    if (!is_whole) return false;
    out.push_back(std::move(one));
  }
  return true;
}

bool read(const json& object, RecordedStep& out) {
  std::string class_text;
  const bool is_whole =
      object.is_object() && read(object.value("step", json()), out.step) &&
      read(object.value("subject", json()), out.subject) && is_plain_line(out.step) &&
      is_plain_line(out.subject) && read(object.value("class", json()), class_text) &&
      read(object.value("key", json()), out.key) &&
      read(object.value("outputs", json()), out.outputs) && !out.outputs.empty() &&
      std::all_of(out.outputs.begin(), out.outputs.end(), is_output);
  const auto step_class = class_from(class_text);
  out.step_class = step_class.value_or(StepClass::pure);
  return is_whole && step_class;
}

// Returns a step's identity in a record: its first output.
const std::string& name_of(const RecordedStep& step) {
  return step.outputs.front().path;
}

}  // namespace

std::string recorded_name(const std::string& path) {
  if (is_plain_line(path) && !path.starts_with(kBytes)) return path;
  std::string out(kBytes);
  for (char c : path) {
    const bool is_plain = c > ' ' && c < 0x7f && c != '%' && c != '$';
    out += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string path_of_recorded(const std::string& name) {
  if (!name.starts_with(kBytes)) return name;
  std::string out;
  for (size_t i = kBytes.size(); i < name.size(); ++i) {
    unsigned byte = 0;
    const char* digits = name.data() + i + 1;
    const bool is_escape = name[i] == '%' && i + 2 < name.size() &&
                           std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2;
    out += is_escape ? static_cast<char>(byte) : name[i];
    if (is_escape) i += 2;
  }
  return out;
}

std::vector<RecordedFile> files_of(const Record& record) {
  std::vector<RecordedFile> out = record.sources;
  for (const RecordedStep& step : record.steps) {
    out.insert(out.end(), step.outputs.begin(), step.outputs.end());
  }
  return out;
}

std::string encode(const Record& record) {
  json steps = json::array();
  for (const RecordedStep& step : record.steps) {
    steps.push_back({{"step", step.step},
                     {"subject", step.subject},
                     {"class", class_name(step.step_class)},
                     {"key", step.key.hex()},
                     {"outputs", encode(step.outputs)}});
  }
  const json all = {{"format", kRecordFormat},
                    {"toolchain", record.toolchain},
                    {"sources", encode(record.sources)},
                    {"steps", steps}};
  return json_line(all) + "\n";
}

Result<Record> decode_record(std::string_view text) {
  const json all = json_or_null(text);
  Record out;
  std::string format;
  if (!all.is_object() || !read(all.value("format", json()), format)) {
    return bad_input("not a record of a round");
  }
  if (format != kRecordFormat) {
    return bad_input(fmt::format("the record has the format '{}', but this evolve reads {}", format,
                                 kRecordFormat));
  }
  const json steps = all.value("steps", json());
  bool is_whole = read(all.value("toolchain", json()), out.toolchain) &&
                  read(all.value("sources", json()), out.sources) && steps.is_array() &&
                  std::all_of(out.sources.begin(), out.sources.end(), is_source);
  if (is_whole) {
    out.steps.resize(steps.size());
    for (size_t i = 0; i < steps.size(); ++i) is_whole = is_whole && read(steps[i], out.steps[i]);
  }
  if (!is_whole) return bad_input("the record of the round is damaged");
  return out;
}

void add_to(Record& record, const Record& later) {
  record.toolchain = later.toolchain;
  std::map<std::string, Digest> sources;
  for (const RecordedFile& file : record.sources) sources.insert_or_assign(file.path, file.content);
  for (const RecordedFile& file : later.sources) sources.insert_or_assign(file.path, file.content);
  record.sources.clear();
  for (const auto& [path, content] : sources) record.sources.push_back({path, content});
  std::unordered_map<std::string, size_t> places;
  for (size_t i = 0; i < record.steps.size(); ++i) places[name_of(record.steps[i])] = i;
  for (const RecordedStep& step : later.steps) {
    auto [place, is_new] = places.try_emplace(name_of(step), record.steps.size());
    if (is_new) {
      record.steps.push_back(step);
    } else {
      record.steps[place->second] = step;
    }
  }
}

std::optional<Parting> first_parting(const Record& a, const Record& b) {
  std::unordered_map<std::string, const RecordedStep*> others;
  for (const RecordedStep& step : b.steps) others.emplace(name_of(step), &step);
  for (const RecordedStep& step : a.steps) {
    auto other = others.extract(name_of(step));
    if (!other) return Parting{Parting::Kind::missing, step, std::nullopt};
    const RecordedStep& its = *other.mapped();
    if (step.key != its.key) return Parting{Parting::Kind::key, step, its};
    if (step.outputs != its.outputs) return Parting{Parting::Kind::bytes, step, its};
  }
  for (const RecordedStep& step : b.steps) {
    if (others.contains(name_of(step))) {
      return Parting{Parting::Kind::added, std::nullopt, step};
    }
  }
  return std::nullopt;
}

}  // namespace evolve
