// The pipeline: one campaign, as a person writes it in YAML. The schema is that of Glaucis' config,
// with our own keys such as kernel.spec, target, mutate, time and select. So Glaucis' files load
// unchanged. pipelines/README.md has the table of all keys. This code does not read the files that
// a pipeline names.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/campaign/target.h"
#include "engine/core/digest.h"
#include "engine/core/result.h"
#include "engine/search/selection/rule.h"

namespace evolve {

// A mutator and its weight. The mutator's share of the variants is its share of all weights.
struct MutatorShare {
  std::string name;  // "sweep", "rewrite", "llm" or "person"
  int weight = 1;
};

struct Pipeline {
  // Paths are as written: relative to the pipeline's file. Empty: not given.
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
  };
  struct Mutate {
    // The mutators that propose variants, and their weights. A mutator's share of the variants is
    // its share of all weights. The order is that of kMutators.
    std::vector<MutatorShare> mix = {{.name = "sweep", .weight = 1}};
    // The number of first rounds whose variants all come from a person, whatever the mix says.
    int opening = 0;
    std::string sampler = "local";  // the sweep's sampler
    std::string llm;  // path of the language models' configuration (engine/llm/README.md)
    // Whether models write a plan first. "none": there are no plans; "approve": a person decides on
    // each plan; "auto": each plan is used as it is.
    std::string plan = "none";
    // Path of the folder of people's proposals and decisions on plans; empty: the pipeline's name
    // and "-proposals".
    std::string proposals;
    uint64_t random_seed = 0;
    double explore = 0.25;  // share of the sweep's proposals drawn from the whole space
    // A variant is not judged if its program is nearer to an earlier program than this distance,
    // from 0 to 1.
    std::optional<double> least_distance;
  };
  struct Learn {
    std::string file;      // path of the learnings that people keep; empty: none
    double effect = 0.05;  // the gain over a parent that is worth learning, as a share
  };
  struct Compile {
    std::vector<std::string> flags;  // the compiler's: "--xla_tpu_scoped_vmem_limit_kib=16384"
  };
  struct Time {
    std::string kind = "modelled";  // by libtpu's schedule; or "measured"
    std::string device{default_target().measured_on.front().device};  // one of the target's devices
    double budget = 0;               // seconds of the device per round; 0: the default
    std::string constants;           // path of the model's constants; empty: built-in ones
    std::vector<std::string> cases;  // bench cases of the spec that are timed; empty: all
    // A variant is not measured if it is modelled slower than the best by more than this share.
    std::optional<double> first_cut;
  };
  // A pod pool: the pods of a cluster that run some steps.
  struct PodPool {
    std::string name;
    std::vector<std::string> steps;
    std::string job_template;  // path
    std::string device_kind;   // kind of its devices, if times are measured there
    int batch = 1;             // edges per Job, at most
    int jobs = 1;              // Jobs at a time
    int at_once = 1;           // edges of a Job at a time
  };
  struct Cluster {
    std::string context;  // context of the kubeconfig; empty: the current one
    std::string space;    // namespace; empty: the context's
    std::string store;    // place for shared files: "http://…" or "gs://…"
    std::string image;    // image of the pods; empty: the template's
    std::string queue;    // Kueue's local queue; empty: none
    std::string priority_class;
    std::vector<PodPool> pools;  // in the order of the text
  };
  struct Toolchain {
    std::string python;  // the interpreter of the steps, a path; empty: not given
  };
  // Keyword arguments of the kernel: names and values as written.
  using Shape = std::vector<std::pair<std::string, std::string>>;

  Kernel kernel;
  const Target* target = &default_target();  // never null
  std::vector<Shape> shapes;
  Correctness correctness;
  Evaluator evaluator;
  Tpu tpu;
  Cluster cluster;
  Session session;
  Batch batch;
  search::SelectionRule select;
  Mutate mutate;
  Learn learn;
  Compile compile;
  Toolchain toolchain;
  Time time;
  // CPU seconds that a step may take for one case of one variant, by step. A step that is missing
  // here has its default limit, which pipelines/README.md lists.
  std::map<std::string, int> limits;
  Digest source;  // of the text
  // Keys that were understood but have no effect, as "path:line:column: …". Callers show them as
  // warnings.
  std::vector<std::string> notices;
};

// Parses and validates a pipeline's text. Bad input: anything that is not in the schema. The error
// has the place, the line and the nearest known key. `path` is for messages.
Result<Pipeline> parse_pipeline(std::string_view text, const std::string& path);

}  // namespace evolve
