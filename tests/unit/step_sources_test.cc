// Tests of the files that the Python steps consist of.
#include "engine/campaign/generator/step_sources.h"

#include <map>

#include "tests/catch.h"

using namespace evolve;

namespace {

using Texts = std::map<std::string, std::string>;
using Names = std::vector<std::string>;

// Returns the sources of the steps in a folder that holds these files, and empty packages.
Names sources(Texts files) {
  for (const char* package : {"steps", "judge", "programs"})
    files.emplace(std::string(package) + "/__init__.py", "");
  return step_sources([&](const std::string& file) -> std::optional<std::string> {
    const auto found = files.find(file);
    return found == files.end() ? std::nullopt : std::optional(found->second);
  });
}

}  // namespace

TEST_CASE("a step's sources are its program and what it imports, directly or not") {
  CHECK(sources({{"__main__.py", ""},
                 {"steps/check.py", "import os\nfrom judge import mosaic\n"},
                 {"judge/mosaic.py", "from programs.wire import pack\n"},
                 {"programs/wire.py", ""},
                 {"programs/alone.py", ""}}) ==
        Names{"__main__.py", "judge/__init__.py", "judge/mosaic.py", "programs/__init__.py",
              "programs/wire.py", "steps/__init__.py", "steps/check.py"});
}

TEST_CASE("a program in rules/steps that is no step is no source") {
  CHECK(sources({{"steps/other.py", ""}}) == Names{"steps/__init__.py"});
}

TEST_CASE("an import counts in any of its forms") {
  const Texts judge = {{"judge/a.py", ""}, {"judge/b.py", ""}};
  const Names both = {"judge/__init__.py", "judge/a.py", "judge/b.py", "steps/__init__.py",
                      "steps/check.py"};
  for (const char* text :
       {"from judge import a, b\n", "from judge import (\n    a,\n    b as c,\n)\n",
        "import judge.a, judge.b as c\n", "def f():\n    from judge import a\n    import judge.b\n",
        "from judge.a import x  # judge.c\nfrom judge.b import (y)"}) {
    CAPTURE(text);
    Texts files = judge;
    files["steps/check.py"] = text;
    CHECK(sources(files) == both);
  }
}

TEST_CASE("modules that import each other are found once") {
  CHECK(sources({{"steps/lower.py", "from judge import a\n"},
                 {"judge/a.py", "from judge import b\n"},
                 {"judge/b.py", "from judge import a\n"}}) ==
        Names{"judge/__init__.py", "judge/a.py", "judge/b.py", "steps/__init__.py",
              "steps/lower.py"});
}
