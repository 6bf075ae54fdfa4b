#include "engine/core/key.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <map>
#include <optional>
#include <span>
#include <sstream>

#include "engine/core/hunks.h"
#include "engine/core/path.h"

namespace evolve {

namespace {

static_assert(std::endian::native == std::endian::little, "keys are hashed as they lie in memory");

// The parts of a word that can be a path: behind "--flag=", say.
size_t path_start(std::string_view word) {
  size_t equals = word.find('=');
  return equals == std::string_view::npos ? 0 : equals + 1;
}

// A word of a command in the shell's single quotes, or partly in them.
struct QuotedWord {
  size_t end = 0;  // of it in the command
  std::string text;
};
// The one that begins at `start`; nullopt where there is none.
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

// A word that was rewritten, in quotes if what is left of it needs them: no two are the same.
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

// Rewrites each blank-separated word of a command. One in single quotes is rewritten as what it
// says, and loses them where only what was replaced needed them: a folder's name decides nothing.
template <typename Rewrite>
std::string rewrite_words(std::string_view command, Rewrite rewrite) {
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
    const std::string renamed = quoted ? std::string(rewrite(quoted->text)) : "";
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

bool is_absolute(std::string_view path) {
  return path.starts_with('/');
}

// The binding whose path is the longest that `path` starts with; null where there is none.
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

// Replaces an absolute path of the machine wherever it stands in a text: in "-I/home/me/x" too.
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

// Gives the files of one edge the names that they have in its key.
class Names {
 public:
  Names(const Graph& graph, EdgeId id, std::span<const MachineBinding> machine)
      : machine_(machine), is_portable_(graph.extension(id, "portable") == "1") {
    if (!is_portable_) return;
    const Edge& edge = graph.edge(id);
    for (size_t i = 0; i < edge.inputs.size(); ++i) {
      roles_.emplace(graph.path(edge.inputs[i]), fmt::format("{{in{}}}", i));
    }
    for (size_t i = 0; i < edge.outputs.size(); ++i) {
      roles_.insert_or_assign(graph.path(edge.outputs[i]), fmt::format("{{out{}}}", i));
    }
    for (const char* name : {"depfile", "rspfile"}) {
      roles_.emplace(graph.binding(id, name), fmt::format("{{{}}}", name));
    }
  }

  // Good until the next call.
  std::string_view of_path(std::string_view path) {
    if (is_portable_) {
      auto role = roles_.find(path);
      if (role != roles_.end()) return role->second;
    }
    if (binding_of(path, machine_) == nullptr) return path;
    name_ = symbolic_path(path, machine_);
    return name_;
  }

  void rename(std::string& text) {
    if (is_portable_) {
      text = rewrite_words(text, [&](std::string_view word) { return of_path(word); });
    } else {
      text = symbolic_command(std::move(text), machine_);
    }
  }

 private:
  std::span<const MachineBinding> machine_;
  bool is_portable_;
  std::map<std::string, std::string, std::less<>> roles_;
  std::string name_;
};

std::string brief_value(const std::string& value) {
  if (auto digest = Digest::from_hex(value)) return digest->brief();
  return value;
}

// "jax 0.10.1 -> 0.10.2, numpy is new"
std::string describe_versions(const std::string& before, const std::string& after) {
  const auto old = versions_of(before);
  const auto now = versions_of(after);
  std::vector<std::string> out;
  for (const auto& [name, version] : now) {
    auto its = old.find(name);
    if (its == old.end()) {
      out.push_back(fmt::format("{} {} is new", name, version));
    } else if (its->second != version) {
      out.push_back(fmt::format("{} {} -> {}", name, its->second, version));
    }
  }
  for (const auto& [name, version] : old) {
    if (!now.contains(name)) out.push_back(fmt::format("{} {} is gone", name, version));
  }
  return fmt::format("{}", fmt::join(out, ", "));
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> out;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// "--id v0002 -> v0003, --fast is new": the words that differ, each with the option before it.
std::string describe_words(std::string_view before, std::string_view after) {
  constexpr size_t kShown = 3;
  const auto old = words_of(before);
  const auto now = words_of(after);
  auto joined = [](const auto& words, size_t begin, size_t end) {
    const auto first = words.begin();
    return fmt::format("{}", fmt::join(first + static_cast<std::ptrdiff_t>(begin),
                                       first + static_cast<std::ptrdiff_t>(end), " "));
  };
  std::vector<std::string> out;
  for (const Hunk& hunk : hunks(old, now)) {
    const std::string its_old = joined(old, hunk.old_begin, hunk.old_end);
    const std::string its_now = joined(now, hunk.begin, hunk.end);
    const bool has_option = hunk.begin > 0 && now[hunk.begin - 1].starts_with('-');
    if (its_old.empty()) {
      out.push_back(its_now + " is new");
    } else if (its_now.empty()) {
      out.push_back(its_old + " is gone");
    } else {
      out.push_back(fmt::format("{}{} -> {}",
                                has_option ? fmt::format("{} ", now[hunk.begin - 1]) : "", its_old,
                                its_now));
    }
  }
  const size_t count = out.size();
  out.resize(std::min(count, kShown));
  return fmt::format("{}{}", fmt::join(out, ", "),
                     count > kShown ? fmt::format(" and {} more", count - kShown) : "");
}

std::string describe_values(const std::string& before, const std::string& after) {
  constexpr size_t kShort = 40;
  if (before.size() <= kShort && after.size() <= kShort) {
    return fmt::format("{} -> {}", brief_value(before), brief_value(after));
  }
  return describe_words(before, after);
}

}  // namespace

Digest part_digest(std::string_view tag, std::string_view name, std::string_view value) {
  thread_local std::string bytes;
  const std::array<uint32_t, 2> sizes = {static_cast<uint32_t>(tag.size()),
                                         static_cast<uint32_t>(name.size())};
  bytes.assign(reinterpret_cast<const char*>(sizes.data()), sizeof sizes);
  bytes.append(tag).append(name).append(value);
  return digest_of(bytes);
}

void KeyWriter::add(std::string_view tag, std::string_view name, std::string_view value) {
  digests_.push_back(part_digest(tag, name, value));
  if (keep_ == Keep::parts) {
    parts_.push_back({std::string(tag), std::string(name), std::string(value)});
  }
}

void KeyWriter::clear() {
  digests_.clear();
  parts_.clear();
}

Digest KeyWriter::key() const {
  static const Digest scheme = digest_of(kKeyScheme);
  thread_local std::vector<Digest> all;
  all.assign(1, scheme);
  all.insert(all.end(), digests_.begin(), digests_.end());
  return digest_of({reinterpret_cast<const char*>(all.data()), all.size() * sizeof(Digest)});
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
  // Words with what the shell quotes in a path are rewritten as words, too.
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

void write_key(const Graph& graph, EdgeId id, const InputDigests& inputs,
               std::span<const MachineBinding> machine, KeyWriter& key) {
  const Edge& edge = graph.edge(id);
  Names names(graph, id, machine);
  key.add("rule", "", edge.rule->name);
  // What a generator's command says is the generator's business, as in Ninja.
  if (graph.binding(id, "generator").empty()) {
    std::string command = graph.binding(id, "command");
    names.rename(command);
    key.add("command", "", command);
  }
  auto content = edge.content_inputs();
  for (size_t i = 0; i < content.size(); ++i) {
    auto hex = inputs.content[i].hex_digits();
    key.add("input", names.of_path(graph.node(content[i]).path), {hex.data(), hex.size()});
  }
  for (NodeId output : edge.outputs) {
    key.add("output", names.of_path(graph.node(output).path), "");
  }
  for (const auto& [name, value] : inputs.environment) key.add("environment", name, value);
  for (auto& [name, value] : {std::pair("toolchain", graph.extension(id, "toolchain")),
                              {"rspfile_content", graph.binding(id, "rspfile_content")}}) {
    if (value.empty()) continue;
    std::string renamed = value;
    names.rename(renamed);
    key.add(name, "", renamed);
  }
  if (graph.extension(id, "sandbox") == "1") key.add("sandbox", "", "1");
  for (const char* name : {"device_kind", "protocol"}) {
    if (auto value = graph.extension(id, name); !value.empty()) key.add(name, "", value);
  }
}

std::map<std::string, std::string> versions_of(const std::string& toolchain) {
  std::map<std::string, std::string> out;
  std::istringstream words(toolchain);
  for (std::string word; words >> word;) {
    const size_t dash = std::min(word.rfind('-'), word.size());
    out[word.substr(0, dash)] = dash < word.size() ? word.substr(dash + 1) : "";
  }
  return out;
}

std::vector<KeyChange> changes_between(std::span<const KeyPart> before,
                                       std::span<const KeyPart> after) {
  auto find = [](std::span<const KeyPart> parts, const KeyPart& like) -> const KeyPart* {
    auto it = std::find_if(parts.begin(), parts.end(), [&](const KeyPart& part) {
      return part.tag == like.tag && part.name == like.name;
    });
    return it == parts.end() ? nullptr : &*it;
  };
  std::vector<KeyChange> out;
  for (const KeyPart& part : after) {
    const KeyPart* old = find(before, part);
    if (old != nullptr && old->value == part.value) continue;
    out.push_back({part.tag, part.name, old == nullptr ? std::nullopt : std::optional(old->value),
                   part.value});
  }
  for (const KeyPart& part : before) {
    if (find(after, part) == nullptr) {
      out.push_back({part.tag, part.name, part.value, std::nullopt});
    }
  }
  return out;
}

std::string label_of(const KeyChange& change) {
  return change.name.empty() ? change.tag : fmt::format("{} '{}'", change.tag, change.name);
}

std::string text_of(const KeyChange& change) {
  const std::string label = label_of(change);
  if (!change.before) return label + " is new";
  if (!change.after) return label + " is gone";
  const bool is_toolchain = change.tag == "toolchain";
  return fmt::format("{}: {}", label,
                     is_toolchain ? describe_versions(*change.before, *change.after)
                                  : describe_values(*change.before, *change.after));
}

}  // namespace evolve
