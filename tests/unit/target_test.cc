// Tests of the table of targets: its rows, the values that the generator and the pipeline take from
// it, and that no other code names a target.
#include "engine/campaign/target.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "engine/campaign/generator/round.h"
#include "engine/campaign/pipeline.h"
#include "engine/core/json_read.h"
#include "engine/ir/model/device.h"
#include "engine/search/judging.h"
#include "tests/catch.h"

using namespace evolve;

namespace {

namespace fs = std::filesystem;

Pipeline pipeline_of(const std::string& lines) {
  auto pipeline = parse_pipeline("kernel: { name: k, spec: s.yaml }\n" + lines, "p.yaml");
  if (!pipeline) FAIL(pipeline.error().message);
  return *std::move(pipeline);
}

// Returns the manifest of a small campaign.
std::string rounds_for(const std::string& lines) {
  CampaignShape campaign;
  campaign.pipeline = pipeline_of("session: { max_iterations: 1 }\n" + lines);
  campaign.entry = "f";
  campaign.files.spec = "spec.yaml";
  campaign.files.seed = "kernel.py";
  campaign.files.reference = "reference.py";
  campaign.bench_cases = {"big"};
  campaign.check_cases = {"small"};
  return write_rounds(campaign);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("each row of the table is whole") {
  std::set<std::string_view> names;
  for (const Target& target : targets()) {
    INFO(target.name);
    CHECK(names.insert(target.name).second);
    CHECK(*find_target(target.name) == &target);
    for (std::string_view part : {target.platform, target.device_kind, target.topology})
      CHECK(!part.empty());
    CHECK(target.dumps.ends_with(".tar.gz"));
    CHECK(ir::find_device(target.model));
    REQUIRE(!target.measured_on.empty());
    for (const Measured& one : target.measured_on) {
      CHECK(&target.measured(one.device) == &one);
      CHECK(!one.protocol.empty());
    }
  }
  CHECK(names == std::set<std::string_view>{"tpu7x", "v6e", "v5p", "v5e"});
  CHECK(default_target().name == "tpu7x");
}

TEST_CASE("the error about an unknown target has the nearest name, or all names") {
  auto near = find_target("v6");
  REQUIRE_FALSE(near);
  CHECK(near.error().code == ErrorCode::bad_input);
  CHECK(near.error().message == "unknown target 'v6', did you mean 'v6e'?");
  CHECK(find_target("accelerator").error().message ==
        "unknown target 'accelerator'; known: tpu7x, v6e, v5p, v5e");
  auto pipeline = parse_pipeline("kernel: { name: k, spec: s.yaml }\ntarget: v5\n", "p.yaml");
  REQUIRE_FALSE(pipeline);
  CHECK(pipeline.error().message == "p.yaml:2:9: unknown target 'v5', did you mean 'v5p'?");
}

TEST_CASE("a pipeline may name each target, and is measured as its target says") {
  CHECK(pipeline_of("").target == &default_target());
  for (const Target& target : targets()) {
    const Pipeline pipeline = pipeline_of(fmt::format("target: {}\n", target.name));
    CHECK(pipeline.target == &target);
    CHECK(pipeline.time.device == target.measured_on.front().device);
  }
}

TEST_CASE("the manifest has what the target says, and its programs have the names of their roles") {
  const std::string rounds = rounds_for("target: v6e\n");
  CHECK(has(rounds, " --platform tpu --device-kind 'TPU v6 lite' "));
  CHECK(has(rounds, " --topology v6e:2x2 "));
  CHECK(has(rounds, "target = v6e\n"));
  CHECK(has(rounds, "big/dumps.tar.gz"));
  CHECK(has(rounds, " --device-out $work_word/round-0/v0000/big/device.program "));
  CHECK(has(rounds, " --judge-out $work_word/round-0/v0000/big/judge.program "));
  CHECK_FALSE(has(rounds, "tpu7x"));
  CHECK_FALSE(has(rounds, "cpu.program"));
  for (const Target& target : targets()) {
    const std::string its = rounds_for(fmt::format("target: {}\n", target.name));
    CHECK(has(its, fmt::format(" --topology {} ", target.topology)));
    CHECK(has(its, fmt::format("target = {}\n", target.model)));
  }
  const std::string measured = rounds_for("time: { kind: measured }\n");
  CHECK(has(measured, "protocol = cpu-abba-3\n"));
  CHECK(has(measured, "device = cpu 1\n"));
}

TEST_CASE("the device's program is found in reports of this version and of earlier ones") {
  const nlohmann::json now = {{"programs", {{"device", {{"digest", "d"}}}}}};
  const nlohmann::json before = {{"programs", {{"tpu", {{"digest", "d"}}}}}};
  CHECK(device_program_of(now) == "d");
  CHECK(device_program_of(before) == "d");
  CHECK(device_program_of(nlohmann::json::object()).is_null());
}

TEST_CASE("only the table and the model know a target by its name") {
  const std::set<std::string> tables = {"engine/campaign/target.cc", "engine/ir/model/device.cc"};
  int found = 0;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(EVOLVE_SOURCE) / "engine")) {
    if (entry.path().extension() != ".cc" && entry.path().extension() != ".h") continue;
    const std::string path = entry.path().lexically_relative(EVOLVE_SOURCE).string();
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      const std::string code = line.substr(0, line.find("//"));
      if (!has(code, "tpu7x")) continue;
      INFO(path << ": " << line);
      CHECK(tables.contains(path));
      ++found;
    }
  }
  CHECK(found >= 3);
}
