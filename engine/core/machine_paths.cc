#include "engine/core/machine_paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "engine/core/path.h"

namespace evolve {

namespace {

// Returns the position at which the path in a word may start: after the '=' of "--flag=", or at 0.
size_t path_start(std::string_view word) {
  size_t equals = word.find('=');
  return equals == std::string_view::npos ? 0 : equals + 1;
}

// A word of a command that is wholly or partly in the shell's single quotes.
struct QuotedWord {
  size_t end = 0;  // end of the word in the command
  std::string text;
};
// Reads the quoted word that begins at `start`. Nullopt: the word has no quotes, or its quotes are
// not closed.
std::optional<QuotedWord> quoted_word(std::string_view command, size_t start) {
  QuotedWord out = {start, ""};
  bool is_quoted = false;
  while (out.end < command.size() && command[out.end] != ' ') {
    const char c = command[out.end];
    if (c == '\'') {
      const size_t close = command.find('\'', out.end + 1);
      if (close == std::string_view::npos) return std::nullopt;
      out.text += command.substr(out.end + 1, close - out.end - 1);
      out.end = close + 1;
      is_quoted = true;
    } else if (c == '\\' && out.end + 1 < command.size()) {
      out.text += command[out.end + 1];
      out.end += 2;
    } else {
      out.text += c;
      ++out.end;
    }
  }
  return is_quoted ? std::optional(std::move(out)) : std::nullopt;
}

// Returns a rewritten word, quoted if the characters after its '$' need quotes. Different words
// stay different.
std::string quoted_again(const std::string& word) {
  const bool is_plain = std::all_of(word.begin() + 1, word.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || (c & 0x80) != 0 ||
           std::string_view("_-./+,@{}").find(c) != std::string_view::npos;
  });
  if (is_plain) return word;
  std::string out;
  append_shell_quoted(word, out);
  return out;
}

bool is_absolute(std::string_view path) {
  return path.starts_with('/');
}

// Returns the binding with the longest path that `path` starts with. Null: no binding matches.
const MachineBinding* binding_of(std::string_view path, std::span<const MachineBinding> machine) {
  const MachineBinding* longest = nullptr;
  for (const MachineBinding& binding : machine) {
    bool is_prefix = !binding.value.empty() && path.starts_with(binding.value) &&
                     (path.size() == binding.value.size() || path[binding.value.size()] == '/');
    if (is_prefix && (longest == nullptr || binding.value.size() > longest->value.size())) {
      longest = &binding;
    }
  }
  return longest;
}

// Replaces an absolute path of the machine anywhere in a text, as in "-I/home/me/x".
void replace_absolute(std::string& text, const MachineBinding& binding) {
  auto ends_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '-' && c != '.';
  };
  const std::string symbol = "$" + binding.name;
  for (size_t at = text.find(binding.value); at != std::string::npos;) {
    const size_t end = at + binding.value.size();
    if (end == text.size() || ends_name(text[end])) {
      text.replace(at, binding.value.size(), symbol);
      at = text.find(binding.value, at + symbol.size());
    } else {
      at = text.find(binding.value, end);
    }
  }
}

}  // namespace

std::string rewrite_words(std::string_view command,
                          const std::function<std::string(std::string_view)>& rewrite) {
  std::string out;
  size_t position = 0;
  while (position < command.size()) {
    size_t end = std::min(command.find(' ', position), command.size());
    std::string_view word = command.substr(position, end - position);
    const size_t start = path_start(word);
    out += word.substr(0, start);
    auto quoted = word.substr(start).find('\'') == std::string_view::npos
                      ? std::nullopt
                      : quoted_word(command, position + start);
    const std::string renamed = quoted ? rewrite(quoted->text) : "";
    if (quoted && renamed != quoted->text) {
      end = quoted->end;
      out += quoted_again(renamed);
    } else {
      out += rewrite(word.substr(start));
    }
    if (end < command.size()) out += ' ';
    position = end + 1;
  }
  return out;
}

bool is_machine_path(std::string_view path, std::span<const MachineBinding> machine) {
  return binding_of(path, machine) != nullptr;
}

std::string symbolic_path(std::string_view path, std::span<const MachineBinding> machine) {
  const MachineBinding* binding = binding_of(path, machine);
  if (binding == nullptr) return std::string(path);
  return fmt::format("${}{}", binding->name, path.substr(binding->value.size()));
}

std::string machine_path(std::string_view symbolic, std::span<const MachineBinding> machine) {
  if (symbolic.starts_with('$')) {
    const std::string_view name = symbolic.substr(1, symbolic.find('/') - 1);
    for (const MachineBinding& binding : machine) {
      if (binding.name == name) {
        return binding.value + std::string(symbolic.substr(1 + name.size()));
      }
    }
  }
  return std::string(symbolic);
}

std::string symbolic_command(std::string command, std::span<const MachineBinding> machine) {
  // Relative paths, and paths that the shell must quote, are replaced word by word.
  const bool has_words = std::any_of(machine.begin(), machine.end(), [](const auto& binding) {
    return !is_absolute(binding.value) || !is_plain_path(binding.value);
  });
  if (has_words) {
    command =
        rewrite_words(command, [&](std::string_view word) { return symbolic_path(word, machine); });
  }
  for (const MachineBinding& binding : machine) {
    if (is_absolute(binding.value)) replace_absolute(command, binding);
  }
  return command;
}

std::string machine_command(std::string_view symbolic, std::span<const MachineBinding> machine) {
  std::string out;
  while (!symbolic.empty()) {
    const size_t next = std::min(symbolic.find('$', 1), symbolic.size());
    const std::string_view piece = symbolic.substr(0, next);
    const size_t end = std::min(piece.find_first_of("/ ='\""), piece.size());
    out += machine_path(piece.substr(0, end), machine);
    out += piece.substr(end);
    symbolic.remove_prefix(next);
  }
  return out;
}

bool is_binding(std::string_view symbolic, std::span<const MachineBinding> machine) {
  return symbolic.starts_with('$') &&
         std::any_of(machine.begin(), machine.end(), [&](const MachineBinding& binding) {
           return symbolic.substr(1) == binding.name;
         });
}

}  // namespace evolve
