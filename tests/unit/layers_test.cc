// The arrows of the design, held against the includes: core ◄ search, ir ◄ build ◄ world, cache ◄
// cli; and each third-party header behind one library.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace {

namespace fs = std::filesystem;

// The folder that a source file belongs to: "engine/core", "engine", "cache".
std::string room_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

const std::map<std::string, std::set<std::string>>& allowed() {
  static const std::map<std::string, std::set<std::string>> rooms = {
      {"engine/core", {}},
      {"engine/search", {"engine/core"}},
      {"engine/llm", {"engine/core", "engine/search"}},
      {"engine/ir", {"engine/core"}},
      {"engine", {"engine/core"}},
      {"engine/ninja", {"engine/core", "engine"}},
      {"engine/world", {"engine/core", "engine"}},
      {"cache", {"engine/core"}},
      {"k8s", {"engine/core"}},
      {"engine/steps", {"engine/core", "engine/search", "engine/llm", "engine/ir", "engine/world"}},
      {"engine/cli",
       {"engine/core", "engine", "engine/ir", "engine/search", "engine/llm", "engine/ninja",
        "engine/world", "cache", "k8s"}},
  };
  return rooms;
}

// Third-party headers that one library alone may include. fmt and nlohmann/json are the common
// words of all.
const std::map<std::string, std::set<std::string>>& owners() {
  static const std::map<std::string, std::set<std::string>> rooms = {
      {"yaml-cpp/", {"engine/core"}},  {"muParser.h", {"engine/core"}},
      {"xxhash.h", {"engine/core"}},   {"sqlite3.h", {"cache"}},
      {"archive.h", {"engine/world"}}, {"archive_entry.h", {"engine/world"}},
      {"openssl/", {"engine/core"}},   {"CLI/", {"engine/cli", "engine/steps"}},
      {"curl/", {"engine/world"}},     {"httplib.h", {"engine/ninja"}},
      {"protozero/", {"cache"}},       {"simdjson.h", {"engine/search"}},
  };
  return rooms;
}

struct Include {
  std::string file;
  std::string target;
  bool is_own;  // in quotes
};

std::vector<Include> all_includes() {
  std::vector<Include> out;
  for (const char* top : {"engine", "cache", "k8s"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(EVOLVE_SOURCE) / top)) {
      std::string ending = entry.path().extension().string();
      if (ending != ".cc" && ending != ".h") continue;
      std::ifstream file(entry.path());
      for (std::string line; std::getline(file, line);) {
        if (!line.starts_with("#include ")) continue;
        std::string target = line.substr(10, line.find_last_of("\">") - 10);
        out.push_back(
            {entry.path().lexically_relative(EVOLVE_SOURCE).string(), target, line[9] == '"'});
      }
    }
  }
  return out;
}

}  // namespace

TEST_CASE("includes follow the arrows of the design") {
  auto includes = all_includes();
  REQUIRE(includes.size() > 200);
  for (const Include& one : includes) {
    std::string room = room_of(one.file);
    INFO(one.file << " includes " << one.target);
    REQUIRE(allowed().contains(room));
    if (!one.is_own) continue;
    std::string target = room_of(one.target);
    bool is_allowed = target == room || allowed().at(room).contains(target);
    CHECK(is_allowed);
  }
}

TEST_CASE("each third-party header is behind its owner") {
  for (const Include& one : all_includes()) {
    if (one.is_own) continue;
    for (const auto& [header, rooms] : owners()) {
      bool is_it = header.ends_with('/') ? one.target.starts_with(header) : one.target == header;
      INFO(one.file << " includes " << one.target);
      if (is_it) CHECK(rooms.contains(room_of(one.file)));
    }
  }
}

TEST_CASE("what others wrote is parsed in one place, and printed in one place") {
  const std::map<std::string, std::string> owners = {
      {"json::parse(", "engine/core/outside_json.cc"},
      {"Json::parse(", "engine/core/outside_json.cc"},
      {"fmt::print(", "engine/cli/output.cc"},
      {"std::fputs(", "engine/cli/output.cc"},
      {"std::cout", "engine/cli/output.cc"}};
  // These answer as Ninja does, to the byte; a step's words are told by evolve; and this is a file.
  const std::set<std::string> others = {"engine/ninja", "engine/steps"};
  for (const char* top : {"engine", "cache", "k8s"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(EVOLVE_SOURCE) / top)) {
      const std::string path = entry.path().lexically_relative(EVOLVE_SOURCE).string();
      if (entry.path().extension() != ".cc" && entry.path().extension() != ".h") continue;
      std::ifstream file(entry.path());
      for (std::string line; std::getline(file, line);) {
        for (const auto& [word, owner] : owners) {
          const bool is_parse = word.ends_with("parse(");
          if (!is_parse && others.contains(room_of(path))) continue;
          if (word == "std::fputs(" && line.find("file.get()") != std::string::npos) continue;
          INFO(path << ": " << line);
          CHECK((line.find(word) == std::string::npos || path == owner));
        }
      }
    }
  }
}

TEST_CASE("no source file is long") {
  constexpr int kMostLines = 600;
  for (const char* top : {"engine", "cache", "k8s", "tests", "rules"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(EVOLVE_SOURCE) / top)) {
      std::string ending = entry.path().extension().string();
      if (ending != ".cc" && ending != ".h" && ending != ".py") continue;
      std::ifstream file(entry.path());
      int lines = 0;
      for (std::string line; std::getline(file, line);) ++lines;
      INFO(entry.path());
      CHECK(lines <= kMostLines);
    }
  }
}
