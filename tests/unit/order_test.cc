// Tests of the data for a node: orders and their names, records of runs, and the Jobs that are made
// from templates.
#include "k8s/order.h"

#include <nlohmann/json.hpp>

#include "engine/core/crypto/sha256.h"
#include "k8s/job.h"
#include "k8s/object_state.h"
#include "tests/catch.h"

using namespace evolve;
using namespace evolve::k8s;
using nlohmann::json;

namespace {

const std::vector<MachineBinding> kMachine = {
    {"work", "/home/me/state/c"}, {"rules", "rules"}, {"python", "/home/me/.venv/bin/python"}};

StoredFile file_of(const std::string& text) {
  return {sha256(text), static_cast<int64_t>(text.size()), false};
}

Command command_of(const std::string& variant) {
  Command out;
  out.line = "/home/me/.venv/bin/python /home/me/state/c/steps/x.py --in /home/me/state/c/" +
             variant + " --rules=rules/x";
  Errand errand;
  errand.key = digest_of("action");
  errand.inputs = {"/home/me/state/c/" + variant};
  errand.surroundings = {"/home/me/state/c/steps/x.py"};
  errand.outputs = {"/home/me/state/c/" + variant + ".out"};
  errand.depfile = "/home/me/state/c/" + variant + ".d";
  out.errand = errand;
  return out;
}

Order order_for(const std::string& variant, const std::string& input, const std::string& step) {
  const std::vector<StoredFile> files = {file_of(input), file_of(step)};
  auto order = order_of(command_of(variant), kMachine, files);
  REQUIRE(order);
  return *order;
}

}  // namespace

TEST_CASE("an order contains nothing about its machine, and can be read back") {
  const Order order = order_for("v1", "input", "step");
  CHECK(order.command == "$python $work/steps/x.py --in $work/v1 --rules=$rules/x");
  CHECK(order.outputs == std::vector<std::string>{"$work/v1.out"});
  const std::string text = encode_order(order);
  CHECK(text.find("/home/me") == std::string::npos);
  auto read = decode_order(text);
  REQUIRE(read);
  CHECK(encode_order(*read) == text);
  const std::vector<MachineBinding> pod = {
      {"work", "work"}, {"rules", "rules"}, {"python", "/opt/evolve/.venv/bin/python"}};
  CHECK(machine_command(read->command, pod) ==
        "/opt/evolve/.venv/bin/python work/steps/x.py --in work/v1 --rules=rules/x");
}

TEST_CASE("an order's name is that of its action and of what is beside it") {
  const std::string name = order_name(order_for("v1", "input", "step"));
  CHECK(is_sha256(name));
  // The key identifies the inputs, whatever their names are.
  CHECK(order_name(order_for("v2", "input", "step")) == name);
  CHECK(order_name(order_for("v1", "input", "another step")) != name);
}

TEST_CASE("an order that leads out of its folder is refused") {
  const std::string text = encode_order(order_for("v1", "input", "step"));
  for (const char* path : {"/etc/passwd", "../x", "a/../../x", "", "."}) {
    json order = json::parse(text);
    order["outputs"] = {path};
    CHECK_FALSE(decode_order(order.dump()));
    order = json::parse(text);
    order["inputs"][0][0] = path;
    CHECK_FALSE(decode_order(order.dump()));
  }
  for (const char* other : {"", "{}", "[]", R"({"format":"evolve-order-2"})"}) {
    CHECK_FALSE(decode_order(other));
  }
  Command outside = command_of("v1");
  outside.errand->inputs = {"/elsewhere/file"};
  const std::vector<StoredFile> files = {file_of("a"), file_of("b")};
  auto order = order_of(outside, kMachine, files);
  REQUIRE_FALSE(order);
  CHECK(order.error().message.find("/elsewhere/file") != std::string::npos);
}

