#include "engine/campaign/generator/step_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string_view>

#include "engine/campaign/generator/step_edge.h"

namespace evolve {

namespace {

// The file that "python rules PACKAGE.MODULE" runs, and that starts the program.
constexpr const char* kStarter = "__main__.py";

// Returns the first word of a text; empty: the text has no word.
std::string first_word(const std::string& text) {
  std::string out;
  std::istringstream(text) >> out;
  return out;
}

// Returns the names in a list such as "a, b as c": "a" and "b".
std::vector<std::string> names_in(std::string list) {
  for (char& c : list) {
    if (c == '(' || c == ')') c = ' ';
  }
  std::vector<std::string> out;
  std::istringstream parts(list);
  for (std::string part; std::getline(parts, part, ',');) {
    if (std::string name = first_word(part); !name.empty()) out.push_back(std::move(name));
  }
  return out;
}

// Returns the dotted names that a text of Python may import as modules. For "from a import b",
// these are "a" and "a.b".
std::vector<std::string> imports_in(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    constexpr std::string_view kFrom = "from ", kImport = "import ", kBetween = " import ";
    line.erase(0, line.find_first_not_of(" \t"));
    if (line.starts_with(kImport)) {
      for (std::string& name : names_in(line.substr(kImport.size())))
        out.push_back(std::move(name));
    }
    if (!line.starts_with(kFrom)) continue;
    const size_t between = line.find(kBetween);
    if (between == std::string::npos) continue;
    const std::string package = first_word(line.substr(kFrom.size()));
    std::string list = line.substr(between + kBetween.size());
    while (list.find('(') != std::string::npos && list.find(')') == std::string::npos &&
           std::getline(lines, line)) {
      list += line;
    }
    out.push_back(package);
    for (const std::string& name : names_in(list))
      out.push_back(fmt::format("{}.{}", package, name));
  }
  return out;
}

class Closure {
 public:
  explicit Closure(const ReadRules& read) : read_(read) {}

  // Adds a file and the files that it imports. Returns whether the file exists.
  bool add(const std::string& file) {
    if (files_.contains(file)) return true;
    if (absent_.contains(file)) return false;
    const auto text = read_(file);
    if (!text) {
      absent_.insert(file);
      return false;
    }
    files_.insert(file);
    for (const std::string& name : imports_in(*text)) add_module(name);
    return true;
  }

  [[nodiscard]] std::vector<std::string> files() const { return {files_.begin(), files_.end()}; }

 private:
  // Adds a module, if it is ours. The names of our modules have the form PACKAGE.MODULE.
  void add_module(const std::string& name) {
    const size_t dot = name.find('.');
    if (!add(name.substr(0, dot) + "/__init__.py") || dot == std::string::npos) return;
    std::string file = name + ".py";
    std::replace(file.begin(), file.end() - 3, '.', '/');
    add(file);
  }

  const ReadRules& read_;
  std::set<std::string> files_;
  std::set<std::string> absent_;
};

}  // namespace

std::vector<std::string> step_sources(const ReadRules& read) {
  Closure closure(read);
  closure.add(kStarter);
  closure.add("steps/__init__.py");
  for (const std::string& step : python_steps()) closure.add("steps/" + step + ".py");
  return closure.files();
}

}  // namespace evolve
