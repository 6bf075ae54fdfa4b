#include "k8s/order.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/core/crypto/sha256.h"
#include "engine/core/digest.h"
#include "engine/core/json_text.h"
#include "engine/core/outside_json.h"
#include "engine/core/path.h"

namespace evolve::k8s {

namespace {

using nlohmann::json;
using NamedFiles = std::vector<std::pair<std::string, StoredFile>>;

constexpr const char* kOrderFormat = "evolve-order-1";
constexpr const char* kRunFormat = "evolve-run-1";

json json_of(const NamedFiles& files) {
  json out = json::array();
  for (const auto& [path, file] : files) {
    out.push_back({path, file.sha256, file.bytes, file.is_executable});
  }
  return out;
}

// Whether a path has no control characters, and stays below the folder that it is relative to.
bool is_inside(const std::string& path) {
  const std::string canonical = canonical_path(path);
  const bool is_plain = std::none_of(path.begin(), path.end(),
                                     [](char c) { return static_cast<unsigned char>(c) < ' '; });
  return is_plain && !path.empty() && canonical != "." && canonical != ".." &&
         !canonical.starts_with('/') && !canonical.starts_with("../");
}

// Reads a list of files. Throws nlohmann's exceptions if `list` is not such a list.
NamedFiles files_from(const json& list) {
  NamedFiles out;
  for (const json& one : list) {
    StoredFile file{one.at(1).get<std::string>(), one.at(2).get<int64_t>(), one.at(3).get<bool>()};
    out.emplace_back(one.at(0).get<std::string>(), std::move(file));
  }
  return out;
}

bool are_sound(const NamedFiles& files) {
  return std::all_of(files.begin(), files.end(), [](const auto& one) {
    return is_inside(one.first) && is_sha256(one.second.sha256) && one.second.bytes >= 0;
  });
}

bool is_sound(const Order& order) {
  return Digest::from_hex(order.key) && !order.outputs.empty() && are_sound(order.inputs) &&
         are_sound(order.surroundings) && (order.depfile.empty() || is_inside(order.depfile)) &&
         std::all_of(order.outputs.begin(), order.outputs.end(), is_inside);
}

}  // namespace

Result<Order> order_of(const Command& command, std::span<const MachineBinding> machine,
                       std::span<const StoredFile> files) {
  const Errand& errand = *command.errand;
  Order out;
  out.key = errand.key.hex();
  out.command = symbolic_command(command.line, machine);
  out.environment = command.environment;
  out.timeout_seconds = command.timeout_seconds;
  out.is_sandboxed = command.is_sandboxed;
  out.toolchain = errand.toolchain;
  auto add = [&](const std::vector<std::string>& paths, NamedFiles& list) {
    for (const std::string& path : paths) {
      list.emplace_back(symbolic_path(path, machine), files.front());
      files = files.subspan(1);
    }
  };
  add(errand.inputs, out.inputs);
  add(errand.surroundings, out.surroundings);
  for (const std::string& path : errand.outputs) {
    out.outputs.push_back(symbolic_path(path, machine));
  }
  if (!errand.depfile.empty()) out.depfile = symbolic_path(errand.depfile, machine);
  for (const NamedFiles* list : {&out.inputs, &out.surroundings}) {
    for (const auto& [path, file] : *list) {
      if (is_inside(path)) continue;
      return bad_input(
          fmt::format("'{}': lies outside of the project and cannot be sent to a node", path));
    }
  }
  if (!is_sound(out)) {
    return bad_input(fmt::format("'{}': lies outside of the project, so no node can build it",
                                 out.outputs.front()));
  }
  return out;
}

std::string encode_order(const Order& order) {
  const json out = {{"format", kOrderFormat},
                    {"key", order.key},
                    {"command", order.command},
                    {"environment", order.environment},
                    {"timeout", order.timeout_seconds},
                    {"sandbox", order.is_sandboxed},
                    {"toolchain", order.toolchain},
                    {"inputs", json_of(order.inputs)},
                    {"surroundings", json_of(order.surroundings)},
                    {"outputs", order.outputs},
                    {"depfile", order.depfile}};
  return json_line(out);
}

Result<Order> decode_order(std::string_view text) {
  const json from = json_or_null(std::string(text));
  Order out;
  try {
    if (from.at("format") != kOrderFormat) return bad_input("has another format");
    from.at("key").get_to(out.key);
    from.at("command").get_to(out.command);
    from.at("environment").get_to(out.environment);
    from.at("timeout").get_to(out.timeout_seconds);
    from.at("sandbox").get_to(out.is_sandboxed);
    from.at("toolchain").get_to(out.toolchain);
    out.inputs = files_from(from.at("inputs"));
    out.surroundings = files_from(from.at("surroundings"));
    from.at("outputs").get_to(out.outputs);
    from.at("depfile").get_to(out.depfile);
  } catch (const json::exception&) {
    return bad_input("is not an order");
  }
  if (!is_sound(out)) return bad_input("is not an order that can run in a folder");
  return out;
}

std::string order_name(const Order& order) {
  return sha256(
      fmt::format("{} {} {}", kOrderFormat, order.key, json_line(json_of(order.surroundings))));
}

std::string run_name(const std::string& order, std::string_view job) {
  return sha256(fmt::format("{} {} {}", kRunFormat, order, job));
}

StoreEntry encode_run(const Run& run) {
  json text = {{"format", kRunFormat},
               {"order", run.order},
               {"exit_status", run.exit_status},
               {"timed_out", run.timed_out},
               {"seconds", run.seconds},
               {"output", run.output},
               {"node", run.node}};
  if (run.discovered) text["discovered"] = *run.discovered;
  return {run.files, json_line(text)};
}

std::optional<Run> decode_run(const std::string& order, const StoreEntry& record) {
  const json from = json_or_null(record.text);
  Run out;
  try {
    if (from.at("format") != kRunFormat || from.at("order") != order) return std::nullopt;
    out.order = order;
    from.at("exit_status").get_to(out.exit_status);
    from.at("timed_out").get_to(out.timed_out);
    from.at("seconds").get_to(out.seconds);
    from.at("output").get_to(out.output);
    from.at("node").get_to(out.node);
    if (from.contains("discovered")) {
      out.discovered = from.at("discovered").get<std::vector<std::string>>();
    }
  } catch (const json::exception&) {
    return std::nullopt;
  }
  if (out.discovered && !std::all_of(out.discovered->begin(), out.discovered->end(), is_inside)) {
    return std::nullopt;
  }
  out.files = record.files;
  return out;
}

}  // namespace evolve::k8s
