#include "cache/action_table.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/core/json_text.h"
#include "engine/core/outside_json.h"

namespace evolve::cache {

namespace {

using nlohmann::json;

// Reads what encode_result wrote. Throws json's exceptions if the row does not have that form.
ActionResult decode_row(const Digest& key, const json& row) {
  ActionResult result;
  result.key = key;
  result.declared_key = key;
  auto read = [&](const char* name, auto& out) {
    if (auto field = row.find(name); field != row.end()) field->get_to(out);
  };
  if (auto declared = row.find("declared_key"); declared != row.end()) {
    result.declared_key =
        Digest::from_hex(declared->get_ref<const std::string&>()).value_or(Digest{});
  }
  for (const json& output : row.at("outputs")) {
    result.outputs.push_back(
        Digest::from_hex(output.get_ref<const std::string&>()).value_or(Digest{}));
  }
  if (auto links = row.find("links"); links != row.end()) {
    for (const json& link : *links) {
      result.links.push_back({link.at(0).get<size_t>(), link.at(2).get<std::string>(),
                              link.at(1).get_ref<const std::string&>() == "hard"});
    }
  }
  if (auto parts = row.find("parts"); parts != row.end()) {
    for (const json& part : *parts) {
      result.parts.push_back({part.at(0).get<std::string>(), part.at(1).get<std::string>(),
                              part.at(2).get<std::string>()});
    }
  }
  read("discovered", result.discovered);
  read("verdict", result.verdict);
  read("output", result.output);
  row.at("seconds").get_to(result.seconds);
  read("paid_by", result.paid_by);
  read("built_at", result.built_at);
  read("built_on", result.built_on);
  return result;
}

}  // namespace

std::string encode_result(const ActionResult& result) {
  json outputs = json::array();
  for (const Digest& digest : result.outputs) outputs.push_back(digest.hex());
  json row = {{"outputs", outputs}, {"seconds", result.seconds}};
  // Empty fields are left out, because most of a look-up's time goes into reading the text.
  auto write = [&](const char* name, const auto& value) {
    if (!value.empty()) row[name] = value;
  };
  if (result.declared_key != result.key) row["declared_key"] = result.declared_key.hex();
  for (const OutputLink& link : result.links)
    row["links"].push_back({link.output, link.is_hard ? "hard" : "symbolic", link.target});
  for (const KeyPart& part : result.parts) {
    row["parts"].push_back({part.tag, part.name, part.value});
  }
  write("discovered", result.discovered);
  write("verdict", result.verdict);
  write("output", result.output);
  write("paid_by", result.paid_by);
  write("built_at", result.built_at);
  write("built_on", result.built_on);
  return json_line(row);
}

// A row that lost bytes because the file was truncated counts as missing, so it is made again.
std::optional<ActionResult> decode_result(const Digest& key, const std::string& text) {
  try {
    auto result = decode_row(key, json_or_null(text));
    const bool are_outputs =
        std::all_of(result.links.begin(), result.links.end(),
                    [&](const OutputLink& link) { return link.output < result.outputs.size(); });
    if (!are_outputs) return std::nullopt;
    return result;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

const char* ActionTable::schema() {
  return "CREATE TABLE action (key TEXT PRIMARY KEY, result TEXT NOT NULL) WITHOUT ROWID;"
         "CREATE TABLE discovered (declared_key TEXT PRIMARY KEY, paths TEXT NOT NULL) WITHOUT "
         "ROWID;";
}

Result<ActionTable> ActionTable::open(Database& database) {
  TRY_ASSIGN(auto find, database.prepare("SELECT result FROM action WHERE key = ?"));
  TRY_ASSIGN(auto discovered,
             database.prepare("SELECT paths FROM discovered WHERE declared_key = ?"));
  TRY_ASSIGN(auto put, database.prepare("INSERT OR REPLACE INTO action VALUES (?, ?)"));
  TRY_ASSIGN(auto put_discovered,
             database.prepare("INSERT OR REPLACE INTO discovered VALUES (?, ?)"));
  TRY_ASSIGN(auto drop_discovered,
             database.prepare("DELETE FROM discovered WHERE declared_key = ?"));
  TRY_ASSIGN(auto drop, database.prepare("DELETE FROM action WHERE key = ?"));
  TRY_ASSIGN(auto all, database.prepare("SELECT key, result FROM action"));
  return ActionTable(std::move(find), std::move(discovered), std::move(put),
                     std::move(put_discovered), std::move(drop_discovered), std::move(drop),
                     std::move(all));
}

Result<std::optional<ActionResult>> ActionTable::find(const Digest& key) {
  auto row = find_.bind(1, key).step();
  std::string text = row && *row ? find_.text(0) : "";
  find_.reset();
  if (!row) return std::move(row).error();
  if (!*row) return std::optional<ActionResult>{};
  return decode_result(key, text);
}

Status ActionTable::for_each(const std::function<Status(const ActionResult&)>& visit) {
  Result<bool> row = all_.step();
  Status status;
  for (; status && row && *row; row = all_.step()) {
    const auto key = Digest::from_hex(all_.text(0));
    auto result = key ? decode_result(*key, all_.text(1)) : std::nullopt;
    if (result) status = visit(*result);
  }
  all_.reset();
  if (!row) return std::move(row).error();
  return status;
}

Result<std::vector<std::string>> ActionTable::discovered(const Digest& declared_key) {
  auto row = discovered_.bind(1, declared_key).step();
  std::string text = row && *row ? discovered_.text(0) : "";
  discovered_.reset();
  if (!row) return std::move(row).error();
  std::vector<std::string> out;
  auto paths = json_or_null(text);
  if (!paths.is_array()) return out;
  for (const json& path : paths) {
    if (path.is_string()) out.push_back(path.get<std::string>());
  }
  return out;
}

Status ActionTable::put(const ActionResult& result) {
  // The discovered paths are written last, so that a process that sees them also finds the result.
  auto status = put_.bind(1, result.key).bind(2, encode_result(result)).run();
  // Only the last run under a declared key counts. This run has a key of its own, so an older
  // result under the declared key is dropped.
  if (status && result.key != result.declared_key) {
    status = drop_.bind(1, result.declared_key).run();
  }
  if (!status) return status;
  if (result.discovered.empty()) return drop_discovered_.bind(1, result.declared_key).run();
  return put_discovered_.bind(1, result.declared_key)
      .bind(2, json_line(json(result.discovered)))
      .run();
}

}  // namespace evolve::cache
