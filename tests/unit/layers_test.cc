// Tests of the includes against the arrows of engine/README.md, and of third-party headers against
// the rooms that own them.
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "tests/catch.h"

namespace {

namespace fs = std::filesystem;

// Returns the folder of a source file, for example "engine/core", "engine" or "cache".
std::string room_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

using Rooms = std::set<std::string>;

// Returns the other rooms that each room may include: the arrows of engine/README.md.
const std::map<std::string, Rooms>& allowed() {
  static const std::map<std::string, Rooms> rooms = [] {
    auto all = [](std::initializer_list<Rooms> parts) {
      Rooms out;
      for (const Rooms& part : parts) out.insert(part.begin(), part.end());
      return out;
    };
    const Rooms core = {"engine/core", "engine/core/text", "engine/core/crypto"};
    const Rooms yaml = {"engine/core/yaml"};
    const Rooms graph = {"engine/graph"};
    const Rooms build = {"engine/build"};
    const Rooms space = {"engine/search", "engine/search/space"};
    const Rooms search = all({space,
                              {"engine/search/proposal", "engine/search/selection",
                               "engine/search/history", "engine/search/learning"}});
    const Rooms campaign = {"engine/campaign", "engine/campaign/generator"};
    const Rooms ir = {"engine/ir", "engine/ir/readers", "engine/ir/model"};
    const Rooms llm = {"engine/llm"};
    const Rooms world = {"engine/world", "engine/world/process"};
    const Rooms pure = all({core, yaml, graph, build, search, campaign, llm, ir});
    const Rooms app = {"engine/app", "engine/app/authors", "engine/app/doctor",
                       "engine/app/elsewhere"};
    std::map<std::string, Rooms> out = {
        {"engine/core/text", {}},
        {"engine/core", {"engine/core/text"}},
        {"engine/core/crypto", {"engine/core"}},
        {"engine/core/yaml", core},
        {"engine/options", core},
        {"engine/graph", core},
        {"engine/build", all({core, graph})},
        {"engine/search", core},
        {"engine/search/space", all({core, {"engine/search"}})},
        {"engine/search/proposal", all({core, space})},
        {"engine/search/selection", all({core, space, {"engine/search/proposal"}})},
        {"engine/search/history", all({core, space, {"engine/search/selection"}})},
        {"engine/search/learning",
         all({core, space, {"engine/search/selection", "engine/search/history"}})},
        {"engine/campaign", all({core, yaml, graph, search})},
        {"engine/campaign/generator", all({core, graph, search, {"engine/campaign"}})},
        {"engine/llm", all({core, search})},
        {"engine/ir/readers", core},
        {"engine/ir/model", all({core, {"engine/ir/readers"}})},
        {"engine/ir", all({core, ir})},
        {"engine/ninja", all({core, graph, build})},
        {"engine/world", core},
        {"engine/world/process", all({core, {"engine/world"}})},
        {"cache", core},
        {"k8s", all({core, graph, yaml})},
        {"engine/steps",
         all({core, graph, search, campaign, llm, ir, {"engine/options", "engine/world"}})},
        {"engine/report", all({core, graph, build, search, ir})},
        {"engine/app", all({pure, world, {"cache"}})},
        {"engine/app/authors", all({pure, world, {"engine/app", "cache"}})},
        {"engine/app/elsewhere", all({pure, world, {"engine/app", "cache", "k8s"}})},
        {"engine/app/doctor",
         all({pure, world, {"engine/app", "engine/app/elsewhere", "cache", "k8s"}})},
        {"engine/replay", all({pure, world, app, {"engine/report", "cache"}})},
        {"k8s/agent", all({pure, world, app, {"engine/report", "cache", "k8s"}})},
        {"engine/cli/ninja", all({pure, world, app, {"engine/ninja", "cache"}})},
        {"engine/cli/kernel",
         all({pure, world, app, {"engine/cli", "engine/replay", "engine/report", "cache"}})},
        {"engine/cli", all({pure,
                            world,
                            app,
                            {"engine/cli/ninja", "engine/ninja", "engine/options", "engine/replay",
                             "engine/report", "cache", "k8s", "k8s/agent"}})},
    };
    return out;
  }();
  return rooms;
}

// Returns the rooms that may include each third-party header. Every room may include fmt and
// nlohmann/json.
const std::map<std::string, Rooms>& owners() {
  static const std::map<std::string, Rooms> rooms = {
      {"yaml-cpp/", {"engine/core/yaml"}},
      {"muParser.h", {"engine/core"}},
      {"xxhash.h", {"engine/core"}},
      {"sqlite3.h", {"cache"}},
      {"archive.h", {"engine/world"}},
      {"archive_entry.h", {"engine/world"}},
      {"openssl/", {"engine/core/crypto"}},
      {"CLI/", {"engine/options"}},
      {"curl/", {"engine/world"}},
      {"httplib.h", {"engine/ninja"}},
      {"protozero/", {"cache"}},
      {"simdjson.h", {"engine/search/history"}},
  };
  return rooms;
}

struct Include {
  std::string file;
  std::string target;
  bool is_own;  // the include is in quotes
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

TEST_CASE("JSON is parsed and written in one place each, and text is printed in one place") {
  const std::map<std::string, std::string> owners = {
      {"json::parse(", "engine/core/outside_json.cc"},
      {"Json::parse(", "engine/core/outside_json.cc"},
      {".dump(", "engine/core/json_text.cc"},
      {"fmt::print(", "engine/report/output.cc"},
      {"std::fputs(", "engine/report/output.cc"},
      {"std::cout", "engine/report/output.cc"}};
  // Two other rooms may print: engine/ninja prints exactly the bytes that Ninja prints, and
  // engine/steps prints the messages of a step. fputs() to a file does not print.
  const std::set<std::string> others = {"engine/ninja", "engine/steps"};
  for (const char* top : {"engine", "cache", "k8s"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(EVOLVE_SOURCE) / top)) {
      const std::string path = entry.path().lexically_relative(EVOLVE_SOURCE).string();
      if (entry.path().extension() != ".cc" && entry.path().extension() != ".h") continue;
      std::ifstream file(entry.path());
      for (std::string line; std::getline(file, line);) {
        for (const auto& [word, owner] : owners) {
          const bool is_json = word.ends_with("parse(") || word == ".dump(";
          if (!is_json && others.contains(room_of(path))) continue;
          if (word == "std::fputs(" && line.find("file.get()") != std::string::npos) continue;
          INFO(path << ": " << line);
          CHECK((line.find(word) == std::string::npos || path == owner));
        }
      }
    }
  }
}

TEST_CASE("no room is large") {
  constexpr int kMostFiles = 35, kMostLines = 5000;
  std::map<std::string, int> files, lines;
  for (const char* top : {"engine", "cache", "k8s"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(EVOLVE_SOURCE) / top)) {
      std::string ending = entry.path().extension().string();
      if (ending != ".cc" && ending != ".h") continue;
      const std::string room = room_of(entry.path().lexically_relative(EVOLVE_SOURCE).string());
      ++files[room];
      std::ifstream file(entry.path());
      for (std::string line; std::getline(file, line);) ++lines[room];
    }
  }
  CHECK(!files.contains("engine"));
  for (const auto& [room, count] : files) {
    INFO(room);
    CHECK(count <= kMostFiles);
    CHECK(lines[room] <= kMostLines);
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
