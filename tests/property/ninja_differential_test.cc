// Differential tests of `evolve ninja` and stock ninja. Their manifests are drawn from a grammar,
// and some are broken. Both programs must print the same text and the same errors with their
// carets, and have the same exit codes.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "engine/search/space/random.h"
#include "tests/catch.h"
#include "tests/test_folder.h"

namespace {

namespace fs = std::filesystem;
using evolve::search::Random;
using evolve::tests::TestFolder;

// A grammar of manifests, which mixes all features that Ninja's manual describes.
class Grammar {
 public:
  explicit Grammar(Random& random) : random_(random) {}

  std::string manifest(int depth = 0) {
    std::string out;
    if (depth == 0) out += "rule r0\n  command = run $in -o $out ${flags} $v0\n";
    for (uint64_t count = 2 + random_.below(8); count > 0; --count) out += statement(depth);
    if (depth == 0 && chance(4) && !outputs_.empty()) out += "default " + pick(outputs_) + "\n";
    return out;
  }
  [[nodiscard]] const std::vector<std::string>& outputs() const { return outputs_; }
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& files() const {
    return files_;
  }
  std::string target() {
    if (outputs_.empty() || chance(12)) return "nope";
    std::string name = chance(6) ? fmt::format("src{}", random_.below(6)) : pick(outputs_);
    if (chance(10)) name += "^";
    if (chance(20)) name += "x";
    if (chance(20)) name = "./" + name;
    return name;
  }

 private:
  bool chance(uint64_t one_in) { return random_.below(one_in) == 0; }
  template <typename T>
  T pick(const std::vector<T>& from) {
    return from[random_.below(from.size())];
  }
  std::string text() {
    static const std::vector<std::string> pieces = {
        "a",   "b c", "$$", "$v0", "${v1}", "x$ y", "$\n   ", "--o=$v2",
        "'q'", "$:",  "\"", "#no", "|",     "é",    "${v.3}"};
    std::string out;
    for (uint64_t count = 1 + random_.below(4); count > 0; --count) out += pick(pieces);
    return out;
  }
  std::string source() {
    static const std::vector<std::string> odd = {"./src0",    "d//src1", "d/../src2", "it's",
                                                 "sp$ ace",   "c$:l",    "$v0.x",     "${v1}/y",
                                                 "../up/src", "/abs/s",  "a@b=c%d"};
    if (!outputs_.empty() && chance(2)) return pick(outputs_);
    return chance(5) ? pick(odd) : fmt::format("src{}", random_.below(6));
  }
  std::string sources(uint64_t most) {
    std::string out;
    for (uint64_t count = random_.below(most + 1); count > 0; --count) out += " " + source();
    return out;
  }
  std::string statement(int depth) {
    switch (random_.below(depth < 2 ? 12 : 10)) {
      case 0: return fmt::format("v{} = {}\n", random_.below(4), text());
      case 1: return rule();
      case 2: return pool();
      case 3: return "# a comment: build x\n\n";
      case 10:
      case 11: return include(depth);
      default: return build();
    }
  }
  std::string rule() {
    std::string name = fmt::format("r{}", 1 + rules_++);
    std::string out = fmt::format("rule {}\n  command = {} $in > $out\n", name, text());
    if (chance(3)) out += "  description = " + text() + "\n";
    if (chance(4)) out += "  depfile = $out.d\n  deps = gcc\n";
    if (chance(5)) out += "  rspfile = $out.rsp\n  rspfile_content = $in_newline\n";
    if (chance(6)) out += "  restat = 1\n  generator = 1\n";
    if (chance(6) && pools_ > 0) out += fmt::format("  pool = p{}\n", random_.below(pools_));
    return out;
  }
  std::string pool() { return fmt::format("pool p{}\n  depth = {}\n", pools_++, random_.below(5)); }
  std::string include(int depth) {
    std::string name = fmt::format("part{}.ninja", files_.size());
    files_.emplace_back(name, "");
    size_t at = files_.size() - 1;
    std::string content = manifest(depth + 1);
    files_[at].second = content;
    return fmt::format("{} {}\n", chance(2) ? "include" : "subninja", name);
  }
  std::string build() {
    std::string first = fmt::format("out{}", count_++);
    if (chance(8)) first = "d/" + first;
    std::string out = "build " + first;
    std::vector<std::string> made = {first};
    if (chance(5)) made.push_back(fmt::format("out{}", count_++));
    if (made.size() == 2) out += (chance(2) ? " | " : " ") + made[1];
    out += chance(6) ? ": phony" : fmt::format(": r{}", random_.below(rules_ + 1));
    out += sources(3);
    if (chance(3)) out += " |" + sources(2);
    if (chance(3)) out += " ||" + sources(2);
    if (chance(6)) out += " |@" + sources(1);
    out += "\n";
    while (chance(3)) out += fmt::format("  v{} = {}\n", random_.below(4), text());
    if (chance(4)) out += "  flags = " + text() + "\n";
    outputs_.insert(outputs_.end(), made.begin(), made.end());
    return out;
  }

