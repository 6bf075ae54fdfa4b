#include "engine/options/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "engine/core/text/did_you_mean.h"

namespace evolve::options {

using Words = std::vector<std::string>;

struct Tree {
  CLI::App app;
  std::map<const CLI::App*, std::function<Status()>> actions;
  std::map<const CLI::Option*, Words> choices;
  std::map<const CLI::Option*, std::string> kinds;
};

namespace {

// Rejects a text that is not a number or for which `is_right` is false. The message says that the
// text is not `what`.
CLI::Validator number_that(const std::function<bool(double)>& is_right, const std::string& what) {
  return {[is_right, what](const std::string& text) {
            double value = 0;
            const bool holds = CLI::detail::lexical_cast(text, value) && is_right(value);
            return holds ? std::string() : fmt::format("'{}' is not {}", text, what);
          },
          what};
}

// Gives `take` a word of the option `names`. Throws the parser's error if `take` fails.
void give(const Parser::Take& take, const std::string& names, const std::string& word) {
  if (const Status status = take(word); !status) {
    throw CLI::ValidationError(names, status.error().message);
  }
}

bool contains(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool has_word(const std::string& text, const std::string& word) {
  return (" " + text + " ").find(" " + word + " ") != std::string::npos;
}

// Returns the commands that the words named, each a command of the one before it.
std::vector<const CLI::App*> named_commands(const CLI::App& app) {
  std::vector<const CLI::App*> out;
  for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    out.push_back(at);
  }
  return out;
}

Words command_names(const CLI::App& app) {
  Words out;
  for (const CLI::App* command : app.get_subcommands({})) out.push_back(command->get_name());
  return out;
}

// Returns the error for a word that is not among `known`. `path` is the command whose help lists
// the known words.
Error unknown_word(std::string_view what, const std::string& word, const Words& known,
                   const std::string& path) {
  const auto near = nearest(word, known);
  return bad_input(fmt::format("unknown {} '{}'{}", what, word,
                               near ? fmt::format(", did you mean '{}'?", *near) : ""),
                   "", path + " --help");
}

// Returns a usage error in our own words, with the nearest command or option if a word is unknown.
Error usage_error(const CLI::App& app, const CLI::ParseError& error, const Words& words) {
  const auto named = named_commands(app);
  const CLI::App& last = named.empty() ? app : *named.back();
  std::string path = app.get_name();
  Words options, known;
  for (const CLI::App* command : named) {
    path += " " + command->get_name();
    known.push_back(command->get_name());
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
      for (const std::string& name : option->get_snames()) options.push_back("-" + name);
    }
  }
  const Words commands = command_names(last);
  known.insert(known.end(), options.begin(), options.end());
  known.insert(known.end(), commands.begin(), commands.end());
  std::string message = error.what();
  for (const std::string& word : words) {
    const bool is_named = has_word(message, word) || !commands.empty();
    if (!is_named || contains(known, word)) continue;
    const bool is_option = word.starts_with("-");
    return unknown_word(is_option ? "option" : "command", word, is_option ? options : commands,
                        path);
  }
  if (!message.empty())
    message[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(message[0])));
  return bad_input(message, "", path + " --help");
}

OptionInfo info_of(const Tree& tree, const CLI::Option& option) {
  OptionInfo out;
  for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  const std::string type = option.get_type_name();
  out.word = option.get_positional() ? option.get_name(true) : type.substr(0, type.find(':'));
  out.help = option.get_description();
  out.takes_value = option.get_items_expected_max() > 0;
  out.is_list = option.get_items_expected_max() > 1;
  out.is_required = option.get_required();
  out.variable = option.get_envname();
  if (const auto found = tree.choices.find(&option); found != tree.choices.end()) {
    out.choices = found->second;
  }
  if (const auto found = tree.kinds.find(&option); found != tree.kinds.end()) {
    out.kind = found->second;
  }
  return out;
}

CommandInfo info_of(const Tree& tree, const CLI::App& app) {
  CommandInfo out;
  out.name = app.get_name();
  out.help = app.get_description();
  out.needs_command = app.get_require_subcommand_min() > 0;
  for (const CLI::Option* option : app.get_options()) {
    (option->get_positional() ? out.words : out.options).push_back(info_of(tree, *option));
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) out.commands.push_back(info_of(tree, *command));
  }
  return out;
}

// Checks the words after "help": each must be a command of the word before.
Status check_help(const CLI::App& app, const Words& words) {
  const CLI::App* at = &app;
  std::string path = app.get_name();
  for (const std::string& word : words) {
    const Words commands = command_names(*at);
    if (commands.empty() || word.starts_with("-")) return {};
    if (!contains(commands, word)) return unknown_word("command", word, commands, path);
    at = at->get_subcommand(word);
    path += " " + word;
  }
  return {};
}

}  // namespace

Option Option::required() {
  option_->required();
  return *this;
}

Option Option::at_least(double least) {
  option_->check(number_that([least](double value) { return value >= least; },
                             fmt::format("at least {}", least)));
  return *this;
}

Option Option::above(double bound) {
  option_->check(
      number_that([bound](double value) { return value > bound; }, fmt::format("above {}", bound)));
  return *this;
}

