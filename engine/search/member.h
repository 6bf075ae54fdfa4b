// The reader of members under the name that this room had for it.
#pragma once

#include "engine/core/json_read.h"

namespace evolve::search {

using evolve::member;

// Returns the digest of the device's program from a report of the step lower; null: none is there.
// Reports of earlier versions call that program "tpu".
inline const nlohmann::json& device_program_of(const nlohmann::json& report) {
  const nlohmann::json& programs = member(report, "programs");
  const nlohmann::json& its = member(programs, "device");
  return member(its.is_null() ? member(programs, "tpu") : its, "digest");
}

}  // namespace evolve::search