  Random& random_;
  std::vector<std::string> outputs_;
  std::vector<std::pair<std::string, std::string>> files_;
  uint64_t rules_ = 0, pools_ = 0, count_ = 0;
};

// Makes a small mistake somewhere in the text.
std::string broken(std::string text, Random& random) {
  static const std::vector<std::string> odd = {":", "|",  "||", "$", "\t", "=",      "  ", "\n",
                                               "#", "|@", "${", "%", "&",  "build ", " "};
  size_t at = random.below(text.size());
  switch (random.below(4)) {
    case 0: return text.erase(at, 1 + random.below(3));
    case 1: return text.insert(at, odd[random.below(odd.size())]);
    case 2: return text.substr(0, at);
    default: return text.insert(at, text.substr(random.below(text.size()), random.below(12)));
  }
}

// Returns stdout and stderr together, then the exit code.
std::string answer(const std::string& program, const TestFolder& folder,
                   const std::string& arguments) {
  std::string command =
      fmt::format("cd {} && {} {} 2>&1; echo \"exit $?\"", folder.path(), program, arguments);
  std::FILE* pipe = ::popen(command.c_str(), "r");
  std::string out;
  std::array<char, 4096> buffer;
  size_t count = 0;
  while ((count = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0) {
    out.append(buffer.data(), count);
  }
  ::pclose(pipe);
  return out;
}

std::string stock() {
  return EVOLVE_SOURCE "/.venv/bin/ninja";
}
std::string ours() {
  const char* path = std::getenv("EVOLVE");
  return fmt::format("{} ninja", path != nullptr ? path : EVOLVE_BUILD "/evolve");
}

}  // namespace

TEST_CASE("stock ninja and evolve answer alike", "[ninja]") {
  REQUIRE(fs::exists(stock()));
  int failures = 0;
  // CI, which sets THOROUGH, has the time for more manifests.
  const uint64_t manifests = std::getenv("THOROUGH") != nullptr ? 1500 : 300;
  for (uint64_t seed = 0; seed < manifests && failures < 3; ++seed) {
    Random random(seed, 7);
    Grammar grammar(random);
    TestFolder folder;
    std::string text = grammar.manifest();
    if (random.below(3) == 0) text = broken(text, random);
    folder.write("build.ninja", text);
    for (const auto& [name, content] : grammar.files()) folder.write(name, content);
    const std::vector<std::string> questions = {
        "-t targets all",
        "-t targets depth 0",
        "-t targets rule",
        "-t targets rule r0",
        "-t commands",
        fmt::format("-t commands -s '{}'", grammar.target()),
        fmt::format("-t query '{}'", grammar.target()),
        fmt::format("-t inputs '{}' '{}'", grammar.target(), grammar.target()),
        fmt::format("-t inputs -d -E '{}'", grammar.target()),
        fmt::format("-t multi-inputs -d: '{}' '{}'", grammar.target(), grammar.target()),
        "-t rules -d",
        "-n -v -t clean",
    };
    for (int i = 0; i < 2; ++i) {
      const std::string& question = questions[random.below(questions.size())];
      std::string theirs = answer(stock(), folder, question);
      std::string mine = answer(ours(), folder, question);
      // Ninja 1.14 takes only a whole number as a pool's depth; 1.13 reads anything else as 0.
      bool is_newer = mine.find("invalid pool depth") != std::string::npos;
      if (theirs == mine || is_newer) continue;
      ++failures;
      INFO("seed " << seed << ": ninja " << question << "\n" << text);
      for (const auto& [name, content] : grammar.files()) UNSCOPED_INFO(name << ":\n" << content);
      CHECK(mine == theirs);
    }
  }
}

namespace {

// A project whose commands write what they read. It has discovered inputs, response files, outputs
// that do not change, and phony edges.
class Project {
 public:
  explicit Project(Random& random) : random_(random) {
    for (int i = 0; i < kSources; ++i) files_.push_back(fmt::format("src{}", i));
    text_ =
        "rule cat\n  command = cat $in > $out\n"
        "rule first\n  command = head -c 1 $in > $out\n  restat = 1\n"
        "rule gcc\n  command = cat $in $more > $out && echo $out: $more > $out.d\n"
        "  depfile = $out.d\n  deps = gcc\n"
        "rule make\n  command = cat $in $more > $out && echo $out: $more > $out.d\n"
        "  depfile = $out.d\n"
        "rule list\n  command = cat $out.rsp > $out\n  rspfile = $out.rsp\n"
        "  rspfile_content = $in\n"
        "rule two\n  command = cat $in > $out && cat $in $in > $second\n";
    for (uint64_t count = 3 + random_.below(12); count > 0; --count) add_edge();
  }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::vector<std::string>& outputs() const { return outputs_; }
  static constexpr int kSources = 4;

 private:
  std::string input() { return files_[random_.below(files_.size())]; }

