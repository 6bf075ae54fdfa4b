#include "engine/app/toolchain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <sstream>
#include <vector>

#include "engine/app/machine.h"
#include "engine/core/key_change.h"
#include "engine/world/files.h"

namespace evolve {

namespace {

namespace fs = std::filesystem;

constexpr const char* kHint =
    "pipelines/quickstart.sh creates the environment that the lock file describes";

// The interpreter's name among the packages.
constexpr const char* kInterpreter = "cpython";

// Returns "3.11" for "3.11.2".
std::string series_of(const std::string& version) {
  return version.substr(0, version.find('.', version.find('.') + 1));
}

// Returns a package's name in the form in which names are compared (PEP 503).
std::string normalised(std::string_view name) {
  std::string out;
  for (char c : name) {
    const bool is_separator = c == '-' || c == '_' || c == '.';
    if (!is_separator) {
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!out.ends_with('-')) {
      out += '-';
    }
  }
  return out;
}

struct PythonLock {
  std::string series;                           // "3.11"
  std::map<std::string, std::string> versions;  // by normalised name
};

// Reads the "name==version" lines of a lock file, and the interpreter's series from a comment such
// as "# …, with Python 3.11".
Result<PythonLock> read_python_lock(const std::string& path) {
  TRY_ASSIGN(auto text, world::read_file(path));
  PythonLock lock;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    constexpr std::string_view kSeries = "with Python ";
    size_t series = line.find(kSeries);
    if (line.starts_with('#') && series != std::string::npos) {
      lock.series = line.substr(series + kSeries.size());
    }
    size_t equals = line.find("==");
    bool is_package =
        equals != std::string::npos && !line.starts_with('#') && !line.starts_with(' ');
    if (!is_package) continue;
    std::string version = line.substr(equals + 2);
    lock.versions[normalised(line.substr(0, equals))] =
        version.substr(0, version.find_first_of(" ;\\"));
  }
  return lock;
}

// Returns the version in a virtual environment's pyvenv.cfg, "3.11.2"; empty: the file names no
// version.
std::string python_version(const fs::path& environment) {
  auto text = world::read_file((environment / "pyvenv.cfg").string());
  if (!text) return {};
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    constexpr std::string_view kKey = "version = ";
    if (line.starts_with(kKey)) return line.substr(kKey.size());
  }
  return {};
}

// Returns the installed versions by normalised package name, from the names of their dist-info
// folders.
std::map<std::string, std::string> installed(const fs::path& site_packages) {
  std::map<std::string, std::string> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(site_packages, error)) {
    std::string name = entry.path().filename().string();
    constexpr std::string_view kSuffix = ".dist-info";
    size_t dash = name.find('-');
    if (!name.ends_with(kSuffix) || dash == std::string::npos) continue;
    out[normalised(name.substr(0, dash))] =
        name.substr(dash + 1, name.size() - dash - 1 - kSuffix.size());
  }
  return out;
}

// Returns the versions in the environment of the interpreter `python`, by package. The interpreter
// itself counts as the package "cpython".
Result<std::map<std::string, std::string>> read_environment(const std::string& python) {
  std::error_code error;
  if (!fs::exists(python, error)) {
    return bad_input(fmt::format("{}: no Python environment", python), "", kHint);
  }
  const fs::path environment = fs::path(python).parent_path().parent_path();
  const std::string version = python_version(environment);
  if (version.empty()) {
    return bad_input(fmt::format("{}: not the Python interpreter of a virtual environment", python),
                     "", kHint);
  }
  auto out = installed(environment / "lib" / ("python" + series_of(version)) / "site-packages");
  out[kInterpreter] = version;
  return out;
}

// Returns how the package `name` differs from the version `wanted`; empty: it does not differ.
std::string difference(const std::map<std::string, std::string>& found, const std::string& name,
                       const std::string& wanted) {
  const auto there = found.find(name);
  if (there != found.end() && there->second == wanted) return {};
  return fmt::format("{} is installed", there == found.end() ? "no version" : there->second);
}

// The packages that steps import (rules/requirements.in).
constexpr std::array kImported = {"flatbuffers", "jax", "jaxlib", "libtpu", "ml-dtypes", "numpy"};

// Returns the interpreter of the environment that quickstart.sh makes beside a folder of rules.
std::string own_python(const std::string& rules) {
  return (fs::path(rules).parent_path() / ".venv/bin/python").string();
}