TEST_CASE("a record of a run counts only for its own order") {
  Run run;
  run.order = "o";
  run.output = "said\n";
  run.seconds = 1.5;
  run.discovered = {"$work/steps/y.py"};
  run.files = {file_of("out")};
  auto read = decode_run("o", encode_run(run));
  REQUIRE(read);
  CHECK(read->output == run.output);
  CHECK(read->discovered == run.discovered);
  CHECK(read->files == run.files);
  CHECK_FALSE(decode_run("p", encode_run(run)));
  CHECK_FALSE(decode_run("o", {{}, "nonsense"}));
  CHECK(run_name("o") != run_name("o", "job"));
}

namespace {

// A short version of Glaucis' own template.
constexpr const char* kGlaucis = R"(
apiVersion: batch/v1
kind: Job
metadata:
  name: ${JOB_NAME}
  namespace: default
  labels: {app: kernel-eval, variant-id: "${VARIANT_ID}"}
spec:
  backoffLimit: 0
  activeDeadlineSeconds: ${ACTIVE_DEADLINE}
  ttlSecondsAfterFinished: 3600
  template:
    metadata: {labels: {app: kernel-eval, job-name: "${JOB_NAME}"}}
    spec:
      serviceAccountName: kernel-eval
      restartPolicy: Never
      nodeSelector: {cloud.google.com/gke-tpu-accelerator: tpu7x, cloud.google.com/gke-tpu-topology: 2x2x1}
      containers:
      - name: kernel-eval
        image: python:3.12
        securityContext: {privileged: true}
        command: [bash, -c, "git clone --branch=$BRANCH"]
        env:
        - {name: BRANCH, value: "${BRANCH}"}
        - {name: EVAL_PAYLOAD, valueFrom: {configMapKeyRef: {name: "${JOB_NAME}-payload", key: payload}}}
        resources: {limits: {google.com/tpu: "4"}, requests: {google.com/tpu: "4"}}
        volumeMounts:
        - {name: dshm, mountPath: /dev/shm}
        - {name: eval-payload, mountPath: /etc/eval-payload, readOnly: true}
      volumes:
      - {name: dshm, emptyDir: {medium: Memory}}
      - {name: eval-payload, configMap: {name: "${JOB_NAME}-payload"}}
)";

JobSettings settings_with(const std::string& text) {
  JobSettings out;
  out.template_path = "job.yaml";
  out.template_text = text;
  out.space = "lab";
  out.image = "evolve:1";
  out.store = "gs://bucket/x";
  out.branch = "main";
  out.order_seconds = 100;
  return out;
}

}  // namespace

TEST_CASE("a template of Glaucis' is taken as it is, and runs the agent") {
  const std::string order(64, 'a');
  auto job = make_job(settings_with(kGlaucis), "evolve-x", {order, std::string(64, 'b')},
                      {{label::kOwner, "me"}});
  REQUIRE(job);
  CHECK((*job)["metadata"]["name"] == "evolve-x");
  CHECK((*job)["metadata"]["namespace"] == "lab");
  CHECK((*job)["metadata"]["labels"]["app"] == "kernel-eval");
  CHECK((*job)["metadata"]["labels"][label::kOwner] == "me");
  const json& spec = (*job)["spec"];
  CHECK(spec["activeDeadlineSeconds"] == 500);
  CHECK(spec["backoffLimit"] == 0);
  const json& pod = spec["template"]["spec"];
  CHECK(pod["nodeSelector"]["cloud.google.com/gke-tpu-topology"] == "2x2x1");
  const json& container = pod["containers"][0];
  CHECK(container["image"] == "evolve:1");
  CHECK(container["resources"]["limits"]["google.com/tpu"] == "4");
  CHECK(container["command"] == json({"/opt/evolve/bin/evolve", "agent"}));
  const json& words = container["args"];
  CHECK(words[1] == "/etc/eval-payload");
  CHECK(words[3] == "evolve-x");
  // Our orders replace the template's payload, and nothing refers to that payload any more.
  CHECK(pod["volumes"][1]["projected"]["sources"].size() == 2);
  CHECK(pod["volumes"][1]["projected"]["sources"][0]["configMap"]["name"] == claim_name(order));
  CHECK(container["env"].size() == 2);
  CHECK(job->dump().find("-payload\"") == job->dump().find("eval-payload\"") + 4);
  CHECK(pod["restartPolicy"] == "Never");
}

