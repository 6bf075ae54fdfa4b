// Tests of the comparison of a Python environment with a lock file.
#include "engine/app/toolchain.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch.h"
#include "tests/test_folder.h"

using namespace evolve;
using evolve::tests::TestFolder;

namespace {

// A folder with rules and a virtual environment of Python 3.11.2 that has the distributions
// `installed`. The environment lies at `place`; ours is at ".venv".
class Project {
 public:
  Project(const std::vector<std::string>& installed, const std::string& locked,
          std::string place = ".venv")
      : place_(std::move(place)) {
    const std::string packages = folder_ / (place_ + "/lib/python3.11/site-packages/");
    for (const std::string& name : installed) {
      std::filesystem::create_directories(packages + name + ".dist-info");
    }
    std::filesystem::create_directories(folder_ / (place_ + "/bin"));
    std::filesystem::create_directories(folder_ / "rules");
    folder_.write(place_ + "/bin/python", "");
    folder_.write(place_ + "/pyvenv.cfg", "home = /usr/bin\nversion = 3.11.2\n");
    folder_.write("rules/requirements.lock", "# written for a test, with Python 3.11\n" + locked);
  }
  [[nodiscard]] Result<Toolchain> read() const { return read_toolchain(python(), rules()); }
  [[nodiscard]] std::string python() const { return environment() + "/bin/python"; }
  [[nodiscard]] std::string environment() const { return folder_ / place_; }
  [[nodiscard]] std::string rules() const { return folder_ / "rules"; }

 private:
  TestFolder folder_;
  std::string place_;
};

Result<Toolchain> read(const std::vector<std::string>& installed, const std::string& locked) {
  return Project(installed, locked).read();
}

}  // namespace

TEST_CASE("names of packages are compared as PEP 503 says") {
  // https://peps.python.org/pep-0503/#normalized-names
  const auto toolchain =
      read({"ruamel.yaml-0.18.6", "A__b-1.0"}, "Ruamel_.-Yaml==0.18.6\na-B==1.0\n");
  if (!toolchain) FAIL(toolchain.error().message);
  CHECK(toolchain->versions == "cpython-3.11.2 a-b-1.0 ruamel-yaml-0.18.6");
}

TEST_CASE("an environment that differs from the lock file is refused") {
  const auto other = read({"jax-0.10.1"}, "jax==0.10.2 \\\n    --hash=sha256:00\n");
  REQUIRE(!other);
  CHECK(other.error().message.ends_with(", but 0.10.1 is installed"));
  const auto none = read({"jaxlib-0.10.2"}, "jax==0.10.2\n");
  REQUIRE(!none);
  CHECK(none.error().message.ends_with(", but no version is installed"));
}

TEST_CASE("an environment that is not ours may have other versions") {
  const std::vector<std::string> installed = {
      "flatbuffers-25.1", "jax-0.10.1",  "jaxlib-0.10.1", "libtpu-0.0.52",
      "ml_dtypes-0.6.0",  "numpy-2.4.6", "left_alone-1.0"};
  const std::string lock = "jax==0.10.2\njaxlib==0.10.2\nlibtpu==0.0.42\nscipy==1.17.1\n";
  const auto toolchain = Project(installed, lock, "theirs").read();
  if (!toolchain) FAIL(toolchain.error().message);
  CHECK(toolchain->versions == "cpython-3.11.2 jax-0.10.1 jaxlib-0.10.1 libtpu-0.0.52");
}

TEST_CASE("an environment with a JAX that the steps do not know is refused") {
  const Project project({"flatbuffers-25.1", "jax-0.12.0.1", "jaxlib-0.12.0.1", "libtpu-0.0.52",
                         "ml_dtypes-0.6.0", "numpy-2.4.6"},
                        "jax==0.10.2\n", "theirs");
  const auto toolchain = project.read();
  REQUIRE(!toolchain);
  CHECK(toolchain.error().message ==
        project.python() + ": has JAX 0.12.0.1, but the steps need JAX 0.10");
  CHECK(toolchain.error().hint == project.python() + " -m pip install jax==0.10.2");
}

TEST_CASE("an environment without a package that the steps import is refused") {
  const Project project({"jax-0.12.0.1", "jaxlib-0.12.0.1", "numpy-2.4.6", "ml_dtypes-0.6.0"},
                        "jax==0.10.2\n", "theirs");
  const auto toolchain = project.read();
  REQUIRE(!toolchain);
  CHECK(toolchain.error().message == project.python() + ": flatbuffers, libtpu are not installed");
  CHECK(toolchain.error().hint == project.python() + " -m pip install flatbuffers libtpu");
}

TEST_CASE("the interpreter is the one that is named, or that of an environment with JAX, or ours") {
  const Project with_jax({"jax-0.12.0.1"}, "", "theirs"), without({"numpy-2.4.6"}, "", "theirs");
  const std::string ours =
      std::filesystem::path(with_jax.rules()).parent_path() / ".venv/bin/python";
  ::unsetenv("EVOLVE_PYTHON");
  ::unsetenv("VIRTUAL_ENV");
  CHECK(find_python(with_jax.rules()) == ours);
  ::setenv("VIRTUAL_ENV", without.environment().c_str(), 1);
  CHECK(find_python(with_jax.rules()) == ours);
  ::setenv("VIRTUAL_ENV", with_jax.environment().c_str(), 1);
  CHECK(find_python(with_jax.rules()) == with_jax.python());
  CHECK(find_python(with_jax.rules(), "/pipelines/python") == "/pipelines/python");
  ::setenv("EVOLVE_PYTHON", "/named/python", 1);
  CHECK(find_python(with_jax.rules(), "/pipelines/python") == "/named/python");
  ::unsetenv("EVOLVE_PYTHON");
  ::unsetenv("VIRTUAL_ENV");
}
