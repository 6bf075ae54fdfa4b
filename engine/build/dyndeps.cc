#include "engine/build/dyndeps.h"

#include <fmt/format.h>

#include "engine/graph/dyndep.h"

namespace evolve {

Status Dyndeps::read(NodeId file) {
  if (graph_.is_dyndep_loaded(file)) return {};
  const std::string& path = graph_.path(file);
  auto text = files_.read(path);
  if (!text) {
    auto there = files_.digest(path);
    if (there && !*there)
      return bad_input(fmt::format("loading '{}': No such file or directory", path));
    return std::move(text).error();
  }
  tell_(file);
  TRY_ASSIGN(auto outputs, load_dyndep(graph_, file, *std::move(text)));
  return plan_.learn_makers(outputs);
}

Result<bool> Dyndeps::settle(EdgeId id) {
  const auto file = graph_.edge(id).dyndep;
  if (!file) return false;
  TRY(read(*file));
  return plan_.wait_for(id, graph_.edge(id).inputs);
}

}  // namespace evolve