TEST_CASE("a file that is not a template of a Job is refused with its place") {
  for (const char* text : {"kind: Pod\n", "kind: Job\n", "kind: Job\nspec: text\n", "- a\n",
                           "kind: Job\nspec: {template: {spec: {containers: []}}}\n"}) {
    auto job = make_job(settings_with(text), "x", {"o"}, {});
    REQUIRE_FALSE(job);
    CHECK(job.error().code == ErrorCode::bad_input);
    CHECK(job.error().message.starts_with("job.yaml: "));
  }
  auto broken = make_job(settings_with("kind: [\n"), "x", {"o"}, {});
  REQUIRE_FALSE(broken);
  CHECK(broken.error().message.starts_with("job.yaml:2"));
}

TEST_CASE("a queue of Kueue's has Jobs start suspended") {
  JobSettings settings = settings_with(kGlaucis);
  settings.queue = "tpus";
  settings.priority_class = "low";
  auto job = make_job(settings, "x", {std::string(64, 'a')}, {});
  REQUIRE(job);
  CHECK((*job)["spec"]["suspend"] == true);
  CHECK((*job)["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "tpus");
  CHECK((*job)["spec"]["template"]["spec"]["priorityClassName"] == "low");
}

TEST_CASE("a Job's name is that of its orders, and a label has nothing that is not allowed there") {
  const std::string order(64, 'a');
  CHECK(job_name({order}, 0) == "evolve-" + std::string(40, 'a'));
  CHECK(job_name({order}, 2) == "evolve-" + std::string(40, 'a') + "-2");
  CHECK(job_name({order, "b"}, 0) != job_name({"b", order}, 0));
  CHECK(label_value("a b/c.d_") == "a-b-c.d");
  CHECK(label_value(std::string(80, 'x')).size() == 63);
}

TEST_CASE("a pod's end is told in words, and whether another one may end otherwise") {
  auto pod_of = [](const json& status) {
    return pod_state({{"metadata", {{"name", "p"}}}, {"status", status}});
  };
  const PodState killed =
      pod_of({{"phase", "Failed"},
              {"containerStatuses",
               {{{"state", {{"terminated", {{"exitCode", 137}, {"reason", "OOMKilled"}}}}}}}}});
  CHECK(trouble_of(killed).find("memory") != std::string::npos);
  CHECK_FALSE(may_pass(killed));
  const PodState preempted = pod_of({{"phase", "Failed"},
                                     {"conditions",
                                      {{{"type", "DisruptionTarget"},
                                        {"status", "True"},
                                        {"reason", "PreemptionByScheduler"}}}}});
  CHECK(trouble_of(preempted) == "stopped from outside: PreemptionByScheduler");
  CHECK(may_pass(preempted));
  const PodState waiting = pod_of({{"phase", "Pending"},
                                   {"conditions",
                                    {{{"type", "PodScheduled"},
                                      {"status", "False"},
                                      {"message", "0/1 nodes are available"}}}}});
  CHECK(trouble_of(waiting) == "waiting for a node: 0/1 nodes are available");
  const PodState pulling = pod_of(
      {{"phase", "Pending"},
       {"containerStatuses",
        {{{"state", {{"waiting", {{"reason", "ErrImagePull"}, {"message", "not found"}}}}}}}}});
  CHECK(trouble_of(pulling) == "ErrImagePull: not found");
  CHECK(trouble_of(pod_of({{"phase", "Running"}})).empty());
  // The fields may have any values.
  CHECK(trouble_of(pod_of({{"phase", nullptr}, {"conditions", "x"}, {"containerStatuses", 3}}))
            .empty());
}
