// YAML text as a tree with positions, and a typed reader of that tree. The reader's errors name the
// line, show it with a caret, and offer the nearest known key. No other code includes yaml-cpp.
// This code parses text, never files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "engine/core/result.h"

namespace evolve {

// A position in a text. Line and column count from 1; columns are bytes.
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
  bool is_quoted = false;          // then the scalar is always a text
  std::vector<YamlNode> items;     // of a list
  std::vector<YamlEntry> entries;  // of a map, in the order of the text; keys are unique

  // Returns the value of a map's key, or null.
  [[nodiscard]] const YamlNode* find(std::string_view key) const;
};

struct YamlEntry {
  std::string key;
  Position at;  // of the key
  YamlNode value;
};

// A parsed text. It does not refer to the original text.
class YamlSource {
 public:
  // Parses one document. Bad input: broken YAML, no document, a second document, a duplicate key, a
  // key that is not a scalar, more than 100 levels or 100000 nodes (aliases of aliases). `path` is
  // for messages.
  static Result<YamlSource> parse(std::string_view text, const std::string& path);

  [[nodiscard]] const YamlNode& root() const { return root_; }
  // Returns the error "path:line:column: what". Its detail is the line with a caret, cut to 72
  // columns around the caret.
  [[nodiscard]] Error error_at(Position at, const std::string& what) const;
  // Returns "path:line:column: what", for a notice.
  [[nodiscard]] std::string notice_at(Position at, const std::string& what) const;

 private:
  // Returns the position of a tab in the indentation of a line, counted from 0; npos: no tab.
  [[nodiscard]] size_t indenting_tab(int line) const;

  std::string path_;
  std::vector<std::string> lines_;
  YamlNode root_;
};

// Collects the errors in a text and keeps one of them: the topmost. A missing key is kept only if
// nothing else is wrong, because a missing key is often a mistyped one.
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
// other keys. A value of the wrong kind is reported to the YamlErrors and leaves the variable
// unchanged.
class YamlMap {
 public:
  // `name` names the map in messages ("kernel"); empty: the map is the whole text. A `node` that is
  // null or an empty value reads as a map without entries. A missing key is reported at `at`.
  YamlMap(YamlErrors& errors, const YamlNode* node, std::string name, Position at = {});

  [[nodiscard]] bool has(std::string_view key) const;
  // Returns the position of a key; for a missing key, the position of the map.
  [[nodiscard]] Position key_at(std::string_view key) const;
  // Returns the position of a key's value; for a missing key the same as key_at().
  [[nodiscard]] Position value_at(std::string_view key) const;

  // Reads any scalar as its text. A required text must not be empty.
  void text(std::string_view key, std::string& out, Need need = Need::optional);
  // Reads a text that must be one of `allowed`.
  void choice(std::string_view key, std::string& out, const std::vector<std::string>& allowed);
  // Reads a whole number ("8", "8.0", "0x10"), quoted or not.
  void whole(std::string_view key, int64_t& out, int64_t min, int64_t max,
             Need need = Need::optional);
  void whole(std::string_view key, int& out, int min, int max, Need need = Need::optional);
  // Reads a finite number of at least `min`. "1e-2" is a number here, although YAML 1.1 reads it as
  // a text.
  void number(std::string_view key, double& out, double min, Need need = Need::optional);
  void texts(std::string_view key, std::vector<std::string>& out, Need need = Need::optional);
  void wholes(std::string_view key, std::vector<int64_t>& out, Need need = Need::optional);

  // Both functions return the node of a key for the caller to read. Null: there is none to read.
  const YamlNode* map(std::string_view key, Need need = Need::optional);
  const YamlNode* list(std::string_view key, Need need = Need::optional);
  // Returns a reader for the map under `key`. Its name is this map's name and `key`.
  YamlMap section(std::string_view key, Need need = Need::optional);
  // Makes a key known without reading it.
  void accept(std::string_view key) { known_.emplace_back(key); }

  // Reports the keys that no call named.
  void finish();
  [[nodiscard]] YamlErrors& errors() const { return errors_; }
  // Returns the name of a key in messages, such as "kernel.name".
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

// Returns the value of a whole number: "8", "-8", "8.0", "1e3", "0x10". Nullopt: the text is not
// a whole number.
std::optional<int64_t> parse_whole(std::string_view text);
// Returns the value of a finite number. Nullopt: the text is not a finite number.
std::optional<double> parse_number(std::string_view text);

// Describes a node for messages: "'abc'", "a list", "a map" or "nothing".
std::string describe(const YamlNode& node);

}  // namespace evolve
