// The note of a build that ended well: every file that it read, made or looked for in vain. While
// nothing of that changes, nor what else it was told to go by, building again would find each edge
// up to date: whoever has the note need not look at one.
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
  std::string about;  // the writer's own words
  std::vector<NotedFile> files;
};

// The note of `targets`, which were just built; without words. Nullopt where there is none to be
// had: an edge runs every time, an input is a folder, or a file is another by now than what was
// built from.
Result<std::optional<BuildNote>> note_of(const Graph& graph, const std::vector<NodeId>& targets,
                                         Lookup& lookup);

// Whether all files are as they are noted. Their stamps are brought up to date: `is_changed` says
// that one was.
Result<bool> still_holds(BuildNote& note, Files& files, bool& is_changed);

// The stored form (cache/README.md).
std::string encode(const BuildNote& note);
// Nullopt: the bytes are no note, or are damaged.
std::optional<BuildNote> decode_note(std::string_view bytes);

}  // namespace evolve
