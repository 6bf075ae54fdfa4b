#include "engine/app/snapshots.h"

#include <fmt/format.h>

#include <filesystem>

namespace evolve {

namespace {

// Returns the path of a snapshot. The name depends on the manifest and on the current folder,
// because several folders may share a state folder.
std::string path_of(const State& state, const std::string& manifest) {
  std::error_code error;
  const std::string here = std::filesystem::current_path(error).string();
  return fmt::format("{}/snapshots/{}", state.folder, digest_of(here + "\n" + manifest).brief());
}

std::string note_path(const State& state, const std::string& manifest) {
  return path_of(state, manifest) + ".note";
}

std::string damage(const std::string& path) {
  return fmt::format("{}: damaged; reading all files again", path);
}

Status keep(State& state, const std::string& path, const std::string& bytes) {
  auto made = state.files.make_folders(state.folder + "/snapshots");
  return made ? state.files.write(path, bytes) : made;
}

}  // namespace

std::optional<Snapshot> load_snapshot(State& state, const std::string& manifest, Graph& graph,
                                      std::string& warning) {
  const std::string path = path_of(state, manifest);
  auto bytes = state.files.read(path);
  if (!bytes) return std::nullopt;
  auto snapshot = Snapshot::decode(*bytes, graph);
  if (!snapshot) warning = damage(path);
  return snapshot;
}

Status save_snapshot(State& state, const std::string& manifest, const Graph& graph,
                     const Snapshot& snapshot) {
  if (!snapshot.is_changed()) return {};
  return keep(state, path_of(state, manifest), snapshot.encode(graph));
}

std::optional<BuildNote> load_note(State& state, const std::string& manifest,
                                   std::string& warning) {
  const std::string path = note_path(state, manifest);
  auto bytes = state.files.read(path);
  if (!bytes) return std::nullopt;
  auto note = decode_note(*bytes);
  if (!note) warning = damage(path);
  return note;
}

Status save_note(State& state, const std::string& manifest, const BuildNote& note) {
  return keep(state, note_path(state, manifest), encode(note));
}

}  // namespace evolve
