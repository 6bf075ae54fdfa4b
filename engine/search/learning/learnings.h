// What campaigns learn, as people keep it: failure and success patterns in one Markdown file, in
// the form of Glaucis' AGENT.md. Pure. The format is in engine/search/README.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace evolve::search {

enum class LearningKind { failure, success };

// A bullet "- **Name**: text". Text that is no such bullet is a field without a name.
struct LearningField {
  std::string name;
  std::string text;  // further lines as they are in the file
  bool operator==(const LearningField&) const = default;
};

// A variant that shows it, and where it lies; `link` may be empty.
struct Evidence {
  std::string variant;
  std::string link;
  bool operator==(const Evidence&) const = default;
};

struct Learning {
  std::string id;  // as written: "F001", "FP12-gmm"; empty: it has none
  LearningKind kind = LearningKind::failure;
  std::string title;
  std::vector<LearningField> fields = {};
  std::vector<Evidence> evidence = {};
  bool is_rejected = false;  // a person turned it down: it is not to come back

  // The text of the first field that is called so; empty: there is none.
  [[nodiscard]] std::string_view field(std::string_view name) const;
  bool operator==(const Learning&) const = default;
};

struct Learnings {
  std::string title = "Learnings";
  std::string introduction = {};  // all text that is of no entry, as it is
  // Failures, successes, and what was turned down, each in the order of the file.
  std::vector<Learning> entries = {};
  bool operator==(const Learnings&) const = default;
};

// Any text is some learnings: what is no entry is introduction. An entry is a heading of any level
// with an id ("[F001] title", "FP1: title", "[SO11-gmm] title"), whose letter says its kind; or one
// without, in a section that says it.
Learnings parse_learnings(std::string_view text);

// In the documented form. parse_learnings gives back what is written here, of all that it gave.
std::string write_learnings(const Learnings& learnings);

// A person's file with one more entry at the end of the section where it belongs; every byte that
// was there stays.
std::string with_learning(std::string_view text, const Learning& learning);

// The next number of a kind that no id has, whatever the spelling: "F056" where there is "FP55".
std::string free_id(const std::vector<Learning>& entries, LearningKind kind);

}  // namespace evolve::search
