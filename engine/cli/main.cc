// `evolve`: commands and exit codes. The only place that names concrete classes is this folder.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "engine/cli/agent.h"
#include "engine/cli/analyze_command.h"
#include "engine/cli/arguments.h"
#include "engine/cli/ask_command.h"
#include "engine/cli/bundle.h"
#include "engine/cli/cache_command.h"
#include "engine/cli/cluster.h"
#include "engine/cli/commands.h"
#include "engine/cli/import_command.h"
#include "engine/cli/kernel_command.h"
#include "engine/cli/learnings_command.h"
#include "engine/cli/lock.h"
#include "engine/cli/model_command.h"
#include "engine/cli/ninja.h"
#include "engine/cli/output.h"
#include "engine/cli/person_command.h"
#include "engine/cli/plan_command.h"
#include "engine/cli/progress.h"
#include "engine/cli/replay.h"
#include "engine/cli/tune_command.h"
#include "engine/cli/why.h"
#include "engine/core/did_you_mean.h"
#include "engine/search/sampler.h"
#include "engine/world/terminal.h"

namespace evolve::cli {

namespace {

bool wants_color(const std::string& choice) {
  if (choice == "always") return true;
  if (choice == "never" || std::getenv("NO_COLOR") != nullptr) return false;
  return std::getenv("CLICOLOR_FORCE") != nullptr || world::is_terminal(STDERR_FILENO);
}

Result<int> round_number(const std::string& text) {
  if (text.empty()) return 0;
  std::string digits = text.starts_with("round-") ? text.substr(6) : text;
  bool is_number = !digits.empty() && digits.size() < 7 &&
                   digits.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number || std::stoi(digits) == 0) {
    return bad_input(fmt::format("'{}' is no round", text), "", "evolve log 3");
  }
  return std::stoi(digits);
}

Status dispatch_round(const std::string& name, const Arguments& arguments) {
  TRY_ASSIGN(auto round, round_number(arguments.round));
  if (name == "close") return run_round_close(arguments.common, round);
  return run_round_open(arguments.common, arguments.build, arguments.open_round, round);
}

Status dispatch_plan(const std::string& name, const Arguments& arguments) {
  if (name == "show") return run_plan_show(arguments.common, arguments.plan);
  if (name == "approve") return run_plan_approve(arguments.common, arguments.plan);
  if (name == "reject") return run_plan_reject(arguments.common, arguments.plan);
  return run_plan_edit(arguments.common, arguments.plan);
}

Status dispatch_learnings(const CLI::App& command, const Arguments& arguments) {
  if (command.get_subcommands().empty()) return run_learnings(arguments.common);
  if (command.get_subcommands().front()->get_name() == "accept")
    return run_learnings_accept(arguments.common, arguments.learnings);
  return run_learnings_reject(arguments.common, arguments.learnings);
}

Status dispatch_kernel(const std::string& name, const Arguments& arguments) {
  const int jobs = arguments.build.jobs;
  if (name == "check") return run_kernel_check(arguments.common, arguments.kernel, jobs);
  return run_kernel_time(arguments.common, arguments.kernel, jobs, arguments.writes);
}

// One word is a bundle's file; two are a format and a task's.
Status dispatch_import(const Arguments& arguments) {
  const ImportCommand& given = arguments.import;
  if (!given.file.empty()) return run_import_task(arguments.common, given);
  const auto& formats = task_formats();
  if (std::find(formats.begin(), formats.end(), given.format) != formats.end())
    return bad_input(fmt::format("evolve import {}: no file is given", given.format));
  BundleCommand bundle = arguments.bundle;
  bundle.path = given.format;
  return run_import_bundle(arguments.common, bundle);
}

Status dispatch_cache(const std::string& name, const Arguments& arguments) {
  if (name == "stats") return run_cache_stats(arguments.common);
  if (name == "gc") return run_cache_gc(arguments.common, arguments.cache);
  if (name == "verify") return run_cache_verify(arguments.common, arguments.cache);
  return run_cache_path(arguments.common, arguments.cache);
}

Status dispatch_analyze(const CLI::App& command, const Arguments& arguments) {
  if (!command.get_subcommands().empty())
    return run_analyze_diff(arguments.analyze, arguments.common.json);
  if (arguments.analyze.paths.empty())
    return bad_input("analyze: no dumps and no traces are given", "", "evolve analyze DIR");
  return run_analyze(arguments.analyze, arguments.common.json);
}

Status dispatch(const CLI::App& app, const Arguments& arguments) {
  const CommonOptions& common = arguments.common;
  if (!arguments.folder.empty() && ::chdir(arguments.folder.c_str()) != 0) {
    return bad_input(fmt::format("-C {}: no such folder", arguments.folder));
  }
  std::string name = app.get_subcommands().front()->get_name();
  if (name == "analyze") return dispatch_analyze(*app.get_subcommands().front(), arguments);
  if (name == "model") {
    const bool is_calibration =
        app.get_subcommands().front()->get_subcommands().front()->get_name() == "calibrate";
    return is_calibration ? run_model_calibrate(arguments.model, common.json)
                          : run_model_validate(arguments.model, common.json);
  }
  if (name == "ask") return run_ask(arguments.sampler, std::cin);
  if (name == "agent") return run_agent(arguments.agent);
  if (name == "cluster") return run_cluster_doctor(arguments.cluster, common);
  if (name == "build") return run_build(common, arguments.build);
  if (name == "init") return run_init(common, arguments.init);
  if (name == "tune") return run_tune(common, arguments.build, arguments.tune);
  if (name == "run") return run_rounds(common, arguments.build, arguments.until);
  if (name == "show") return run_show(common, arguments.variant);
  if (name == "prompt") return run_prompt_show(common, arguments.variant, arguments.has_reply);
  if (name == "learnings") return dispatch_learnings(*app.get_subcommands().front(), arguments);
  if (name == "propose") return run_propose(common, arguments.proposal);
  if (name == "edit") return run_edit(common, arguments.variant, arguments.proposal);
  if (name == "round") {
    return dispatch_round(app.get_subcommands().front()->get_subcommands().front()->get_name(),
                          arguments);
  }
  if (name == "plan") {
    return dispatch_plan(app.get_subcommands().front()->get_subcommands().front()->get_name(),
                         arguments);
  }
  if (name == "best") return run_best(common, arguments.out);
  if (name == "cache") {
    const CLI::App* cache = app.get_subcommands().front();
    return dispatch_cache(cache->get_subcommands().front()->get_name(), arguments);
  }
  if (name == "kernel") {
    return dispatch_kernel(app.get_subcommands().front()->get_subcommands().front()->get_name(),
                           arguments);
  }
  if (name == "export") return run_export(common, arguments.bundle);
  if (name == "import") return dispatch_import(arguments);
  if (name == "replay") return run_replay(common, arguments.replay);
  if (name == "lock") return run_lock(common);
  if (name == "why") return run_why(common, arguments.target);
  if (name == "clean") return run_clean(common, arguments.clean_all, arguments.build.dry_run);
  TRY_ASSIGN(auto round, round_number(arguments.round));
  return run_log(common, round);
}

bool has_word(const std::string& text, const std::string& word) {
  return (" " + text + " ").find(" " + word + " ") != std::string::npos;
}

// The commands that a command line named, each below the one before.
std::vector<const CLI::App*> named_commands(const CLI::App& app) {
  std::vector<const CLI::App*> out;
  for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    out.push_back(at);
  }
  return out;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::App* command : app.get_subcommands({})) out.push_back(command->get_name());
  return out;
}

