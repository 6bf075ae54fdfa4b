#include "engine/build/outputs.h"

#include "engine/core/path.h"

namespace evolve {

Result<Outputs::Restored> Outputs::restore(EdgeId id, const Hit& hit) {
  const ActionResult& result = hit.result;
  const Edge& edge = graph_.edge(id);
  // A command that did not write all its outputs runs again.
  if (result.outputs.size() != edge.outputs.size() || !result.has_all_outputs()) {
    return Restored::not_at_all;
  }
  // A generator's outputs are never restored, because a generator writes more files than it
  // declares.
  const bool is_generator = !graph_.binding(id, "generator").empty();
  // Links come last, because they may lead to another output.
  std::vector<size_t> order;
  for (size_t i = 0; i < edge.outputs.size(); ++i) {
    if (result.link_of(i) == nullptr) order.push_back(i);
  }
  for (const OutputLink& link : result.links) order.push_back(link.output);
  Restored restored = Restored::before;
  for (size_t i : order) {
    if (!hit.is_all_absent) {
      TRY_ASSIGN(auto there, lookup_.files().look(edge.outputs[i]));
      if (there && there->content == result.outputs[i]) continue;
    }
    if (is_generator) return Restored::not_at_all;
    TRY_ASSIGN(auto is_back, restore_one(id, result, i));
    if (!is_back) return Restored::not_at_all;
    lookup_.files().set_state(edge.outputs[i], {result.outputs[i], {}});
    restored = Restored::now;
  }
  return restored;
}

Result<bool> Outputs::restore_one(EdgeId id, const ActionResult& result, size_t i) {
  const std::string path = graph_.path(graph_.edge(id).outputs[i]);
  TRY(files_.make_folders(folder_of(path)));
  const OutputLink* link = result.link_of(i);
  if (link == nullptr || links_ == nullptr) return blobs_.fetch(result.outputs[i], path);
  const std::string target =
      link->is_hard ? machine_path(link->target, lookup_.keys().machine()) : link->target;
  auto is_made = links_->make(path, {target, link->is_hard});
  if (!is_made) return is_made;
  // The link's target may have changed, or be missing.
  TRY_ASSIGN(auto there, files_.digest(path));
  if (*is_made && there == result.outputs[i]) return true;
  return link->is_hard ? blobs_.fetch(result.outputs[i], path) : Result<bool>(false);
}

Status Outputs::prepare(EdgeId id) {
  const Edge& edge = graph_.edge(id);
  for (NodeId output : edge.outputs) {
    const std::string& path = graph_.path(output);
    TRY(files_.make_folders(folder_of(path)));
    if (!rules_.are_strict) {
      TRY_ASSIGN(auto before, lookup_.files().look(output));
      before_[output] = before ? std::optional(before->content) : std::nullopt;
      continue;
    }
    // The old file may be a second name of a blob, and a command must not write into a blob.
    TRY(files_.remove(path));
  }
  std::string depfile = graph_.binding(id, "depfile", Graph::Quoting::none);
  if (!depfile.empty()) {
    TRY(files_.make_folders(folder_of(depfile)));
  }
  std::string response_file = graph_.binding(id, "rspfile", Graph::Quoting::none);
  if (!response_file.empty()) {
    TRY(files_.make_folders(folder_of(response_file)));
    const std::string content = graph_.binding(id, "rspfile_content");
    TRY(graph_.check_length(id, "rspfile_content", content));
    auto written = files_.write(response_file, content);
    if (!written) return written;
  }
  return {};
}

Status Outputs::remove_half_written(EdgeId id) {
  const std::string depfile = graph_.binding(id, "depfile", Graph::Quoting::none);
  for (NodeId output : graph_.edge(id).outputs) {
    const std::string path = graph_.path(output);
    TRY_ASSIGN(auto now, files_.digest(path));
    auto before = before_.find(output);
    bool is_untouched = before != before_.end() && before->second == now && depfile.empty();
    if (!now || is_untouched) continue;
    TRY(files_.remove(path));
  }
  return depfile.empty() ? Status{} : files_.remove(depfile);
}

Status Outputs::remove_response_file(EdgeId id) {
  const std::string path = graph_.binding(id, "rspfile", Graph::Quoting::none);
  if (path.empty() || rules_.keep_rsp) return {};
  return files_.remove(path);
}

}  // namespace evolve
