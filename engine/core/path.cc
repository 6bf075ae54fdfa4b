#include "engine/core/path.h"

#include <algorithm>
#include <vector>

#include "engine/core/text/plain_text.h"
#include "engine/core/text/scan.h"

namespace evolve {

bool is_canonical(std::string_view path) {
  if (path.empty()) return true;
  if (path.front() == '.' || path.back() == '/') return false;
  for (size_t slash = path.find('/'); slash != std::string_view::npos;
       slash = path.find('/', slash + 1)) {
    char next = path[slash + 1];  // exists: `path` does not end with a slash
    if (next == '/' || next == '.') return false;
  }
  return true;
}

std::string canonical_path(std::string_view path) {
  if (is_canonical(path)) return std::string(path);
  const bool is_absolute = path.front() == '/';
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    size_t end = std::min(path.find('/'), path.size());
    std::string_view part = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
    if (part.empty() || part == ".") continue;
    if (part == ".." && !parts.empty() && parts.back() != "..") {
      parts.pop_back();
    } else {
      parts.push_back(part);
    }
  }
  std::string out = is_absolute ? "/" : "";
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += '/';
    out += parts[i];
  }
  return out.empty() ? "." : out;
}

std::string folder_of(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return std::string(path.substr(0, std::max<size_t>(slash, 1)));
}

std::string folder_prefix(std::string_view path) {
  return std::string(path.substr(0, path.rfind('/') + 1));
}

bool is_below(std::string_view path) {
  const std::string canonical = canonical_path(path);
  return !canonical.starts_with('/') && canonical != ".." && !canonical.starts_with("../");
}

namespace {

bool is_letter_or_digit(char c) {
  return is_letter(c) || is_digit(c);
}

}  // namespace

bool is_plain_path(std::string_view path) {
  auto is_one = [](char c) {
    return is_letter_or_digit(c) || std::string_view("_-./+,@").find(c) != std::string_view::npos ||
           (c & 0x80) != 0;
  };
  return !path.empty() && path.front() != '-' && std::all_of(path.begin(), path.end(), is_one) &&
         is_plain_line(path);
}

bool is_plain_word(std::string_view text) {
  constexpr std::string_view kMarks = "_-./+,@:";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return is_letter_or_digit(c) || kMarks.find(c) != std::string_view::npos;
  });
}

void append_shell_quoted(std::string_view path, std::string& out) {
  auto is_safe = [](char c) {
    return is_letter_or_digit(c) || c == '_' || c == '+' || c == '-' || c == '.' || c == '/';
  };
  if (std::all_of(path.begin(), path.end(), is_safe)) {
    out += path;
    return;
  }
  out += '\'';
  for (char c : path) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  out += '\'';
}

}  // namespace evolve
