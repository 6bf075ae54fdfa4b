// The targets, for which a pipeline's variants are compiled. The pipeline, the generator, the
// reports and the commands all use this one table. engine/README.md describes how to add a target.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"

namespace evolve {

// A way to measure the times of a target's variants.
struct Measured {
  std::string_view device;    // the kind of device, as `time.device` of a pipeline names it
  std::string_view protocol;  // the protocol of the step measure; part of the key
};

struct Target {
  std::string_view name;         // as pipelines name it: "v6e"
  std::string_view platform;     // JAX's platform that device programs are lowered for: "tpu"
  std::string_view device_kind;  // JAX's name of the device: "TPU v6 lite"
  std::string_view topology;     // the compiler's name of the target: "v6e:2x2"
  std::string_view dumps;        // name of the archive of the compiler's dumps, in a case's folder
  std::string_view model;        // name of its model (engine/ir/model/device.h)
  std::span<const Measured> measured_on;  // the first is the default

  // Returns the way to measure on a device. REQUIRES: `device` is one of `measured_on`.
  [[nodiscard]] const Measured& measured(std::string_view device) const;
};

// Returns all targets, the default first.
std::span<const Target> targets();

// Returns the target of a pipeline that does not name a target.
const Target& default_target();

// Returns the target `name`. Bad input: there is no such target; the error has the nearest name.
Result<const Target*> find_target(std::string_view name);

}  // namespace evolve
