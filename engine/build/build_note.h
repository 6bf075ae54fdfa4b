// The note of a build that succeeded: every file that it read, made or looked for in vain. As long
// as all these files, and everything else on which the build depends, stay the same, another build
// would find each edge up to date. So a reader of the note need not look at any edge.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/build/lookup.h"
#include "engine/core/file_state.h"
#include "engine/core/ports.h"
#include "engine/graph/graph.h"

namespace evolve {

struct NotedFile {
  std::string path;
  std::optional<FileState> state;  // nullopt: nothing was there
};

struct BuildNote {
  std::string about;  // the writer's own text about everything else
  std::vector<NotedFile> files;
};

// Returns the note of `targets`, which were just built, with an empty `about`. Nullopt: no note is
// possible, because an edge runs every time, an input is a folder, or a file has changed since the
// build used it.
Result<std::optional<BuildNote>> note_of(const Graph& graph, const std::vector<NodeId>& targets,
                                         Lookup& lookup);

// Whether all files are still in the noted state. Updates the stamps in `note`, and sets
// `is_changed` if a stamp was updated.
Result<bool> still_holds(BuildNote& note, Files& files, bool& is_changed);

// Returns the stored form (cache/README.md).
std::string encode(const BuildNote& note);
// Reads the stored form. Nullopt: the bytes are not a note, or are damaged.
std::optional<BuildNote> decode_note(std::string_view bytes);

}  // namespace evolve
