// The conversion of a YAML tree to JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "engine/core/yaml/yaml_source.h"

namespace evolve {

// Converts a tree. `Json` is nlohmann::json, or ordered_json, which keeps the order of a map.
// `scalar` is called with the node of each scalar and returns the scalar's value, because the
// meaning of a plain scalar depends on the reader of the text.
template <typename Json, typename Scalar>
Json yaml_json(const YamlNode& node, const Scalar& scalar) {
  switch (node.kind) {
    case YamlNode::Kind::null: return nullptr;
    case YamlNode::Kind::scalar: return scalar(node);
    case YamlNode::Kind::list: {
      Json out = Json::array();
      for (const YamlNode& item : node.items) out.push_back(yaml_json<Json>(item, scalar));
      return out;
    }
    case YamlNode::Kind::map: {
      Json out = Json::object();
      for (const YamlEntry& entry : node.entries)
        out[entry.key] = yaml_json<Json>(entry.value, scalar);
      return out;
    }
  }
  return nullptr;
}

}  // namespace evolve
