// Tests of the names in the code against the table of words in engine/README.md.
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "tests/catch.h"

namespace {

namespace fs = std::filesystem;

std::string text_of_file(const fs::path& path) {
  std::stringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

// Returns the names in the last column of the table of words.
std::set<std::string> given_up_names() {
  const std::string readme = text_of_file(fs::path(EVOLVE_SOURCE) / "engine/README.md");
  const size_t start = readme.find("| word | what it means | given up |");
  REQUIRE(start != std::string::npos);
  std::set<std::string> out;
  std::istringstream lines(readme.substr(start));
  for (std::string line; std::getline(lines, line) && line.starts_with("|");) {
    // The row ends with "|", so the last column begins at the bar before that.
    const std::string last = line.substr(line.rfind('|', line.size() - 2));
    const std::regex name("`(\\w+)`");
    for (std::sregex_iterator it(last.begin(), last.end(), name), end; it != end; ++it)
      out.insert((*it)[1]);
  }
  return out;
}

// Calls `take` with the path, relative to the project's root, and the text of each C++ source.
template <typename Take>
void for_each_source(const Take& take) {
  for (const char* top : {"engine", "cache", "k8s"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(EVOLVE_SOURCE) / top)) {
      const std::string ending = entry.path().extension().string();
      if (ending == ".cc" || ending == ".h")
        take(entry.path().lexically_relative(EVOLVE_SOURCE).string(), text_of_file(entry.path()));
    }
  }
}

}  // namespace

TEST_CASE("a name that was given up does not come back") {
  const std::set<std::string> given_up = given_up_names();
  CHECK(given_up.size() >= 10);
  std::vector<std::string> found;
  for_each_source([&](const std::string& path, const std::string& text) {
    const std::regex word("\\w+");
    for (std::sregex_iterator it(text.begin(), text.end(), word), end; it != end; ++it) {
      if (given_up.contains(it->str())) found.push_back(path + ": " + it->str());
    }
  });
  CHECK(found == std::vector<std::string>());
}

TEST_CASE("two rooms do not give one name to different types") {
  std::map<std::string, std::set<std::string>> places;
  for_each_source([&](const std::string& path, const std::string& text) {
    if (!path.ends_with(".h")) return;
    // Types outside of any class begin their line. A declaration that ends at the name does not
    // define a type.
    const std::regex type(
        "\\n(?:struct|class|enum class) (?:\\[\\[\\w+\\]\\] )?([A-Z]\\w*)(?! *;)\\b[^;\\n]*\\{");
    for (std::sregex_iterator it(text.begin(), text.end(), type), end; it != end; ++it)
      places[(*it)[1]].insert(path);
  });
  CHECK(places.size() > 100);
  std::vector<std::string> found;
  for (const auto& [name, paths] : places) {
    if (paths.size() > 1) found.push_back(name + ": " + *paths.begin() + ", " + *paths.rbegin());
  }
  CHECK(found == std::vector<std::string>());
}
