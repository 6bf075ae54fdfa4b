#include "engine/campaign/target.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/core/text/did_you_mean.h"

namespace evolve {

namespace {

// The times of TPU variants are those of their judge programs, on the CPU. No TPU is used.
constexpr std::array<Measured, 1> kMeasuredByJudge = {
    {{.device = "cpu", .protocol = "cpu-abba-3"}}};  // the protocol of rules/steps/measure.py

// The name of the archive into which rules/steps/compile.py packs libtpu's dumps.
constexpr std::string_view kDumps = "dumps.tar.gz";

// Each topology is the smallest that the compiler accepts. Programs are compiled for one core of
// the topology.
constexpr std::array<Target, 4> kTargets = {{
    {.name = "tpu7x",
     .platform = "tpu",
     .device_kind = "TPU7x",
     .topology = "tpu7x:2x2x1",
     .dumps = kDumps,
     .model = "tpu7x",
     .measured_on = kMeasuredByJudge},
    {.name = "v6e",
     .platform = "tpu",
     .device_kind = "TPU v6 lite",
     .topology = "v6e:2x2",
     .dumps = kDumps,
     .model = "v6e",
     .measured_on = kMeasuredByJudge},
    {.name = "v5p",
     .platform = "tpu",
     .device_kind = "TPU v5",
     .topology = "v5p:2x2x1",
     .dumps = kDumps,
     .model = "v5p",
     .measured_on = kMeasuredByJudge},
    {.name = "v5e",
     .platform = "tpu",
     .device_kind = "TPU v5 lite",
     .topology = "v5e:2x2",
     .dumps = kDumps,
     .model = "v5e",
     .measured_on = kMeasuredByJudge},
}};

}  // namespace

const Measured& Target::measured(std::string_view device) const {
  return *std::find_if(measured_on.begin(), measured_on.end(),
                       [&](const Measured& one) { return one.device == device; });
}

std::span<const Target> targets() {
  return kTargets;
}

const Target& default_target() {
  return kTargets.front();
}

Result<const Target*> find_target(std::string_view name) {
  std::vector<std::string> known;
  for (const Target& target : kTargets) {
    if (target.name == name) return &target;
    known.emplace_back(target.name);
  }
  return bad_input(fmt::format("unknown target '{}'{}", name, suggestion(name, known)));
}

}  // namespace evolve