  void add_edge() {
    const std::string out = fmt::format("out{}", outputs_.size());
    std::string inputs = input();
    while (random_.below(3) == 0) inputs += " " + input();
    std::string more = random_.below(4) == 0 ? " | " + input() : "";
    if (random_.below(4) == 0) more += " || " + input();
    switch (random_.below(7)) {
      case 0: text_ += fmt::format("build {}: first {}{}\n", out, inputs, more); break;
      case 1:
      case 2: {
        // The header is a discovered input that no edge makes.
        const char* rule = random_.below(2) == 0 ? "gcc" : "make";
        text_ += fmt::format("build {}: {} {}{}\n  more = src{}\n", out, rule, inputs, more,
                             random_.below(kSources));
        break;
      }
      case 3: text_ += fmt::format("build {}: list {}{}\n", out, inputs, more); break;
      case 4:
        text_ += fmt::format("build {} | {}.2: two {}{}\n  second = {}.2\n", out, out, inputs, more,
                             out);
        files_.push_back(out + ".2");
        break;
      case 5:
        text_ += fmt::format("build alias{}: phony {}\nbuild {}: cat {} || alias{}\n",
                             outputs_.size(), input(), out, inputs, outputs_.size());
        break;
      default: text_ += fmt::format("build {}: cat {}{}\n", out, inputs, more); break;
    }
    outputs_.push_back(out);
    files_.push_back(out);
  }

  Random& random_;
  std::string text_;
  std::vector<std::string> files_;
  std::vector<std::string> outputs_;
};

std::string content(const std::string& path) {
  std::ifstream file(path);
  if (!file) return "(missing)";
  return {std::istreambuf_iterator<char>(file), {}};
}

// Returns the commands that ran, without an order. For example, the command of "[2/7] cat a > b" is
// "cat a > b".
std::multiset<std::string> commands_run(const std::string& said) {
  std::multiset<std::string> out;
  std::istringstream lines(said);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('[')) out.insert(line.substr(line.find("] ") + 2));
  }
  return out;
}

// Waits for the next step of the kernel's clock, which gives files their times. A file that is
// written from now on is newer than all files that were written before.
void wait_for_next_step(const TestFolder& folder) {
  auto step = [&] {
    folder.write("clock", "");
    return fs::last_write_time(folder.path() + "/clock");
  };
  const auto before = step();
  while (step() <= before) {
  }
}

}  // namespace

TEST_CASE("stock ninja and evolve build alike", "[ninja]") {
  const uint64_t projects = std::getenv("THOROUGH") != nullptr ? 60 : 20;
  for (uint64_t seed = 0; seed < projects; ++seed) {
    Random random(seed, 8);
    Project project(random);
    TestFolder theirs, mine, by_times;
    auto write = [&](const std::string& name, const std::string& text) {
      theirs.write(name, text);
      mine.write(name, text);
      by_times.write(name, text);
    };
    write("build.ninja", project.text());
    for (int i = 0; i < Project::kSources; ++i)
      write(fmt::format("src{}", i), fmt::format("{}\n", i));
    for (int round = 0; round < 4; ++round) {
      INFO("seed " << seed << " round " << round << "\n" << project.text());
      const std::string options = fmt::format("-j{}", 1 + random.below(4));
      std::string stock_says = answer(stock(), theirs, options);
      std::string we_say = answer(ours(), mine, options);
      // Chance decides which program builds by times, because both programs keep the same logs.
      const bool is_ours = random.below(4) != 0;
      std::string times_say = is_ours ? answer(ours(), by_times, "--mtime " + options)
                                      : answer(stock(), by_times, options);
      INFO(stock_says << "---\n" << we_say << "---\n" << times_say);
      CHECK(commands_run(times_say) == commands_run(stock_says));
      REQUIRE(stock_says.ends_with("exit 0\n"));
      REQUIRE(we_say.ends_with("exit 0\n"));
      for (const std::string& output : project.outputs()) {
        CHECK(content(mine.path() + "/" + output) == content(theirs.path() + "/" + output));
      }
      CHECK(answer(ours(), mine, options) == "ninja: no work to do.\nexit 0\n");
      for (const std::string& program : {ours() + " --mtime", stock()}) {
        INFO(program << (is_ours ? " after ours" : " after stock"));
        CHECK(answer(program, by_times, options) == "ninja: no work to do.\nexit 0\n");
      }
      // Writes new or old content to a source, and sometimes removes an output.
      wait_for_next_step(theirs);
      const std::string source = fmt::format("src{}", random.below(Project::kSources));
      write(source, fmt::format("{}\n", random.below(4)));
      if (random.below(2) == 0) {
        const std::string& lost = project.outputs()[random.below(project.outputs().size())];
        fs::remove(theirs.path() + "/" + lost);
        fs::remove(mine.path() + "/" + lost);
        fs::remove(by_times.path() + "/" + lost);
      }
    }
  }
}
