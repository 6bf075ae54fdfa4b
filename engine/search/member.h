// Access to records that others wrote, in which any member may be missing.
#pragma once

#include <nlohmann/json.hpp>

namespace evolve::search {

// The member of an object. Null: it is missing, or `object` is no object.
inline const nlohmann::json& member(const nlohmann::json& object, const char* key) {
  static const nlohmann::json kNull;
  if (!object.is_object()) return kNull;
  auto it = object.find(key);
  return it == object.end() ? kNull : *it;
}

// Returns the digest of the device's program from a report of the step lower; null: none is there.
// Reports of earlier versions call that program "tpu".
inline const nlohmann::json& device_program_of(const nlohmann::json& report) {
  const nlohmann::json& programs = member(report, "programs");
  const nlohmann::json& its = member(programs, "device");
  return member(its.is_null() ? member(programs, "tpu") : its, "digest");
}

}  // namespace evolve::search
