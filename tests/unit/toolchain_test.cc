// Tests of the comparison of a Python environment with a lock file.
#include "engine/app/toolchain.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/test_folder.h"

using namespace evolve;
using evolve::tests::TestFolder;

namespace {

// Makes a virtual environment of Python 3.11.2 that has the distributions `installed`, and a lock
// file with the lines `locked`. Returns what read_toolchain() says of them.
Result<Toolchain> read(const std::vector<std::string>& installed, const std::string& locked) {
  const TestFolder folder;
  const std::string packages = folder / "lib/python3.11/site-packages/";
  for (const std::string& name : installed) {
    std::filesystem::create_directories(packages + name + ".dist-info");
  }
  std::filesystem::create_directories(folder / "bin");
  folder.write("bin/python", "");
  folder.write("pyvenv.cfg", "home = /usr/bin\nversion = 3.11.2\n");
  folder.write("requirements.lock", "# written for a test, with Python 3.11\n" + locked);
  return read_toolchain(folder / "bin/python", folder / "requirements.lock");
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
