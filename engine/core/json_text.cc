#include "engine/core/json_text.h"

#include <nlohmann/json.hpp>

namespace evolve {

namespace {

template <typename Json>
std::string written(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string json_line(const nlohmann::json& value) {
  return written(value, -1);
}

std::string json_line(const nlohmann::ordered_json& value) {
  return written(value, -1);
}

std::string json_block(const nlohmann::json& value, int indent) {
  return written(value, indent);
}

std::string json_block(const nlohmann::ordered_json& value, int indent) {
  return written(value, indent);
}

}  // namespace evolve
