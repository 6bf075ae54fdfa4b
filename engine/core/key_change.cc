#include "engine/core/key_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <string_view>

#include "engine/core/digest.h"
#include "engine/core/text/hunks.h"

namespace evolve {

namespace {

std::string brief_value(const std::string& value) {
  if (auto digest = Digest::from_hex(value)) return digest->brief();
  return value;
}

// Returns the differences of two toolchains: "jax 0.10.1 -> 0.10.2, numpy 2.3.1 is new".
std::string describe_versions(const std::string& before, const std::string& after) {
  const auto old = versions_of(before);
  const auto now = versions_of(after);
  std::vector<std::string> out;
  for (const auto& [name, version] : now) {
    auto its = old.find(name);
    if (its == old.end()) {
      out.push_back(fmt::format("{} {} is new", name, version));
    } else if (its->second != version) {
      out.push_back(fmt::format("{} {} -> {}", name, its->second, version));
    }
  }
  for (const auto& [name, version] : old) {
    if (!now.contains(name)) out.push_back(fmt::format("{} {} is gone", name, version));
  }
  return fmt::format("{}", fmt::join(out, ", "));
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> out;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// Returns the words that differ, each after its option: "--id v0002 -> v0003, --fast is new".
std::string describe_words(std::string_view before, std::string_view after) {
  constexpr size_t kShown = 3;
  const auto old = words_of(before);
  const auto now = words_of(after);
  auto joined = [](const auto& words, size_t begin, size_t end) {
    const auto first = words.begin();
    return fmt::format("{}", fmt::join(first + static_cast<std::ptrdiff_t>(begin),
                                       first + static_cast<std::ptrdiff_t>(end), " "));
  };
  std::vector<std::string> out;
  for (const Hunk& hunk : hunks(old, now)) {
    const std::string its_old = joined(old, hunk.old_begin, hunk.old_end);
    const std::string its_now = joined(now, hunk.begin, hunk.end);
    const bool has_option = hunk.begin > 0 && now[hunk.begin - 1].starts_with('-');
    if (its_old.empty()) {
      out.push_back(its_now + " is new");
    } else if (its_now.empty()) {
      out.push_back(its_old + " is gone");
    } else {
      out.push_back(fmt::format("{}{} -> {}",
                                has_option ? fmt::format("{} ", now[hunk.begin - 1]) : "", its_old,
                                its_now));
    }
  }
  const size_t count = out.size();
  out.resize(std::min(count, kShown));
  return fmt::format("{}{}", fmt::join(out, ", "),
                     count > kShown ? fmt::format(" and {} more", count - kShown) : "");
}

std::string describe_values(const std::string& before, const std::string& after) {
  constexpr size_t kShort = 40;
  if (before.size() <= kShort && after.size() <= kShort) {
    return fmt::format("{} -> {}", brief_value(before), brief_value(after));
  }
  return describe_words(before, after);
}

}  // namespace

std::map<std::string, std::string> versions_of(const std::string& toolchain) {
  std::map<std::string, std::string> out;
  std::istringstream words(toolchain);
  for (std::string word; words >> word;) {
    const size_t dash = std::min(word.rfind('-'), word.size());
    out[word.substr(0, dash)] = dash < word.size() ? word.substr(dash + 1) : "";
  }
  return out;
}

std::vector<KeyChange> changes_between(std::span<const KeyPart> before,
                                       std::span<const KeyPart> after) {
  auto find = [](std::span<const KeyPart> parts, const KeyPart& like) -> const KeyPart* {
    auto it = std::find_if(parts.begin(), parts.end(), [&](const KeyPart& part) {
      return part.tag == like.tag && part.name == like.name;
    });
    return it == parts.end() ? nullptr : &*it;
  };
  std::vector<KeyChange> out;
  for (const KeyPart& part : after) {
    const KeyPart* old = find(before, part);
    if (old != nullptr && old->value == part.value) continue;
    out.push_back({part.tag, part.name, old == nullptr ? std::nullopt : std::optional(old->value),
                   part.value});
  }
  for (const KeyPart& part : before) {
    if (find(after, part) == nullptr) {
      out.push_back({part.tag, part.name, part.value, std::nullopt});
    }
  }
  return out;
}

std::string label_of(const KeyChange& change) {
  return change.name.empty() ? change.tag : fmt::format("{} '{}'", change.tag, change.name);
}

std::string text_of(const KeyChange& change) {
  const std::string label = label_of(change);
  if (!change.before) return label + " is new";
  if (!change.after) return label + " is gone";
  const bool is_toolchain = change.tag == "toolchain";
  return fmt::format("{}: {}", label,
                     is_toolchain ? describe_versions(*change.before, *change.after)
                                  : describe_values(*change.before, *change.after));
}

}  // namespace evolve
