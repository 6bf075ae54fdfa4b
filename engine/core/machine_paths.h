// Paths of this machine and the symbols that stand for them in keys and records: "/home/me/state/x"
// is "$state/x".
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace evolve {

// Paths of this machine that must not be part of a key: each stands in it as "$name".
struct MachineBinding {
  std::string name;
  std::string value;
};

// Whether the path is one of the machine's, or lies under one.
bool is_machine_path(std::string_view path, std::span<const MachineBinding> machine);
// Replaces a machine's path at the start of a path: "/home/me/state/x" -> "$state/x".
std::string symbolic_path(std::string_view path, std::span<const MachineBinding> machine);
// The path that symbolic_path() made `symbolic` of.
std::string machine_path(std::string_view symbolic, std::span<const MachineBinding> machine);

// Does that to a whole command, and undoes it: absolute paths of the machine wherever they stand,
// others at the start of a word or behind its '='.
std::string symbolic_command(std::string command, std::span<const MachineBinding> machine);
std::string machine_command(std::string_view symbolic, std::span<const MachineBinding> machine);

// True for "$name" of a binding, without more. Among discovered inputs it says that the run
// depended on what that path is.
bool is_binding(std::string_view symbolic, std::span<const MachineBinding> machine);

// Rewrites each blank-separated word of a command, or what is behind its '='. A word in single
// quotes is rewritten as what it says, and loses them where only what was replaced needed them:
// a folder's name decides nothing.
std::string rewrite_words(std::string_view command,
                          const std::function<std::string(std::string_view)>& rewrite);

}  // namespace evolve
