#include "engine/cli/arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace evolve::cli {

namespace {

void add_common(CLI::App& command, Arguments& arguments) {
  command.add_option("-p,--pipeline", arguments.common.campaign.pipeline,
                     "the campaign's pipeline (default: the only one in . and pipelines/)");
  command
      .add_option("--state", arguments.common.campaign.state,
                  "the state folder (default: $EVOLVE_STATE, or .evolve beside the pipeline)")
      ->envname("EVOLVE_STATE");
  command.add_flag_callback(
      "--unsafe-no-sandbox", [&arguments] { arguments.common.campaign.is_sandboxed = false; },
      "run candidates without the sandbox: they can do what you can");
  command.add_option("-C", arguments.folder, "change to this folder first");
  command.add_flag("--json", arguments.common.json, "print JSON");
  command.add_option("--color", arguments.color, "color in messages: auto, always, never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
}

void add_analyze_options(CLI::App& command, Arguments& arguments) {
  AnalyzeCommand& options = arguments.analyze;
  command.add_option("--device", options.device, "the device (default: tpu7x)");
  command.add_option("--constants", options.constants,
                     "constants of its model, as 'evolve model calibrate' writes them");
  command.add_option("--operands", options.operands,
                     "the operands that the kernels' control flow depends on, a JSON file");
  command.add_option("--operand", options.operand, "one of them: NUMBER=FILE.npy or FILE.json")
      ->expected(1)
      ->take_all();
  command.add_option("--kernel", options.kernel, "only the program with this kernel");
  command.add_option("--flops", options.flops,
                     "floating-point operations that the spec's formula gives");
  command.add_option("--bytes", options.bytes,
                     "bytes that have to move at least, by the spec's formula");
  command.add_option("-C", arguments.folder, "change to this folder first");
  command.add_flag("--json", arguments.common.json, "print JSON");
}

// Has no campaign, and so none of the options that all others have.
void add_analyze(CLI::App& app, Arguments& arguments) {
  auto* analyze = app.add_subcommand(
      "analyze",
      "what the model of a TPU makes of libtpu's dumps, or what a device's trace says; diff");
  analyze->add_option("path", arguments.analyze.paths,
                      "a folder of dumps, dumps, or a compile step's archive; or traces, "
                      "*.xplane.pb, or the folder that JAX's profiler wrote them into");
  analyze->add_option("--module", arguments.analyze.trace.module,
                      "of a trace: only this program, as jit_f");
  analyze
      ->add_option(
          "--runs", arguments.analyze.trace.runs,
          "of a trace: how many executions must be left on each device, those refused taken off")
      ->check(CLI::Range(1, 1'000'000'000));
  analyze
      ->add_option("--floor", arguments.analyze.trace.floor,
                   "of a trace: seconds; a shorter execution is refused")
      ->check(CLI::NonNegativeNumber);
  auto* diff =
      analyze->add_subcommand("diff", "what changed from one program to another, by cause");
  diff->add_option("path", arguments.analyze.paths, "two of these, or of facts.json")
      ->required()
      ->expected(2);
  analyze->add_option("--html", arguments.analyze.html, "write a page about the program, one file");
  add_analyze_options(*analyze, arguments);
  add_analyze_options(*diff, arguments);
}

void add_model(CLI::App& app, Arguments& arguments) {
  auto* model = app.add_subcommand(
      "model", "the model of a TPU: its constants, and how far it is to be believed");
  model->require_subcommand(1);
  auto* calibrate = model->add_subcommand("calibrate", "fit them to measured times");
  calibrate->add_option("times", arguments.model.rows, "a JSON file of measured times")->required();
  auto* validate = model->add_subcommand("validate", "hold the model against measured times");
  validate->add_option("times", arguments.model.rows, "a JSON file of measured times")->required();
  validate->add_option("--constants", arguments.model.constants,
                       "constants of its model, as 'evolve model calibrate' writes them");
  for (auto* command : {calibrate, validate}) {
    command->add_option("--device", arguments.model.device, "the device (default: tpu7x)");
    command->add_option("-C", arguments.folder, "change to this folder first");
    command->add_flag("--json", arguments.common.json, "print JSON");
  }
  calibrate->add_option("--out", arguments.model.out,
                        "the file to write (default: DEVICE-libtpu-VERSION.json)");
}

void add_cluster(CLI::App& app, Arguments& arguments) {
  auto* cluster = app.add_subcommand("cluster", "a Kubernetes cluster: doctor");
  cluster->require_subcommand(1);
  auto* doctor = cluster->add_subcommand(
      "doctor", "what of it is reachable, permitted and schedulable, and what is missing");
  doctor->add_option("--kubeconfig", arguments.cluster.kubeconfig,
                     "the file (default: $KUBECONFIG, or ~/.kube/config, or the pod's own)");
  doctor->add_option("--context", arguments.cluster.context,
                     "the context (default: the file's current one)");
  doctor->add_option("-n,--namespace", arguments.cluster.space,
                     "the namespace (default: the context's)");
  doctor->add_flag("--json", arguments.common.json, "print JSON");
}

void add_agent(CLI::App& app, Arguments& arguments) {
  AgentSettings& settings = arguments.agent;
  auto* agent = app.add_subcommand("agent", "what a node's container runs: orders of a build");
  agent->add_option("--orders", settings.orders, "the folder that they are in")->required();
  agent->add_option("--job", settings.job, "the Job that we are of")->required();
  agent->add_option("--store", settings.store.url, "where files travel: http://… or gs://…")
      ->required();
  agent->add_option("--message", settings.message, "write the records' digests to this file");
  agent->add_option("--folder", settings.folder, "where to work (default: in $TMPDIR)");
  agent->add_option("-j,--jobs", settings.at_once, "orders at a time (default: 1)")
      ->check(CLI::Range(1, 1024));
}

void add_ask(CLI::App& app, Arguments& arguments) {
  auto* ask = app.add_subcommand(
      "ask", "search any space for its best point: JSON lines over stdin and stdout");
  ask->add_option("--sampler", arguments.sampler,
                  fmt::format("how: {} (default: {})", fmt::join(search::sampler_names(), ", "),
                              search::sampler_names().front()));
}

// How edges are run.
void add_build_options(CLI::App& command, Arguments& arguments) {
  BuildCommand& build = arguments.build;
  command.add_option("-j,--jobs", build.jobs, "edges at a time (default: one a core)")
      ->check(CLI::Range(1, 1024));
  command
      .add_option("-k", build.keep_going,
                  "keep going until N edges failed, 0 for no limit (default: 1)")
      ->check(CLI::Range(0, 1'000'000));
  command.add_flag("--local", arguments.common.campaign.is_local,
                   "run everything here, also what the pipeline gives to a cluster");
  command.add_flag("-q,--quiet", build.quiet, "no progress and no summary");
  command
      .add_option("--resource", build.resources,
                  "what there is for steps that need it: memory=16GiB, tpu=4")
      ->expected(1)
      ->take_all();
  command.add_flag("--ci", build.is_ci,
                   "plain output, and junit.xml and summary.md in the state folder's ci");
  command.add_option("--remote-cache", build.remote.url,
                     "take results from this cache: of Bazel's HTTP protocol, or gs://bucket");
  command.add_flag("--remote-write", build.remote.writes, "store results there, too");
  command
      .add_option("--remote-timeout", build.remote.timeout_seconds,
                  "give that server up after so many seconds without answer (default: 10)")
      ->check(CLI::Range(1, 3600));
}

void add_init(CLI::App& app, Arguments& arguments) {
  InitCommand& init = arguments.init;
  auto* command = app.add_subcommand(
      "init", "a new kernel's folder and pipeline from a JAX function: spec, reference and seed");
  command->add_option("name", init.name, "the kernel's")->required();
  command->add_option("--from", init.from, "FILE:FUNCTION")->required();
  command
      ->add_option("--input", init.inputs,
                   "one of its inputs, in their order: 'x=bfloat16[M=4096, K=1024]' (default: what "
                   "a function get_inputs of the file gives)")
      ->expected(1)
      ->take_all();
  command->add_option("-C", arguments.folder, "change to this folder first");
  command->add_flag("--json", arguments.common.json, "print JSON");
}

void add_tune(CLI::App& app, Arguments& arguments) {
  TuneCommand& tune = arguments.tune;
  auto* command = app.add_subcommand(
      "tune",
      "find a kernel's best block sizes for each bucket of sizes, and keep them for callers");
  command->add_option("name", tune.kernel, "a folder of kernels/, or a spec.yaml")->required();
  command->add_option("--case", tune.cases, "only this bench case, of which there may be several")
      ->expected(1)
      ->take_all();
  command->add_option("--rounds", tune.rounds, "of a bucket's campaign (default: 2)")
      ->check(CLI::Range(1, 1000));
  command->add_option("--variants", tune.variants, "a round (default: 8)")
      ->check(CLI::Range(1, 1000));
  add_build_options(*command, arguments);
}

// What a person does for a round.
void add_person(CLI::App& app, Arguments& arguments) {
  ProposeCommand& proposal = arguments.proposal;
  auto* propose =
      app.add_subcommand("propose", "propose a kernel for a place of a round that is a person's");
  propose->add_option("--file", proposal.file, "the kernel, whole or its EVOLVE block; -: stdin");
  propose->add_option("--parent", proposal.parents,
                      "the variants that it was made from (default: as evolve round open says)");
  propose->add_option("--pass", proposal.passed, "no kernel for this place, and why");
  auto* edit = app.add_subcommand(
      "edit", "open an editor on a variant's kernel, and propose what you make of it");
  edit->add_option("from", arguments.variant, "v0007")->required();
  for (CLI::App* command : {propose, edit}) {
    command->add_option("--note", proposal.note, "what is new, in a line: mutators read it, too");
    command->add_option("--variant", proposal.variant, "the place (default: the first open one)");
    command->add_flag("--replace", proposal.replace, "in place of what was proposed for it");
  }

  auto* round = app.add_subcommand("round", "people's part of a round: open, close");
  round->require_subcommand(1);
  auto* open = round->add_subcommand(
      "open", "build the round before, say whose kernels are wanted, and wait for them");
  open->add_flag("!--no-wait", arguments.open_round.waits, "say it, and do not wait");
  add_build_options(*open, arguments);
  auto* close = round->add_subcommand("close", "give up the places that nobody has filled");
  for (CLI::App* command : {open, close}) {
    command->add_option("round", arguments.round, "N or round-N")->required();
    add_common(*command, arguments);
  }
}

// A person's word on what models mean to do.
void add_plan(CLI::App& app, Arguments& arguments) {
  auto* plan = app.add_subcommand(
      "plan", "what models mean to do before they write code: show, approve, reject, edit");
  plan->require_subcommand(1);
  auto* show = plan->add_subcommand("show", "all plans and where they stand, or one of them");
  show->add_option("variant", arguments.plan.variants, "v0007")->expected(0, 1);
  auto* approve = plan->add_subcommand("approve", "have them carried out as they stand");
  auto* reject = plan->add_subcommand("reject", "turn them down: no code is asked for");
  for (CLI::App* command : {approve, reject})
    command->add_option("variant", arguments.plan.variants, "v0007 …")->required();
  auto* edit =
      plan->add_subcommand("edit", "open an editor on one, and approve what you make of it");
  edit->add_option("variant", arguments.plan.variants, "v0007")->required()->expected(1);
  for (CLI::App* command : {approve, edit})
    command->add_option("--note", arguments.plan.note, "for other people");
  reject->add_option("--note", arguments.plan.note, "why: models are told, too")->required();
  for (CLI::App* command : plan->get_subcommands({})) add_common(*command, arguments);
}

void add_learnings(CLI::App& app, Arguments& arguments) {
  auto* learnings =
      app.add_subcommand("learnings", "what the campaign has learned, and what it may have");
  learnings->require_subcommand(0, 1);
  auto* accept = learnings->add_subcommand("accept", "put proposals into your learn.file");
  auto* reject = learnings->add_subcommand("reject", "turn some down there, so that they stay out");
  for (CLI::App* command : {accept, reject}) {
    command->add_option("which", arguments.learnings.handles, "as evolve learnings names them")
        ->required();
    add_common(*command, arguments);
  }
  accept
      ->add_option("--as", arguments.learnings.kind, "what it is, where it is listed as the other")
      ->check(CLI::IsMember({"failure", "success"}));
  add_common(*learnings, arguments);
}

}  // namespace

void add_commands(CLI::App& app, Arguments& arguments) {
  app.require_subcommand(1);
  app.set_version_flag("--version", "evolve " EVOLVE_VERSION);
  app.add_option("-C", arguments.folder, "change to this folder first");

  auto* build = app.add_subcommand("build", "build targets: round-N, vNNNN, or a file");
  build->add_option("target", arguments.build.targets, "what to build (default: the last round)");
  build->add_flag("-n,--dry-run", arguments.build.dry_run, "say what would run, and run nothing");
  build->add_option("--trace", arguments.build.trace,
                    "write the timeline to this file, in Chrome's trace format");
  build
      ->add_option("--check-determinism", arguments.build.check_times,
                   "then run every pure step anew so often, each time in other surroundings")
      ->check(CLI::Range(1, 100));
  add_build_options(*build, arguments);

  auto* rounds = app.add_subcommand(
      "run", "build round after round by itself, until it is enough or the last one is done");
  rounds->add_option("--until", arguments.until,
                     "when it is enough: 'speedup>=1.3 or stagnant 3 or cost>=5usd'; also rounds, "
                     "roofline, tokens, device, wall (default: the pipeline's session.until)");
  add_build_options(*rounds, arguments);

  auto* show = app.add_subcommand(
      "show", "show a variant: its origin, verdicts, times and who paid for them");
  show->add_option("variant", arguments.variant, "v0007, or xla")->required();

  auto* prompt = app.add_subcommand("prompt", "what language models are asked: show");
  prompt->require_subcommand(1);
  auto* show_prompt =
      prompt->add_subcommand("show", "print what was sent for a variant, word for word");
  show_prompt->add_option("variant", arguments.variant, "v0007")->required();
  show_prompt->add_flag("--reply", arguments.has_reply, "and what came back");
  add_common(*show_prompt, arguments);

  add_person(app, arguments);
  add_plan(app, arguments);

  auto* best = app.add_subcommand("best", "write the best variant's kernel.py");
  best->add_option("-o,--out", arguments.out, "file to write (default: stdout)");

  auto* why =
      app.add_subcommand("why", "say what a build would run and why, and what the last one ran");
  why->add_option("target", arguments.target,
                  "round-N, vNNNN, or a file (default: the last round)");

  app.add_subcommand("lock",
                     "write evolve.lock: the toolchain that builds are held to from then on");

  auto* log = app.add_subcommand("log", "show the record of the rounds, or of one");
  log->add_option("round", arguments.round, "N or round-N");

  auto* replay = app.add_subcommand(
      "replay", "repeat a recorded round from the ledger and the blobs alone, byte for byte");
  replay->add_option("round", arguments.replay.round, "round-N (default: the last one)");
  replay->add_option("--record", arguments.replay.record,
                     "another record of it than the last, by its number in `evolve log`");
  replay->add_option("-o,--out", arguments.replay.out,
                     "new folder for the files (default: in the state folder)");
  replay->add_flag("--verify", arguments.replay.verify,
                   "run every pure step anew in a fresh folder, and compare the bytes");
  replay->add_flag("--remeasure", arguments.replay.remeasure,
                   "measure every time anew, and say which agree; the record stays");
  replay->add_flag("--their-judge", arguments.replay.their_judge,
                   "run an imported round's own programs and commands, as they came");
  replay
      ->add_option("--check-determinism", arguments.replay.times,
                   "run every pure step anew so often, each time in other surroundings")
      ->check(CLI::Range(1, 100));
  replay->add_option("--against", arguments.replay.against,
                     "name the first step at which the record parts from this one");
  replay->add_option("-j,--jobs", arguments.replay.jobs, "steps at a time (default: one a core)")
      ->check(CLI::Range(1, 1024));

  auto* clean =
      app.add_subcommand("clean", "remove the campaign's work files; a build restores them");
  clean->add_flag("--all", arguments.clean_all,
                  "the memo and the blobs too, of all campaigns; never the ledger");
  clean->add_flag("-n,--dry-run", arguments.build.dry_run, "say what would be removed");

  auto* bundle = app.add_subcommand("export", "write a recorded round to one file, a bundle");
  bundle->add_option("round", arguments.bundle.round, "round-N (default: the last one)");
  bundle->add_option("--record", arguments.bundle.record,
                     "another record of it than the last, by its number in `evolve log`");
  bundle->add_option("-o,--out", arguments.bundle.path, "the bundle, as r3.evolve")->required();

  auto* import = app.add_subcommand(
      "import", "take over a bundle's round for replays, or another system's task as a new kernel");
  import
      ->add_option(
          "what", arguments.import.format,
          fmt::format("a bundle's file; or a task's format: {}", fmt::join(task_formats(), ", ")))
      ->required();
  import->add_option("file", arguments.import.file, "the task's file");
  import->add_option("--as", arguments.bundle.as, "of a bundle: the campaign's name here");
  import->add_option("--name", arguments.import.name,
                     "of a task: the kernel's name here (default: its own)");

  auto* cache =
      app.add_subcommand("cache", "what lies in the state folder: stats, gc, verify, path");
  cache->require_subcommand(1);
  cache->add_subcommand("stats", "blobs and results, and what they cost and saved, by step");
  auto* gc = cache->add_subcommand(
      "gc",
      "remove blobs that no record pins: the oldest, and those that cost least for their size");
  gc->add_option("--max-size", arguments.cache.max_size, "until no more is left than this, as 20G");
  gc->add_option("--max-age", arguments.cache.max_age, "those unused for longer, as 30d");
  gc->add_flag("-n,--dry-run", arguments.cache.dry_run, "say what would be removed");
  auto* verify = cache->add_subcommand("verify", "read every blob, and remove damaged ones");
  verify->add_option("--remote-cache", arguments.cache.remote.url,
                     "put what this cache has in the place of what is damaged or lost");
  cache->add_subcommand("path", "print the state folder, or a blob's file")
      ->add_option("digest", arguments.cache.digest, "a blob's digest, or its first digits");
  for (CLI::App* command : cache->get_subcommands({})) add_common(*command, arguments);

  auto* kernel = app.add_subcommand("kernel", "a kernel by itself: check, time");
  kernel->require_subcommand(1);
  auto* check = kernel->add_subcommand(
      "check", "refuse a task that zeros, a mean or an input would pass, or that the seed fails");
  auto* time = kernel->add_subcommand(
      "time", "check it, and say how long its seed takes and what bounds it");
  time->add_flag("--write", arguments.writes, "into the kernel's README, too");
  for (CLI::App* command : {check, time}) {
    command->add_option("name", arguments.kernel, "a folder of kernels/, or a spec.yaml")
        ->required();
    command->add_option("-j,--jobs", arguments.build.jobs, "edges at a time (default: one a core)")
        ->check(CLI::Range(1, 1024));
    add_common(*command, arguments);
  }

  add_tune(app, arguments);

  for (CLI::App* command : app.get_subcommands({})) {
    // Those whose commands have them have none themselves.
    if (command->get_subcommands({}).empty()) add_common(*command, arguments);
  }
  add_init(app, arguments);
  add_learnings(app, arguments);
  add_analyze(app, arguments);
  add_model(app, arguments);
  add_cluster(app, arguments);
  add_agent(app, arguments);
  add_ask(app, arguments);
  // For --help alone: it has a command line of its own, see run().
  app.add_subcommand("ninja", "build any Ninja manifest: evolve ninja -h");
}

}  // namespace evolve::cli