bool is_own(const std::string& python, const std::string& rules) {
  return fs::absolute(python).lexically_normal() ==
         fs::absolute(own_python(rules)).lexically_normal();
}

// Checks that our own environment is as the lock file says.
Status check_own(const std::string& python, const std::map<std::string, std::string>& found,
                 const PythonLock& lock, const std::string& lock_file) {
  const std::string& version = found.at(kInterpreter);
  if (!lock.series.empty() && series_of(version) != lock.series) {
    return bad_input(fmt::format("{}: is Python {}, but {} needs Python {}", python, version,
                                 lock_file, lock.series),
                     "", kHint);
  }
  for (const auto& [name, wanted] : lock.versions) {
    if (const std::string other = difference(found, name, wanted); !other.empty()) {
      return bad_input(
          fmt::format("{}: needs {} {} by {}, but {}", python, name, wanted, lock_file, other), "",
          kHint);
    }
  }
  return {};
}

// Checks that a user's environment has what the steps import.
Status check_imports(const std::string& python, const std::map<std::string, std::string>& found) {
  std::vector<std::string> lacking;
  for (const char* name : kImported) {
    if (!found.contains(name)) lacking.emplace_back(name);
  }
  if (lacking.empty()) return {};
  return bad_input(fmt::format("{}: {} {} not installed", python, fmt::join(lacking, ", "),
                               lacking.size() == 1 ? "is" : "are"),
                   "", fmt::format("{} -m pip install {}", python, fmt::join(lacking, " ")));
}

// Checks that a user's environment has a JAX of the lock file's series, because the steps use inner
// parts of JAX.
Status check_jax(const std::string& python, const std::map<std::string, std::string>& found,
                 const PythonLock& lock) {
  const auto wanted = lock.versions.find("jax");
  const std::string& version = found.at("jax");
  if (wanted == lock.versions.end() || series_of(version) == series_of(wanted->second)) return {};
  return bad_input(fmt::format("{}: has JAX {}, but the steps need JAX {}", python, version,
                               series_of(wanted->second)),
                   "", fmt::format("{} -m pip install jax=={}", python, wanted->second));
}

}  // namespace

std::string find_python(const std::string& rules, const std::string& wanted) {
  std::string named = variable("EVOLVE_PYTHON");
  if (!named.empty()) return named;
  if (!wanted.empty()) return wanted;
  if (const std::string active = variable("VIRTUAL_ENV"); !active.empty()) {
    std::string python = active + "/bin/python";
    const auto found = read_environment(python);
    if (found && found->contains("jax")) return python;
  }
  return own_python(rules);
}

Result<Toolchain> read_toolchain(const std::string& python, const std::string& rules) {
  const std::string lock_file = rules + "/requirements.lock";
  TRY_ASSIGN(auto lock, read_python_lock(lock_file));
  auto environment = read_environment(python);
  if (!environment) {
    Error error = std::move(environment).error();
    // An installed evolve has no environment of its own.
    const fs::path quickstart = fs::path(rules).parent_path() / "pipelines/quickstart.sh";
    std::error_code none;
    if (is_own(python, rules) && !fs::exists(quickstart, none)) {
      error.hint = fmt::format(
          "python3 -m venv venv && . venv/bin/activate && pip install jax=={} libtpu flatbuffers",
          lock.versions["jax"]);
    }
    return error;
  }
  const auto& found = *environment;
  if (is_own(python, rules)) {
    TRY(check_own(python, found, lock, lock_file));
  } else {
    TRY(check_imports(python, found));
    TRY(check_jax(python, found, lock));
  }
  Toolchain toolchain{python, fmt::format("{}-{}", kInterpreter, found.at(kInterpreter))};
  for (const auto& [name, wanted] : lock.versions) {
    const auto version = found.find(name);
    if (version != found.end()) {
      toolchain.versions += fmt::format(" {}-{}", name, version->second);
    }
  }
  return toolchain;
}

Status check_toolchain(const std::string& python, const std::string& versions) {
  TRY_ASSIGN(auto found, read_environment(python));
  for (const auto& [name, wanted] : versions_of(versions)) {
    if (const std::string other = difference(found, name, wanted); !other.empty()) {
      return bad_input(fmt::format("{}: needs {} {}, but {}", python, name, wanted, other), "",
                       "build the image with the packages of rules/requirements.lock");
    }
  }
  return {};
}

}  // namespace evolve
