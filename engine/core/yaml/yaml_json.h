// A YAML tree as JSON. Pure.
#pragma once

#include <nlohmann/json.hpp>

#include "engine/core/yaml/yaml_source.h"

namespace evolve {

// `Json` is nlohmann::json, or ordered_json, which keeps the order of a map. What a plain scalar
// is, whoever the text was written for says: `scalar` is called with its node.
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
