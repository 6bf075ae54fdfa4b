// A benchmark of evolve and stock ninja: load, null build, clean build, restore. Each run is a
// whole process, and the engines take turns. The benchmark prints the best time of the rounds and
// its ratio to the first engine's time. Usage:
//
//   ninja_bench [--edges N] [--rounds N] [SCENARIO…] [-- NAME=PROGRAM…]
//
// Scenarios: load, null, clean, restore (the default: all four), and laid: a null build of outputs
// that no engine made, for hundreds of thousands of edges. Engines: by default each of `ninja`,
// `samu`, `n2` and `evolve` that is installed; the first engine named is the one that the others
// are compared to. The benchmark works in a folder of its own below $TMPDIR and removes the folder.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

struct Engine {
  std::string name;
  std::vector<std::string> command;  // the program and the words before its options
};

struct Measurement {
  double seconds = 0;
  double megabytes = 0;  // the largest resident set
  int status = 0;
};

// Runs a command in a folder and discards its output.
Measurement run(const std::vector<std::string>& command, const fs::path& folder) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  const auto start = std::chrono::steady_clock::now();
  pid_t pid = -1;
  Measurement out;
  const int error = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return {0, 0, 127};
  rusage usage = {};
  wait4(pid, &out.status, 0, &usage);
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  out.megabytes = static_cast<double>(usage.ru_maxrss) / 1024;
  return out;
}