Option Option::between(double least, double most) {
  option_->check(number_that([=](double value) { return value >= least && value <= most; },
                             fmt::format("between {} and {}", least, most)));
  return *this;
}

Option Option::one_of(const std::vector<std::string>& words) {
  option_->check(CLI::IsMember(words));
  tree_->choices[option_] = words;
  return *this;
}

Option Option::names(const std::string& kind) {
  tree_->kinds[option_] = kind;
  return *this;
}

Option Option::separated() {
  option_->delimiter(',');
  return *this;
}

Option Option::repeated() {
  option_->expected(1)->take_all()->allow_extra_args(false);
  return *this;
}

Option Option::values(int count) {
  option_->expected(count);
  return *this;
}

Option Option::zero_or_one() {
  option_->expected(0, 1);
  return *this;
}

Option Option::from_environment(const std::string& name) {
  option_->envname(name);
  return *this;
}

Option Option::needs(Option other) {
  option_->needs(other.option_);
  return *this;
}

Option Option::excludes(Option other) {
  option_->excludes(other.option_);
  return *this;
}

template <typename T>
Option Parser::add(const std::string& names, T& value, const std::string& help) {
  return Option(tree_, app_->add_option(names, value, help));
}

template <>
Option Parser::add(const std::string& names, bool& value, const std::string& help) {
  return Option(tree_, app_->add_flag(names, value, help));
}

template Option Parser::add(const std::string&, std::string&, const std::string&);
template Option Parser::add(const std::string&, std::optional<std::string>&, const std::string&);
template Option Parser::add(const std::string&, int&, const std::string&);
template Option Parser::add(const std::string&, int64_t&, const std::string&);
template Option Parser::add(const std::string&, size_t&, const std::string&);
template Option Parser::add(const std::string&, double&, const std::string&);
template Option Parser::add(const std::string&, std::vector<std::string>&, const std::string&);
template Option Parser::add(const std::string&, std::vector<size_t>&, const std::string&);

Option Parser::add_off(const std::string& names, bool& value, const std::string& help) {
  return Option(tree_, app_->add_flag_callback(
                           names, [&value] { value = false; }, help));
}

Option Parser::add_word(const std::string& names, const Take& take, const std::string& help) {
  const auto taken = [take, names](const std::string& word) { give(take, names, word); };
  return Option(tree_, app_->add_option_function<std::string>(names, taken, help));
}

Option Parser::add_words(const std::string& names, const Take& take, const std::string& help) {
  const auto taken = [take, names](const Words& words) {
    for (const std::string& word : words) give(take, names, word);
  };
  return Option(tree_, app_->add_option_function<Words>(names, taken, help));
}

Parser Parser::add_command(const std::string& name, const std::string& help) {
  if (app_->get_require_subcommand_max() == 0) app_->require_subcommand(0, 1);
  return {tree_, app_->add_subcommand(name, help)};
}

void Parser::require_command() {
  app_->require_subcommand(1);
}

std::vector<Parser> Parser::commands() const {
  std::vector<Parser> out;
  for (CLI::App* command : app_->get_subcommands({})) out.emplace_back(tree_, command);
  return out;
}

void Parser::hide() {
  app_->group("");
}

void Parser::set_action(std::function<Status()> action) {
  tree_->actions[app_] = std::move(action);
}

CommandLine::CommandLine(std::unique_ptr<Tree> tree)
    : Parser(tree.get(), &tree->app), owned_(std::move(tree)) {}

CommandLine::CommandLine(const std::string& name, const std::string& description,
                         const std::string& version)
    : CommandLine(std::make_unique<Tree>()) {
  owned_->app.name(name);
  owned_->app.description(description);
  owned_->app.set_help_flag("-h,--help", "print this help");
  if (!version.empty()) owned_->app.set_version_flag("--version", version, "print the version");
}

CommandLine::~CommandLine() = default;

const std::string& CommandLine::name() const {
  return owned_->app.get_name();
}

CommandInfo CommandLine::describe() const {
  CommandInfo out = info_of(*owned_, owned_->app);
  const std::string front = out.name + ": ";
  if (out.help.starts_with(front)) out.help.erase(0, front.size());
  return out;
}

Result<std::optional<std::string>> CommandLine::parse(const std::vector<std::string>& words) {
  CLI::App& app = owned_->app;
  Words backwards(words.rbegin(), words.rend());  // as CLI11 takes them
  if (!words.empty() && words.front() == "help") {
    const Words asked(words.begin() + 1, words.end());
    TRY(check_help(app, asked));
    backwards.pop_back();
    backwards.insert(backwards.begin(), "--help");
  }
  try {
    app.parse(std::move(backwards));
    return std::optional<std::string>();
  } catch (const CLI::CallForHelp&) {
    return std::optional(app.help());
  } catch (const CLI::CallForVersion& version) {
    return std::optional(fmt::format("{}\n", version.what()));
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error, words);
  }
}

Status CommandLine::run() const {
  const CLI::App* last = &owned_->app;
  for (const CLI::App* command : named_commands(owned_->app)) last = command;
  const auto action = owned_->actions.find(last);
  if (action == owned_->actions.end()) {
    return Error{.code = ErrorCode::internal,
                 .message = fmt::format("{}: the command has no action", last->get_name())};
  }
  return action->second();
}

}  // namespace evolve::options