// Of a word that is none of `known`; `path` is the command whose help names them.
Error unknown_word(std::string_view what, const std::string& word,
                   const std::vector<std::string>& known, const std::string& path) {
  const auto near = nearest(word, known);
  return bad_input(fmt::format("unknown {} '{}'{}", what, word,
                               near ? fmt::format(", did you mean '{}'?", *near) : ""),
                   "", path + " --help");
}

// A usage error in our own words, with the nearest command or option where a word is unknown.
Error usage_error(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  const auto named = named_commands(app);
  const CLI::App& last = named.empty() ? app : *named.back();
  std::string path = "evolve";
  std::vector<std::string> options, known;
  for (const CLI::App* command : named) {
    path += " " + command->get_name();
    known.push_back(command->get_name());
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
      for (const std::string& name : option->get_snames()) options.push_back("-" + name);
    }
  }
  const std::vector<std::string> commands = command_names(last);
  known.insert(known.end(), options.begin(), options.end());
  known.insert(known.end(), commands.begin(), commands.end());
  std::string message = error.what();
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    const bool is_named = has_word(message, word) || !commands.empty();
    const bool is_known = std::find(known.begin(), known.end(), word) != known.end();
    if (!is_named || is_known) continue;
    const bool is_option = word.starts_with("-");
    return unknown_word(is_option ? "option" : "command", word, is_option ? options : commands,
                        path);
  }
  if (!message.empty())
    message[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(message[0])));
  return bad_input(message, "", path + " --help");
}