void write(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// Writes a project of `edges` copies of small files, each from its own source. If `is_done`, also
// writes empty outputs and a log in which they are up to date. The edges of such a project have
// `generator = 1`, so that no engine compares their commands with the log.
void write_copies(const fs::path& folder, int edges, bool is_done = false) {
  constexpr int kPerFolder = 1000;
  std::string manifest = "rule cp\n  command = cp $in $out\n";
  if (is_done) manifest += "  generator = 1\n";
  std::string log = "# ninja log v5\n";
  for (int i = 0; i < edges; ++i) {
    const std::string part = std::to_string(i / kPerFolder);
    if (i % kPerFolder == 0) {
      fs::create_directories(folder / "in" / part);
      fs::create_directories(folder / "out" / part);
    }
    const std::string name = fmt::format("{}/file{}", part, i);
    write(folder / "in" / name, is_done ? "" : fmt::format("source {}\n", i));
    manifest += fmt::format("build out/{}: cp in/{}\n", name, name);
    if (!is_done) continue;
    const fs::path copy = folder / "out" / name;
    write(copy, "");
    struct stat st = {};
    ::stat(copy.c_str(), &st);
    log += fmt::format("0\t1\t{}{:09}\tout/{}\t0\n", st.st_mtim.tv_sec, st.st_mtim.tv_nsec, name);
  }
  write(folder / "build.ninja", manifest);
  if (is_done) write(folder / ".ninja_log", log);
}

// Writes a manifest as the generators of large projects do, with long command lines, many bindings
// and order-only groups. Each of its files has sixty of the `edges` compilations.
void write_large_manifest(const fs::path& folder, int edges) {
  constexpr int kPerFile = 60;
  std::string root =
      "rule cxx\n  command = clang++ -MMD -MF $out.d $defines $includes $cflags $cflags_cc -c $in "
      "-o "
      "$out\n  description = CXX $out\n  depfile = $out.d\n  deps = gcc\n"
      "rule alink\n  command = rm -f $out && ar rcs $out $in\n  description = AR $out\n"
      "rule stamp\n  command = touch $out\n";
  for (int file = 0; file * kPerFile < edges; ++file) {
    const std::string name = fmt::format("obj/component_{}/target_{}.ninja", file / 20, file);
    root += fmt::format("subninja {}\n", name);
    std::string text = fmt::format(
        "defines = -DCOMPONENT_{0}=1 -DUSE_LIBRARY_{0} -DNDEBUG -D_FORTIFY_SOURCE=2 "
        "-DVERSION=3.{0}\n"
        "includes = -I. -Igen -I../third_party/library_{0}/include -I../component_{0}\n"
        "cflags = -fno-strict-aliasing -Wall -Werror -Wno-unused-parameter -fvisibility=hidden "
        "-O2\n"
        "cflags_cc = -std=c++20 -fno-exceptions -fno-rtti\n",
        file);
    std::string objects;
    for (int i = 0; i < kPerFile; ++i) {
      const std::string stem =
          fmt::format("component_{}/target_{}/source_file_number_{}", file / 20, file, i);
      text += fmt::format("build obj/{0}.o: cxx ../../{0}.cc || obj/target_{1}.inputdeps.stamp\n",
                          stem, file);
      objects += fmt::format(" obj/{}.o", stem);
    }
    text += fmt::format(
        "build obj/target_{0}.inputdeps.stamp: stamp\nbuild obj/target_{0}.a: alink{1}\n", file,
        objects);
    fs::create_directories((folder / name).parent_path());
    write(folder / name, text);
  }
  write(folder / "build.ninja", root);
}

struct Bench {
  std::vector<Engine> engines;
  fs::path folder;
  int rounds = 5;
  int edges = 30000;

  static std::vector<std::string> command(const Engine& engine,
                                          std::vector<std::string> arguments) {
    std::vector<std::string> out = engine.command;
    out.insert(out.end(), arguments.begin(), arguments.end());
    return out;
  }

  // Runs each engine `times` times, in turns and each time after `prepare`. Prints the results.
  void compare(
      const std::string& title, int times, const std::function<fs::path(const Engine&)>& where,
      const std::vector<std::string>& arguments,
      const std::function<void(const Engine&)>& prepare = [](const Engine&) {}) {
    std::map<std::string, Measurement> best;
    for (int round = 0; round < times; ++round) {
      for (const Engine& engine : engines) {
        prepare(engine);
        Measurement one = run(command(engine, arguments), where(engine));
        auto [it, is_first] = best.try_emplace(engine.name, one);
        if (is_first) continue;
        it->second.seconds = std::min(it->second.seconds, one.seconds);
        it->second.megabytes = std::max(it->second.megabytes, one.megabytes);
        it->second.status |= one.status;
      }
    }
    fmt::print("{}\n", title);
    const Measurement& base = best.at(engines.front().name);
    for (const Engine& engine : engines) {
      const Measurement& one = best.at(engine.name);
      if (one.status != 0) {
        fmt::print("  {:<12} cannot do this\n", engine.name);
        continue;
      }
      fmt::print("  {:<12} {:9.3f} s {:8.1f} MB   {:.2f} x\n", engine.name, one.seconds,
                 one.megabytes, one.seconds / base.seconds);
    }
    std::fflush(stdout);
  }

  void load() {
    const fs::path at = folder / "load";
    fs::create_directories(at);
    write_large_manifest(at, 3 * edges);
    compare(fmt::format("load: {} edges, asked for the rules", 3 * edges), rounds,
            [&](const Engine&) { return at; }, {"-t", "rules"});
  }

  // Returns the folder of an engine's copies. No copies are removed before the end, because a file
  // system that has just lost many files is slower at making new ones.
  fs::path copies(const Engine& engine, const char* clone = "a") const {
    return folder / engine.name / clone / "work";
  }

  void make_copies() {
    for (const Engine& engine : engines) {
      if (fs::exists(copies(engine))) continue;
      write_copies(copies(engine), edges);
      run(command(engine, {}), copies(engine));
    }
  }

  void clean() {
    // The other scenarios use the copies that this build makes. If another scenario came first,
    // this build needs a folder of its own.
    const char* clone = fs::exists(copies(engines.front())) ? "clean" : "a";
    for (const Engine& engine : engines) write_copies(copies(engine, clone), edges);
    compare(fmt::format("clean: {} copies of small files", edges), 1,
            [&](const Engine& engine) { return copies(engine, clone); }, {});
  }

  void null() {
    make_copies();
    // The first null build may have more to do than a later one, so it is not timed.
    for (const Engine& engine : engines) run(command(engine, {}), copies(engine));
    compare(fmt::format("null: {} edges, {} files, nothing to do", edges, 2 * edges), rounds,
            [&](const Engine& engine) { return copies(engine); }, {});
  }

  // Times null builds of outputs that no engine made, for more edges than a benchmark can run.
  void laid() {
    auto at = [&](const Engine& engine) { return copies(engine, "laid"); };
    for (const Engine& engine : engines) {
      write_copies(at(engine), edges, true);
      run(command(engine, {}), at(engine));
      run(command(engine, {}), at(engine));
    }
    compare(fmt::format("laid: {} edges, {} files, nothing to do", edges, 2 * edges), rounds, at,
            {});
  }

  void restore() {
    make_copies();
    for (const Engine& engine : engines) write_copies(copies(engine, "b"), edges);
    compare(
        fmt::format("restore: {} outputs, in a second clone; who has no blobs runs its commands",
                    edges),
        1, [&](const Engine& engine) { return copies(engine, "b"); }, {},
        [&](const Engine& engine) {
          ::setenv("EVOLVE_STATE", (copies(engine) / ".evolve").c_str(), 1);
        });
    ::unsetenv("EVOLVE_STATE");
  }
};

std::vector<Engine> usual_engines() {
  std::vector<Engine> out;
  for (const char* name : {"ninja", "samu", "n2"}) {
    for (const char* place : {"/usr/bin/", "/usr/local/bin/"}) {
      if (::access((std::string(place) + name).c_str(), X_OK) == 0)
        out.push_back({name, {std::string(place) + name}});
    }
  }
  const std::string current = std::string(EVOLVE_SOURCE) + "/.venv/bin/ninja";
  if (::access(current.c_str(), X_OK) == 0) out.push_back({"ninja-pypi", {current}});
  out.push_back({"evolve", {std::string(EVOLVE_BUILD) + "/evolve", "ninja"}});
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  // The engines use their own settings, not the caller's.
  for (const char* name : {"EVOLVE_STATE", "EVOLVE_BASE", "NINJA_STATUS", "MAKEFLAGS"})
    ::unsetenv(name);
  Bench bench;
  std::vector<std::string> scenarios;
  bool is_engine = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const size_t equals = word.find('=');
    if (word == "--") {
      is_engine = true;
    } else if (is_engine && equals != std::string::npos) {
      bench.engines.push_back({word.substr(0, equals), {word.substr(equals + 1)}});
      if (word.starts_with("evolve")) bench.engines.back().command.emplace_back("ninja");
    } else if (word == "--edges" && i + 1 < argc) {
      bench.edges = std::atoi(argv[++i]);
    } else if (word == "--rounds" && i + 1 < argc) {
      bench.rounds = std::atoi(argv[++i]);
    } else {
      scenarios.push_back(word);
    }
  }
  if (bench.engines.empty()) bench.engines = usual_engines();
  if (scenarios.empty()) scenarios = {"load", "clean", "null", "restore"};
  std::string pattern = (fs::temp_directory_path() / "evolve-bench-XXXXXX").string();
  bench.folder = ::mkdtemp(pattern.data());
  const std::map<std::string, void (Bench::*)()> all = {{"load", &Bench::load},
                                                        {"clean", &Bench::clean},
                                                        {"null", &Bench::null},
                                                        {"laid", &Bench::laid},
                                                        {"restore", &Bench::restore}};
  int status = 0;
  for (const std::string& scenario : scenarios) {
    auto found = all.find(scenario);
    if (found == all.end()) {
      fmt::print(stderr, "ninja_bench: error: no scenario '{}'\n", scenario);
      status = 2;
      break;
    }
    (bench.*found->second)();
  }
  std::error_code error;
  fs::remove_all(bench.folder, error);
  return status;
}
