// The text of a report on device traces, for people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace evolve {

std::string device_trace_text(const nlohmann::json& report);

}  // namespace evolve
