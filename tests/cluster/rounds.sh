# A campaign that lowers, compiles, checks and times on nodes. run.sh sources this file.
# shellcheck shell=bash disable=SC2154 # variables of run.sh

# new_campaign NAME KEYS: makes a project with the small kernel, and a pipeline that also has KEYS.
new_campaign() {
  project=$folder/$1
  mkdir -p "$project"
  ln -s "$PWD/rules" "$project/rules"
  ln -s "$PWD/.venv" "$project/.venv"
  ln -s "$PWD/k8s" "$project/k8s"
  cp -r tests/data/small "$project/small"
  rm "$project/small/small.yaml"
  cat >"$project/small/nodes.yaml" <<TEXT
kernel: { name: small, spec: spec.yaml }
$2
TEXT
}
# evolve_in ARGUMENTS…: runs evolve in the project, with the rights of the Role.
evolve_in() {
  (cd "$project" && KUBECONFIG=$cluster/evolve.kubeconfig exec "$EVOLVE" "$@" -p small/nodes.yaml)
}
# nothing_left WHAT: fails if a Job or ConfigMap of ours is on the cluster.
nothing_left() {
  local left
  left=$(kubectl get -n evolve jobs,configmaps -l app.kubernetes.io/managed-by=evolve -o name)
  [ -z "$left" ] || fail "$1 left $left"
}
# verified NAME ROUND: fails unless this machine makes, byte for byte, the same files as the nodes.
verified() {
  evolve_in replay "$2" --verify >"$folder/$1.replay" 2>&1 ||
    fail "$1: this machine makes something else: $(tail -n 4 "$folder/$1.replay")"
}

serve_store
write_token_kubeconfig "token: $token"

new_campaign rounds "session: { max_iterations: 2 }
batch: { variants_per_round: 2, top_k: 1 }
cluster:
  store: $STORE
  image: evolve-test
  pools:
    cpu: { steps: [lower, contract, compile, check, interpret, time], template: ../k8s/cpu-job.yaml, batch: 4, jobs: 4 }"
evolve_in build >"$folder/rounds.log" 2>&1 || fail "rounds: $(tail -n 5 "$folder/rounds.log")"
grep -q '4 variants: 4 ok' "$folder/rounds.log" || fail "rounds: not four variants are good: $(tail -n 5 "$folder/rounds.log")"
grep -q 'nodes: cpu [0-9]* pods' "$folder/rounds.log" || fail "rounds: nodes are not told of: $(tail -n 5 "$folder/rounds.log")"
nothing_left rounds
verified rounds round-2

# A measured step is the only step on its node.
new_campaign measured "session: { max_iterations: 1 }
batch: { variants_per_round: 2, top_k: 1 }
time: { kind: measured, budget: 2 }
cluster:
  store: $STORE
  image: evolve-test
  pools:
    tpu: { steps: [measure], template: ../k8s/tpu-job.yaml, batch: 2 }"
evolve_in build >"$folder/measured.log" 2>&1 || fail "measured: $(tail -n 5 "$folder/measured.log")"
grep -q 'nodes: tpu [0-9]* pods, [0-9]* s, [0-9]* chip-seconds' "$folder/measured.log" ||
  fail "measured: chips are not counted: $(tail -n 5 "$folder/measured.log")"
nothing_left measured
verified measured round-1
