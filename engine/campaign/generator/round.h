// The generator: from a campaign's shape to the manifest of all its rounds. Pure and deterministic:
// the same shape is the same text, whatever the machine, the clone's path or the time.
//
// The number of variants a round is fixed, so the graph of all rounds is static: round N+1's mutate
// edges read what round N's select edge wrote.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/digest.h"
#include "engine/search/judging.h"

namespace evolve {

// How much is measured: processes, one after another, runs in each, and seconds of the device, of
// all samples of both programs.
struct Effort {
  int processes = 1;
  int runs = 1;
  double seconds = 1;
};

// How the times of a round's variants are measured.
struct Timing {
  Effort screening = {2, 3, 1.5};   // of each of them, to see who is worth more
  Effort confirming = {3, 4, 8.0};  // of those who are; of the seed and the baseline
  int finalists = 1;                // a round, at most
  // Not measured is who is modelled slower than the best by more than this share.
  std::optional<double> first_cut;
};

// `timing` with such seconds that a round of `variants`, each with `cases`, takes `budget`.
Timing within_budget(Timing timing, double budget, int variants, size_t cases);

// A mutator, and how many of the variants it proposes, as a share of all mutators' weights.
struct MutatorShare {
  std::string name;  // "sweep", "rewrite", "llm" or "person"
  int weight = 1;
};

// Who survives a round; as the pipeline says it.
struct Survival {
  std::string policy = "top";
  bool by_point = false;
  int top_k = 1;
  int most_lineages = 4;
  int islands = 4;
  int migration_interval = 5;
  int most_cells = 16;

  // How many lineages a round hands on, at most.
  [[nodiscard]] int capacity() const;
};

// All that a campaign's graph depends on. Paths are relative to the project's root.
struct CampaignShape {
  int rounds = 1;
  int variants = 1;  // a round
  Survival survival;
  uint64_t random_seed = 0;
  std::vector<MutatorShare> mix = {{"sweep", 1}};
  int opening = 0;                    // rounds whose variants are all a person's, from the first on
  std::string sampler = "local";      // of the sweep
  std::string llm;                    // path of the models' configuration; empty: none
  std::vector<std::string> llm_keys;  // names of the variables with their keys
  std::string plan = "none";          // as engine/campaign/pipeline.h has it
  std::string proposals;              // folder of what people propose
  std::string learnings;              // path of what people keep of them; empty: none
  double learn_effect = 0.05;         // the gain that is worth learning, as a share
  std::optional<double> least_distance;    // of a variant's program from earlier ones, as a share
  double explore = 0.25;                   // share of its proposals drawn from the whole space
  std::string target;                      // "tpu7x"
  std::vector<std::string> compile_flags;  // "--xla_name=value"
  std::string constants;                   // path of the model's; empty: those that it has
  bool is_measured = false;                // times are, on this machine; or else modelled
  Timing timing;                           // if they are
  bool is_sandboxed = true;  // false: candidates are kept from nothing but using too much
  std::string entry;         // the function that kernel, reference and XLA baseline export
  std::string spec;          // paths of the kernel's files
  std::string seed;
  std::string reference;
  std::string xla;           // empty: no XLA baseline
  std::string marker_start;  // what the seed's marker lines contain
  std::string marker_end;
  std::vector<std::string> timed_cases;  // of the spec's bench cases those that count; empty: all
  std::vector<std::string> bench_cases;
  std::vector<std::string> check_cases;
  std::vector<std::string>
      step_sources;  // names of the Python files in rules/steps that steps import
  std::map<std::string, std::string> node_pools;  // of steps that nodes run, by step
  std::map<std::string, int> limits;              // as engine/campaign/pipeline.h has them

  // The files and folders that the user names, in no order; empty ones are not named.
  [[nodiscard]] std::vector<std::string> user_paths() const {
    return {spec, seed, reference, xla, constants, learnings, llm, proposals};
  }
};

// Of all of it: the same shape is the same digest.
Digest digest_of(const CampaignShape& shape);

// The check cases first.
std::vector<JudgedCase> judged_cases(const CampaignShape& shape);
// The same as they are for a variant: the seed, which others are held against, need not be new.
std::vector<JudgedCase> judged_cases(const CampaignShape& shape, int number);

// The round that a variant is of; the seed's is 0.
int round_of(const CampaignShape& shape, int number);
// The variants of a round: round 0 has the seed alone.
std::vector<std::string> variants_of_round(const CampaignShape& shape, int round);
// A variant's folder below the campaign's: "round-1/v0007".
std::string variant_folder(const CampaignShape& shape, int number);

// Returns the text of rounds.ninja.
std::string write_rounds(const CampaignShape& shape);

}  // namespace evolve
