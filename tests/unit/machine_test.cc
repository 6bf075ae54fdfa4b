// Tests of what the engine reads about this machine.
#include "engine/app/machine.h"

#include <cmath>
#include <filesystem>

#include "tests/catch.h"
#include "tests/test_folder.h"

using namespace evolve;
using evolve::tests::TestFolder;

TEST_CASE("the least memory limit counts, of the group and of those around it") {
  const TestFolder folder;
  auto limit = [&](const std::string& group) {
    folder.write("groups", "4:memory:/other\n0::" + group + "\n");
    return memory_limit(folder / "groups", folder / "root");
  };
  std::filesystem::create_directories(folder / "root/slice/job");
  std::filesystem::create_directories(folder / "root/slice/wide");
  folder.write("root/memory.max", "8589934592\n");
  folder.write("root/slice/memory.max", "max\n");
  folder.write("root/slice/job/memory.max", "1073741824\n");
  folder.write("root/slice/wide/memory.max", "99999999999\n");
  CHECK(limit("/slice/job") == 1073741824.0);
  CHECK(limit("/slice/wide") == 8589934592.0);
  CHECK(limit("/") == 8589934592.0);
  // This path is that of a group outside of the container.
  CHECK(limit("/../slice/job") == 8589934592.0);
  CHECK(std::isinf(memory_limit(folder / "groups", folder / "none")));
  CHECK(memory_limit(folder / "none", folder / "root") == 8589934592.0);
}
