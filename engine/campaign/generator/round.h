// The generator: turns a campaign's shape into the manifest of all its rounds. Pure and
// deterministic: the same shape gives the same text on any machine, in any clone, at any time.
//
// The number of variants per round is fixed, so the graph of all rounds is static. The mutate edges
// of round N+1 read the files that the select edge of round N writes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/campaign/pipeline.h"
#include "engine/core/digest.h"
#include "engine/search/judging.h"

namespace evolve {

// The amount of measuring: processes, one after another; runs in each process; and seconds of the
// device for all samples of both programs, the variant's and the seed's.
struct Effort {
  int processes = 1;
  int runs = 1;
  double seconds = 1;
};

// How the times of a round's variants are measured.
struct Timing {
  Effort screening = {.processes = 2, .runs = 3, .seconds = 1.5};   // short: finds the finalists
  Effort confirming = {.processes = 3, .runs = 4, .seconds = 8.0};  // finalists, seed and baseline
  int finalists = 1;                                                // per round, at most
};

// Returns `timing` with its seconds scaled so that a round of `variants`, each with `cases`, takes
// `budget` seconds.
Timing within_budget(Timing timing, double budget, int variants, size_t cases);

// The files and folders that the user names, relative to the project's root.
struct CampaignFiles {
  std::string spec;
  std::string seed;
  std::string reference;
  std::string xla;        // empty: no XLA baseline
  std::string constants;  // the model's; empty: built-in ones
  std::string learnings;  // the learnings that people keep; empty: none
  std::string llm;        // the configuration of the language models; empty: none
  std::string proposals;  // the folder of people's proposals

  // Returns all paths. An empty path: the user does not name this file or folder.
  [[nodiscard]] std::vector<std::string> all() const {
    return {spec, seed, reference, xla, constants, learnings, llm, proposals};
  }
};

// Everything that a campaign's graph depends on.
struct CampaignShape {
  Pipeline pipeline;
  CampaignFiles files;
  // From the spec: the function that kernel, reference and XLA baseline export, and the names of
  // the cases.
  std::string entry;
  std::vector<std::string> bench_cases;
  std::vector<std::string> check_cases;
  std::vector<std::string> llm_keys;  // names of the environment variables that hold models' keys
  Timing timing;                      // used if is_measured()
  bool is_sandboxed = true;           // false: only resource limits restrict candidates
  // The Python files that the steps consist of (step_sources.h).
  std::vector<std::string> step_sources;
  std::map<std::string, std::string> pod_pools;  // by step: the pool that runs it

  [[nodiscard]] int rounds() const { return pipeline.session.max_iterations; }
  // The number of variants in a round.
  [[nodiscard]] int variants() const { return pipeline.batch.variants_per_round; }
  // True: times are measured; false: they are modelled.
  [[nodiscard]] bool is_measured() const { return pipeline.time.kind == "measured"; }
  // Whether the model first selects the variants that are measured.
  [[nodiscard]] bool is_cut() const { return is_measured() && pipeline.time.first_cut; }
};

// Returns the digest of the whole shape. The same shape has the same digest.
Digest digest_of(const CampaignShape& shape);

// Returns the judged cases, check cases first.
std::vector<JudgedCase> judged_cases(const CampaignShape& shape);
// Returns the judged cases of a variant. The seed's cases do not include the near-duplicate check,
// because the other variants are compared with the seed.
std::vector<JudgedCase> judged_cases(const CampaignShape& shape, int number);

// Returns the round of a variant; the seed's is 0.
int round_of(const CampaignShape& shape, int number);
// Returns the variants of a round. Round 0 has only the seed.
std::vector<std::string> variants_of_round(const CampaignShape& shape, int round);
// Returns a variant's folder, relative to the campaign's: "round-1/v0007".
std::string variant_folder(const CampaignShape& shape, int number);

// Returns the text of rounds.ninja.
std::string write_rounds(const CampaignShape& shape);

}  // namespace evolve
