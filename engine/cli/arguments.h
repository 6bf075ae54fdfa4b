// The command line of `evolve`: its commands, their options, and what was given.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "engine/cli/agent.h"
#include "engine/cli/analyze_command.h"
#include "engine/cli/bundle.h"
#include "engine/cli/cache_command.h"
#include "engine/cli/cluster.h"
#include "engine/cli/commands.h"
#include "engine/cli/import_command.h"
#include "engine/cli/init_command.h"
#include "engine/cli/learnings_command.h"
#include "engine/cli/model_command.h"
#include "engine/cli/person_command.h"
#include "engine/cli/plan_command.h"
#include "engine/cli/replay.h"
#include "engine/cli/tune_command.h"
#include "engine/search/sampler.h"

namespace evolve::cli {

struct Arguments {
  CommonOptions common;
  std::string color = "auto";
  std::string folder;
  BuildCommand build;
  std::string variant;
  std::string out;
  std::string target;
  std::string round;
  std::string kernel;
  bool clean_all = false;
  bool writes = false;
  ReplayCommand replay;
  CacheCommand cache;
  BundleCommand bundle;
  AnalyzeCommand analyze;
  ModelCommand model;
  ClusterSettings cluster;
  AgentSettings agent;
  std::string until;
  bool has_reply = false;
  ProposeCommand proposal;
  RoundCommand open_round;
  LearningsCommand learnings;
  PlanCommand plan;
  TuneCommand tune;
  InitCommand init;
  ImportCommand import;
  std::string sampler = search::sampler_names().front();
};

// Makes the commands known, to write what is given into `arguments`, which outlives the app's use.
void add_commands(CLI::App& app, Arguments& arguments);

}  // namespace evolve::cli