// What follows the word that asks for the ninja front end, if anything does.
std::optional<std::vector<std::string>> ninja_arguments(int argc, char** argv) {
  std::string name = argc > 0 ? argv[0] : "";
  if (name.substr(name.rfind('/') + 1) == "ninja") {
    return std::vector<std::string>(argv + 1, argv + argc);
  }
  if (argc > 1 && std::string_view(argv[1]) == "ninja") {
    return std::vector<std::string>(argv + 2, argv + argc);
  }
  return std::nullopt;
}

// "evolve help WORD…": each word is a command of the one before.
Status check_help(const CLI::App& app, int argc, char** argv) {
  const CLI::App* at = &app;
  std::string path = "evolve";
  for (int i = 2; i < argc; ++i) {
    const std::vector<std::string> commands = command_names(*at);
    const std::string word = argv[i];
    if (commands.empty() || word.starts_with("-")) return {};
    if (std::find(commands.begin(), commands.end(), word) == commands.end())
      return unknown_word("command", word, commands, path);
    at = at->get_subcommand(word);
    path += " " + word;
  }
  return {};
}

int run(int argc, char** argv) {
  if (auto arguments = ninja_arguments(argc, argv)) return run_ninja(*arguments);
  CLI::App app("evolve: a build engine that evolves accelerator kernels", "evolve");
  Arguments arguments;
  add_commands(app, arguments);
  // "evolve help round open" is "evolve round open --help".
  std::vector<char*> words(argv, argv + argc);
  std::string help = "--help";
  if (argc > 1 && std::string_view(argv[1]) == "help") {
    if (auto status = check_help(app, argc, argv); !status) {
      print_error(status.error(), wants_color("auto"));
      return exit_code(status.error().code);
    }
    words.erase(words.begin() + 1);
    words.push_back(help.data());
  }
  try {
    app.parse(static_cast<int>(words.size()), words.data());
  } catch (const CLI::Success& success) {
    return app.exit(success);  // --help, --version
  } catch (const CLI::ParseError& error) {
    Error usage = usage_error(app, error, argc, argv);
    print_error(usage, wants_color("auto"));
    return exit_code(usage.code);
  }
  arguments.common.color = wants_color(arguments.color);
  Status status = dispatch(app, arguments);
  if (status) return 0;
  print_error(status.error(), arguments.common.color);
  return exit_code(status.error().code);
}

// What somebody asked for and could not be written is no success. Returns the exit code.
int end_output(int code) {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  const Error error =
      external(fmt::format("standard output: cannot be written{}",
                           errno == 0 ? "" : fmt::format(": {}", std::strerror(errno))));
  print_error(error, wants_color("auto"));
  return code != 0 ? code : exit_code(error.code);
}

}  // namespace

}  // namespace evolve::cli

int main(int argc, char** argv) {
  try {
    return evolve::cli::end_output(evolve::cli::run(argc, argv));
  } catch (const std::exception& error) {
    if (std::ferror(stdout) != 0) return evolve::cli::end_output(0);
    // Nothing of ours throws: what comes here is a bug, or no memory is left.
    evolve::cli::print_err(
        fmt::format("evolve: internal error: {}: please report this as a bug of evolve {}\n",
                    error.what(), EVOLVE_VERSION));
    return 70;
  }
}
