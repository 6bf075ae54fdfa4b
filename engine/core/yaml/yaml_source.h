// YAML text as a tree with positions, and a typed reader of it whose errors name the line, show it
// with a caret, and offer the nearest known key. The only code that includes yaml-cpp. Parses text,
// never files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "engine/core/result.h"

namespace evolve {

// Where something stands in a text. Both count from 1; columns are bytes.
struct Position {
  int line = 1;
  int column = 1;
};

struct YamlEntry;

// A node of the tree. Aliases and merge keys ("<<") are resolved: the tree holds copies.
struct YamlNode {
  enum class Kind { null, scalar, list, map };
  Kind kind = Kind::null;
  Position at;
  std::string text;                // of a scalar
  bool is_quoted = false;          // it is a text, whatever it looks like
  std::vector<YamlNode> items;     // of a list
  std::vector<YamlEntry> entries;  // of a map, in the order of the text; keys are unique

  // The value of a map's key, or null.
  [[nodiscard]] const YamlNode* find(std::string_view key) const;
};

struct YamlEntry {
  std::string key;
  Position at;  // of the key
  YamlNode value;
};

// A parsed text. Copies what it needs.
class YamlSource {
 public:
  // Parses one document. Bad input: broken YAML, no document, a second one, a duplicate key, a key
  // that is no scalar, more than 100 levels or 100000 nodes (aliases of aliases). `path` is for
  // messages.
  static Result<YamlSource> parse(std::string_view text, const std::string& path);

  [[nodiscard]] const YamlNode& root() const { return root_; }
  // "path:line:column: what", with the line and a caret as its detail. Cut to 72 columns around the
  // caret.
  [[nodiscard]] Error error_at(Position at, const std::string& what) const;
  // "path:line:column: what", for a notice.
  [[nodiscard]] std::string notice_at(Position at, const std::string& what) const;

 private:
  // Where a tab stands in the indentation of a line, from 0; npos where none does.
  [[nodiscard]] size_t indenting_tab(int line) const;

  std::string path_;
  std::vector<std::string> lines_;
  YamlNode root_;
};

// Collects what is wrong in a text and keeps one: the topmost; a missing key only where nothing
// else is wrong, for a missing key is often a mistyped one.
class YamlErrors {
 public:
  explicit YamlErrors(const YamlSource& source) : source_(source) {}

  void add(Position at, const std::string& what) { keep({false, at.line, at.column}, what); }
  void add_missing(Position at, const std::string& what) { keep({true, at.line, at.column}, what); }
  [[nodiscard]] Status status() const;
  [[nodiscard]] const YamlSource& source() const { return source_; }

 private:
  using Rank = std::tuple<bool, int, int>;
  void keep(Rank rank, const std::string& what);

  const YamlSource& source_;
  std::optional<std::pair<Rank, std::string>> first_;
};

enum class Need { optional, required };

// Reads the entries of one map. Each call names a key, which is then known; finish() reports all
// others. A value of the wrong kind is reported to the YamlErrors and leaves the variable as it
// was.
class YamlMap {
 public:
  // `name` says in messages which map it is ("kernel"); empty for the whole text. A `node` that is
  // null or an empty value reads as a map without entries; `at` is then where a missing key is
  // reported.
  YamlMap(YamlErrors& errors, const YamlNode* node, std::string name, Position at = {});

  [[nodiscard]] bool has(std::string_view key) const;
  // Where a key stands; the map's own position where it has none.
  [[nodiscard]] Position key_at(std::string_view key) const;
  // Where a key's value stands; the key's where there is none.
  [[nodiscard]] Position value_at(std::string_view key) const;

  // Any scalar, as its text; not empty where required.
  void text(std::string_view key, std::string& out, Need need = Need::optional);
  // A text out of `allowed`.
  void choice(std::string_view key, std::string& out, const std::vector<std::string>& allowed);
  // A whole number ("8", "8.0", "0x10"), quoted or not.
  void whole(std::string_view key, int64_t& out, int64_t min, int64_t max,
             Need need = Need::optional);
  void whole(std::string_view key, int& out, int min, int max, Need need = Need::optional);
  // A finite number of at least `min`; "1e-2" is one, which YAML 1.1 calls a text.
  void number(std::string_view key, double& out, double min, Need need = Need::optional);
  void texts(std::string_view key, std::vector<std::string>& out, Need need = Need::optional);
  void wholes(std::string_view key, std::vector<int64_t>& out, Need need = Need::optional);

  // The node of a key for the caller to read, or null.
  const YamlNode* map(std::string_view key, Need need = Need::optional);
  const YamlNode* list(std::string_view key, Need need = Need::optional);
  // A map to be read by a YamlMap of its own, which names itself `key` with this map's name before
  // it.
  YamlMap section(std::string_view key, Need need = Need::optional);
  // Makes a key known without reading it.
  void accept(std::string_view key) { known_.emplace_back(key); }

  // Reports the keys that no call named.
  void finish();
  [[nodiscard]] YamlErrors& errors() const { return errors_; }
  // "kernel.name", for messages.
  [[nodiscard]] std::string full_name(std::string_view key) const;

 private:
  const YamlNode* value(std::string_view key, Need need);
  const YamlNode* scalar(std::string_view key, Need need, const char* expected);
  void expected(std::string_view key, const YamlNode& got, const std::string& what);
  template <typename Value, typename Read>
  void list_of(std::string_view key, std::vector<Value>& out, Need need, const char* expected_kind,
               Read read);

  YamlErrors& errors_;
  const YamlNode* node_;
  std::string name_;
  Position at_;
  std::vector<std::string> known_;
};

// A whole number's value: "8", "-8", "8.0", "1e3", "0x10"; nothing where the text is none.
std::optional<int64_t> parse_whole(std::string_view text);
// A finite number's value; nothing where the text is none.
std::optional<double> parse_number(std::string_view text);

// "'abc'", "a list", "a map" or "nothing": what stands there, for messages.
std::string describe(const YamlNode& node);

}  // namespace evolve
