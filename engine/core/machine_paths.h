// Paths of this machine and the symbols that stand for them in keys and records: "/home/me/state/x"
// is "$state/x".
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace evolve {

// A path of this machine that must not be part of a key. In keys it is written as "$name".
struct MachineBinding {
  std::string name;
  std::string value;
};

// Whether the path is one of the machine's paths, or is below one of them.
bool is_machine_path(std::string_view path, std::span<const MachineBinding> machine);
// Replaces a machine's path at the start of a path: "/home/me/state/x" -> "$state/x".
std::string symbolic_path(std::string_view path, std::span<const MachineBinding> machine);
// Returns the path from which symbolic_path() made `symbolic`.
std::string machine_path(std::string_view symbolic, std::span<const MachineBinding> machine);

// symbolic_command() applies symbolic_path() to a whole command, and machine_command() reverses
// that. Absolute paths of the machine are replaced anywhere in the command; other paths only at the
// start of a word or after the word's first '='.
std::string symbolic_command(std::string command, std::span<const MachineBinding> machine);
std::string machine_command(std::string_view symbolic, std::span<const MachineBinding> machine);

// Whether `symbolic` is just "$name" of a binding. A discovered input of this form means that the
// run depended on the path itself.
bool is_binding(std::string_view symbolic, std::span<const MachineBinding> machine);

// Rewrites each blank-separated word of a command, or the part of the word after '='. A word in
// single quotes is rewritten as the text inside. The word loses its quotes if only the replaced
// part needed them, so that a folder's name does not change the result.
std::string rewrite_words(std::string_view command,
                          const std::function<std::string(std::string_view)>& rewrite);

}  // namespace evolve
