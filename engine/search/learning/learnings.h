// Learnings of campaigns, as people keep them: failure and success patterns in one Markdown file,
// in the form of Glaucis' AGENT.md. Pure. The format is in engine/search/README.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/search/variant.h"

namespace evolve::search {

enum class LearningKind { failure, success };

// A bullet "- **Name**: text". All other text is a field without a name.
struct LearningField {
  std::string name;
  std::string text;  // further lines as they are in the file
  bool operator==(const LearningField&) const = default;
};

// A variant that shows a learning, and a link to the variant, which may be empty.
struct Evidence {
  VariantId variant;
  std::string link;
  bool operator==(const Evidence&) const = default;
};

struct Learning {
  std::string id = {};  // as written: "F001", "FP12-gmm"; empty: no id
  LearningKind kind = LearningKind::failure;
  std::string title;
  std::vector<LearningField> fields = {};
  std::vector<Evidence> evidence = {};
  bool is_rejected = false;  // a person rejected it, so it must not come back

  // Returns the text of the first field with this name. Empty: no field has this name.
  [[nodiscard]] std::string_view field(std::string_view name) const;
  bool operator==(const Learning&) const = default;
};

struct Learnings {
  std::string title = "Learnings";
  std::string introduction = {};  // all text outside of entries, as it is
  // Failures, then successes, then rejected entries, each in the order of the file.
  std::vector<Learning> entries = {};
  bool operator==(const Learnings&) const = default;
};

// Parses any text. Text outside of entries is introduction. An entry begins with a heading of any
// level. Either the heading has an id ("[F001] title", "FP1: title", "[SO11-gmm] title"), whose
// letter gives the entry's kind, or the section gives the kind.
Learnings parse_learnings(std::string_view text);

// Writes learnings in the documented form. Learnings that parse_learnings() returned stay the same
// if they are written and parsed again.
std::string write_learnings(const Learnings& learnings);

// Returns a person's file with one more entry at the end of the entry's section. All other bytes of
// the file stay the same.
std::string with_learning(std::string_view text, const Learning& learning);

// Returns an id for a new entry. The id has the smallest number that no other id of this kind has,
// whatever the spelling: "F002" if "FP1" is taken.
std::string free_id(const std::vector<Learning>& entries, LearningKind kind);

}  // namespace evolve::search
