// Tests of which pipeline a command takes when it has no option -p.
#include <cstdlib>
#include <filesystem>

#include "cache/ledger.h"
#include "engine/app/campaign.h"
#include "tests/catch.h"
#include "tests/test_folder.h"

using namespace evolve;
namespace fs = std::filesystem;

namespace {

// A folder with pipelines, in which the test runs.
class Project {
 public:
  Project() { fs::current_path(folder_.path()); }
  ~Project() {
    fs::current_path(before_);
    ::unsetenv("EVOLVE_PIPELINE");
  }
  Project(const Project&) = delete;
  Project& operator=(const Project&) = delete;

  void add_pipeline(const std::string& path) const {
    fs::create_directories(fs::path(folder_ / path).parent_path());
    folder_.write(path, "kernel: {spec: spec.yaml}\n");
  }
  // Records a build in a state folder.
  static void build(const std::string& state, const std::string& campaign,
                    const std::string& started) {
    fs::create_directories(state);
    std::string warning;
    auto ledger = cache::SqliteLedger::open(state + "/ledger.db", warning);
    REQUIRE(ledger);
    REQUIRE((*ledger)->begin_build(
        {.started = started, .campaign = campaign, .targets = "", .toolchain = ""}));
  }
  // Returns the campaign that a command without -p takes, or the message of the error.
  std::string taken(const std::string& state = "") {
    told_.clear();
    const auto place = find_campaign(
        {.pipeline = "", .state = state, .tell = [this](auto& text) { told_ = text; }});
    return place ? place->name : place.error().message;
  }
  [[nodiscard]] const std::string& told() const { return told_; }

 private:
  fs::path before_ = fs::current_path();
  tests::TestFolder folder_;
  std::string told_;
};

}  // namespace

TEST_CASE("the only pipeline is taken without a word") {
  Project project;
  project.add_pipeline("pipelines/add.yaml");
  CHECK(project.taken() == "add");
  CHECK(project.told().empty());
}

TEST_CASE("of several pipelines, the last that was built is taken") {
  Project project;
  project.add_pipeline("pipelines/add.yaml");
  project.add_pipeline("pipelines/mul.yaml");
  project.add_pipeline("sub.yaml");
  CHECK(project.taken().starts_with("several pipelines: "));
  Project::build("pipelines/.evolve", "mul", "2026-11-30T10:00:00Z");
  CHECK(project.taken() == "mul");
  CHECK(project.told().ends_with(
      "pipelines/mul.yaml, the last that was built here; -p names another"));
  Project::build("pipelines/.evolve", "add", "2026-11-30T11:00:00Z");
  CHECK(project.taken() == "add");
  Project::build(".evolve", "sub", "2026-11-30T12:00:00Z");
  CHECK(project.taken() == "sub");
  // A build of a pipeline that is gone says nothing about the others.
  Project::build(".evolve", "gone", "2026-11-30T13:00:00Z");
  CHECK(project.taken() == "sub");
}

TEST_CASE("the builds of the state folder that the user names are those that count") {
  Project project;
  project.add_pipeline("pipelines/add.yaml");
  project.add_pipeline("pipelines/mul.yaml");
  Project::build("pipelines/.evolve", "mul", "2026-11-30T10:00:00Z");
  Project::build("elsewhere", "add", "2026-11-30T09:00:00Z");
  CHECK(project.taken("elsewhere") == "add");
}

TEST_CASE("EVOLVE_PIPELINE names the pipeline") {
  Project project;
  project.add_pipeline("pipelines/add.yaml");
  project.add_pipeline("pipelines/mul.yaml");
  Project::build("pipelines/.evolve", "add", "2026-11-30T10:00:00Z");
  ::setenv("EVOLVE_PIPELINE", "pipelines/mul.yaml", 1);
  CHECK(project.taken() == "mul");
  CHECK(project.told().ends_with("pipelines/mul.yaml, which EVOLVE_PIPELINE names"));
  ::setenv("EVOLVE_PIPELINE", "pipelines/gone.yaml", 1);
  CHECK(project.taken() == "EVOLVE_PIPELINE: pipelines/gone.yaml: no such pipeline");
}
