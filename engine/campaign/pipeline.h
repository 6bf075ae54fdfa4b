// A pipeline: one campaign, as a person writes it in YAML. The schema is Glaucis' config, so that
// its files load unchanged, extended by kernel.spec, target, mutate, time and select; the table of
// all keys is pipelines/README.md. Knows nothing of what the named files hold.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/result.h"

namespace evolve {

struct Pipeline {
  // Paths are as written: relative to the pipeline's file. An empty one is not given.
  struct Kernel {
    std::string name;
    std::string spec;
    std::string template_path;  // the seed
    std::string reference_path;
    std::string marker_start = "# EVOLVE-BLOCK-START";
    std::string marker_end = "# EVOLVE-BLOCK-END";
  };
  struct Correctness {
    std::string method = "allclose";
    double rtol = 1e-2;
    double atol = 1e-2;
  };
  struct Evaluator {
    std::string kubernetes_namespace = "default";
    std::string job_template = ".github/ci/kernel-eval-job.yaml";
    std::string repo;
    std::string branch = "main";
    int poll_interval = 15;  // seconds
    int timeout = 600;       // seconds
  };
  struct Tpu {
    std::string cluster;
    std::string zone;
  };
  struct Session {
    int max_iterations = 20;  // rounds
    std::string output_dir = "runs/default";
    std::string until;  // when `evolve run` stops (engine/search/stop_rule.h); empty: at the end
  };
  struct Batch {
    int variants_per_round = 1;
    int top_k = 1;  // lineages that survive a round
    int max_active_lineages = 4;
  };
  // Who survives a round; the policies are those of engine/search/selection/population.h.
  struct Select {
    std::string policy = "top";
    std::string ties = "interval";  // or "point": scores are compared as they are
    int islands = 4;
    int migration_interval = 5;  // rounds
    int most_cells = 16;
  };
  struct Mutate {
    // What proposes variants, and how many of them each does, as a share of all weights; in the
    // order of kMutators.
    std::vector<std::pair<std::string, int>> mix = {{"sweep", 1}};
    // Rounds, from the first on, whose variants are all a person's, whatever the mix says.
    int opening = 0;
    std::string sampler = "local";  // of the sweep
    std::string llm;  // path of the language models' configuration (engine/llm/README.md)
    // Whether models write a plan first: "none"; "approve": a person decides on it; "auto": it is
    // taken as it is.
    std::string plan = "none";
    // Path of the folder of what people propose, and of what they say of plans; empty: the
    // pipeline's name and "-proposals".
    std::string proposals;
    uint64_t random_seed = 0;
    double explore = 0.25;  // share of the sweep's proposals drawn from the whole space
    // Not judged is whose program is nearer to an earlier one's than this, as a share.
    std::optional<double> least_distance;
  };
  struct Learn {
    std::string file;      // path of what people keep of it; empty: none
    double effect = 0.05;  // the gain over a parent that is worth learning, as a share
  };
  struct Compile {
    std::vector<std::string> flags;  // of the compiler: "--xla_tpu_scoped_vmem_limit_kib=16384"
  };
  struct Time {
    std::string kind = "modelled";   // of libtpu's schedule, or "measured"
    std::string device = "cpu";      // where it is measured
    double budget = 0;               // seconds of the device a round; 0: as much as is usual
    std::string constants;           // path of the model's; empty: those that it has
    std::vector<std::string> cases;  // the spec's bench cases that are timed; empty: all
    // Not measured is who is modelled slower than the best by more than this share.
    std::optional<double> first_cut;
  };
  // Machines of a cluster that run some steps.
  struct NodePool {
    std::string name;
    std::vector<std::string> steps;
    std::string job_template;  // path
    std::string device_kind;   // of its devices, where times are measured there
    int batch = 1;             // edges a Job, at most
    int jobs = 1;              // Jobs at a time
    int at_once = 1;           // edges of a Job at a time
  };
  struct Cluster {
    std::string context;  // of the kubeconfig; empty: the current one
    std::string space;    // the namespace; empty: the context's
    std::string store;    // where files travel: "http://…" or "gs://…"
    std::string image;    // empty: the template's
    std::string queue;    // Kueue's; empty: none
    std::string priority_class;
    std::vector<NodePool> pools;  // by name
  };
  // Keyword arguments of the kernel: names and values as written.
  using Shape = std::vector<std::pair<std::string, std::string>>;

  Kernel kernel;
  std::string target = "tpu7x";
  std::vector<Shape> shapes;
  Correctness correctness;
  Evaluator evaluator;
  Tpu tpu;
  Cluster cluster;
  Session session;
  Batch batch;
  Select select;
  Mutate mutate;
  Learn learn;
  Compile compile;
  Time time;
  // CPU seconds that a step may take for one case of one variant, by step; of others as many as
  // rules/README.md says.
  std::map<std::string, int> limits;
  // What was understood but has no effect, "path:line:column: …"; to be shown as warnings.
  std::vector<std::string> notices;
};

// Parses and validates a pipeline's text. Bad input: anything that is not in the schema, with its
// place, the line and the nearest known key. `path` is for messages.
Result<Pipeline> parse_pipeline(std::string_view text, const std::string& path);

}  // namespace evolve
