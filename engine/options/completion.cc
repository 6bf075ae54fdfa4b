#include "engine/options/completion.h"

#include <algorithm>
#include <string_view>

namespace evolve::options {

namespace {

const OptionInfo* find_option(const CommandInfo& command, std::string_view name) {
  for (const OptionInfo& option : command.options) {
    if (std::find(option.names.begin(), option.names.end(), name) != option.names.end()) {
      return &option;
    }
  }
  return nullptr;
}

const CommandInfo* find_command(const CommandInfo& parent, std::string_view name) {
  for (const CommandInfo& command : parent.commands) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

// The place in a command line behind some words.
struct Place {
  const CommandInfo* command = nullptr;
  const OptionInfo* option = nullptr;  // whose value comes next; null: none
  size_t words = 0;                    // words without a name that the command has already
};

Place place_behind(const CommandInfo& program, std::span<const std::string> before) {
  Place at{&program};
  bool is_help = false;
  for (const std::string& word : before) {
    if (at.option != nullptr) {
      at.option = nullptr;
    } else if (word.starts_with("-")) {
      const OptionInfo* option = find_option(*at.command, word);
      if (option != nullptr && option->takes_value) at.option = option;
    } else if (at.command == &program && word == "help" && !is_help) {
      is_help = true;
    } else if (const CommandInfo* command = find_command(*at.command, word)) {
      at = {command};
    } else {
      ++at.words;
    }
  }
  return at;
}

std::vector<Candidate> values(const OptionInfo& option, std::span<const std::string> before,
                              const ValuesOf& values_of) {
  if (option.choices.empty()) return values_of(option.kind, before);
  std::vector<Candidate> out;
  for (const std::string& choice : option.choices) out.push_back({choice, ""});
  return out;
}

// Returns what may stand at a place, if a word there has no name.
std::vector<Candidate> words_at(const Place& at, std::span<const std::string> before,
                                const ValuesOf& values_of) {
  std::vector<Candidate> out;
  for (const CommandInfo& command : at.command->commands) {
    out.push_back({command.name, command.help});
  }
  const std::vector<OptionInfo>& words = at.command->words;
  const bool is_more = at.words < words.size() || (!words.empty() && words.back().is_list);
  if (!is_more) return out;
  const auto more = values(words[std::min(at.words, words.size() - 1)], before, values_of);
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

std::vector<Candidate> option_names(const CommandInfo& command) {
  std::vector<Candidate> out;
  for (const OptionInfo& option : command.options) {
    // The long name says what the option is, so the short one is offered only if it is the only
    // one.
    const std::string& name = option.names.back();
    out.push_back({name, option.help});
  }
  return out;
}

constexpr const char* kBash = R"(# Completion of PROGRAM for bash.
_PROGRAM() {
  local words=() word
  # Bash takes the sign of "--option=value" for a word of its own.
  for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
    [ "$word" = = ] || words+=("$word")
  done
  [ "${COMP_WORDS[COMP_CWORD]}" = = ] && words+=('')
  COMPREPLY=()
  while IFS=$'\t' read -r word _; do
    COMPREPLY+=("$word")
  done < <(PROGRAM complete -- "${words[@]}" 2>/dev/null)
  [ ${#COMPREPLY[@]} -gt 0 ] || compopt -o default
}
complete -F _PROGRAM PROGRAM
)";

constexpr const char* kZsh = R"(#compdef PROGRAM
# Completion of PROGRAM for zsh.
_PROGRAM() {
  local -a candidates
  local line
  for line in "${(@f)$(PROGRAM complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n $line ]] && candidates+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
  done
  if (( $#candidates )); then
    _describe PROGRAM candidates
  else
    _files
  fi
}
if [[ $funcstack[1] = _PROGRAM ]]; then
  _PROGRAM "$@"
else
  compdef _PROGRAM PROGRAM
fi
)";

constexpr const char* kFish = R"(# Completion of PROGRAM for fish.
function __PROGRAM_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l found (PROGRAM complete -- $words[2..-1] $current 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path $current
    end
end
complete -c PROGRAM -f -a '(__PROGRAM_complete)'
)";

}  // namespace

std::vector<Candidate> complete(const CommandInfo& program, std::span<const std::string> before,
                                const std::string& current, const ValuesOf& values_of) {
  const Place at = place_behind(program, before);
  const size_t equals = current.find('=');
  std::vector<Candidate> all;
  std::string front;  // what stands before the candidates: "--color="
  if (at.option != nullptr) {
    all = values(*at.option, before, values_of);
  } else if (current.starts_with("--") && equals != std::string::npos) {
    const OptionInfo* option = find_option(*at.command, current.substr(0, equals));
    front = current.substr(0, equals + 1);
    if (option != nullptr && option->takes_value) all = values(*option, before, values_of);
  } else if (current.starts_with("-")) {
    all = option_names(*at.command);
  } else {
    all = words_at(at, before, values_of);
  }
  std::vector<Candidate> out;
  for (Candidate& one : all) {
    one.word.insert(0, front);
    if (one.word.starts_with(current)) out.push_back(std::move(one));
  }
  return out;
}

std::string completion_script(const std::string& shell, const std::string& program) {
  constexpr std::string_view kName = "PROGRAM";
  std::string out = shell == "zsh" ? kZsh : shell == "fish" ? kFish : kBash;
  for (size_t at = out.find(kName); at != std::string::npos; at = out.find(kName, at)) {
    out.replace(at, kName.size(), program);
  }
  return out;
}

}  // namespace evolve::options
