#include "engine/options/manual.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

namespace evolve::options {

namespace {

// Returns a text for a line of a page. A hyphen that belongs to a word of the command line must be
// written as "\-", and a line must not begin with '.' or '\''.
std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out.starts_with('.') || out.starts_with('\'') ? "\\&" + out : out;
}

// Returns the heading of an option: "-p, --pipeline TEXT", with the name in bold.
std::string heading(const OptionInfo& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names) {
    names.push_back(fmt::format("\\fB{}\\fR", escaped(name)));
  }
  std::string out = fmt::format("{}", fmt::join(names, ", "));
  if (!option.takes_value) return out;
  const std::string value = option.choices.empty()
                                ? fmt::format("\\fI{}\\fR", escaped(option.word))
                                : escaped(fmt::format("{}", fmt::join(option.choices, "|")));
  return out + (out.empty() ? "" : " ") + value + (option.is_list ? " ..." : "");
}

std::string list(const char* title, const std::vector<OptionInfo>& options) {
  if (options.empty()) return {};
  std::string out = fmt::format(".SH {}\n", title);
  for (const OptionInfo& option : options) {
    out += fmt::format(".TP\n{}\n{}\n", heading(option), escaped(option.help));
  }
  return out;
}

std::string list(const std::string& path, const std::vector<CommandInfo>& commands) {
  if (commands.empty()) return {};
  std::string out = ".SH COMMANDS\n";
  for (const CommandInfo& command : commands) {
    out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", escaped(path + " " + command.name),
                       escaped(command.help));
  }
  return out;
}

std::string environment(const CommandInfo& command) {
  std::string out;
  for (const OptionInfo& option : command.options) {
    if (option.variable.empty()) continue;
    out += fmt::format(".TP\n\\fB{}\\fR\nthe default of {}\n", escaped(option.variable),
                       escaped(option.names.back()));
  }
  return out.empty() ? out : ".SH ENVIRONMENT\n" + out;
}

std::string synopsis(const std::string& path, const CommandInfo& command) {
  std::string out = fmt::format("\\fB{}\\fR [\\fIoptions\\fR]", escaped(path));
  if (!command.commands.empty()) {
    out += command.needs_command ? " \\fIcommand\\fR" : " [\\fIcommand\\fR]";
  }
  for (const OptionInfo& word : command.words) {
    const std::string name =
        fmt::format("\\fI{}\\fR{}", escaped(word.word), word.is_list ? " ..." : "");
    out += word.is_required ? " " + name : " [" + name + "]";
  }
  return out;
}

std::string hyphenated(std::string path) {
  std::replace(path.begin(), path.end(), ' ', '-');
  return path;
}

// Adds the page of a command, and those of its commands. `path`: "evolve cache". `see`: the page
// of the command that it belongs to; empty: none.
void add_pages(const CommandInfo& command, const std::string& path, const std::string& see,
               const std::string& version, std::vector<ManualPage>& out) {
  const std::string name = hyphenated(path);
  std::string title = name;
  std::transform(title.begin(), title.end(), title.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::string text = fmt::format(".TH \"{}\" 1 \"\" \"{}\" \"User Commands\"\n", title, version);
  text += fmt::format(".SH NAME\n{} \\- {}\n", escaped(name), escaped(command.help));
  text += fmt::format(".SH SYNOPSIS\n{}\n", synopsis(path, command));
  text += list("ARGUMENTS", command.words) + list("OPTIONS", command.options) +
          list(path, command.commands) + environment(command);
  std::vector<std::string> others;
  if (!see.empty()) others.push_back(see);
  for (const CommandInfo& one : command.commands)
    others.push_back(hyphenated(path + " " + one.name));
  std::string links;
  for (const std::string& other : others) {
    links += fmt::format("{}\\fB{}\\fR(1)", links.empty() ? "" : ", ", escaped(other));
  }
  if (!links.empty()) text += fmt::format(".SH SEE ALSO\n{}\n", links);
  out.push_back({name + ".1", text});
  for (const CommandInfo& one : command.commands) {
    add_pages(one, path + " " + one.name, name, version, out);
  }
}

}  // namespace

std::vector<ManualPage> manual_pages(const CommandInfo& program, const std::string& version) {
  std::vector<ManualPage> out;
  add_pages(program, program.name, "", version, out);
  return out;
}

}  // namespace evolve::options
