# A campaign with the faults that clusters have. run.sh sources this file after rounds.sh.
# shellcheck shell=bash disable=SC2154 # variables of run.sh

# once NAME: fails if the store of campaign NAME got a run's record twice, because then a run was measured twice.
once() {
  local twice
  twice=$(awk -v place="/$1/ac/" '$6 == "\"PUT" && index($7, place) == 1 {print $7}' "$cluster/nginx/access.log" | sort | uniq -d)
  [ -z "$twice" ] || fail "$1: made twice: $twice"
}
# some_pod: prints the folder of a running pod.
some_pod() {
  local pid
  for pid in "$cluster"/pods/*/pid; do
    # The numbers of ended processes are reused, so the process must also be a bwrap.
    [ "$(cat "/proc/$(cat "$pid")/comm" 2>/dev/null)" = bwrap ] && { dirname "$pid"; return 0; }
  done
  return 1
}
# during: succeeds while the campaign is at work.
during() { kill -0 "$builder" 2>/dev/null; }

# The campaign has a folder of the store to itself, which is empty at first.
POOLS="session: { max_iterations: 3 }
batch: { variants_per_round: 2, top_k: 1 }
cluster:
  store: $STORE/storm
  image: evolve-test
  pools:
    cpu: { steps: [lower, contract, compile, check, interpret, time], template: ../k8s/cpu-job.yaml, batch: 4, jobs: 4 }"

# A campaign through a proxy that answers 429 and 500 and cuts watches, with an expired credential. Meanwhile pods are
# killed, a Job is deleted, a node is drained and the API server is restarted.
storm_port=$(free_ports 1)
start storm .venv/bin/python tests/cluster/storm_proxy.py "$storm_port" "$API_PORT" "$cluster/pki/server.crt" \
  "$cluster/pki/server.key" "$cluster/pki/ca.crt"
write_token_kubeconfig "$PLUGIN" "$storm_port"
new_campaign storm "$POOLS"
evolve_in build >"$folder/storm.log" 2>&1 &
builder=$!
# did COMMAND…: runs a command that disturbs the campaign. It fails if COMMAND found no target, or if COMMAND failed
# ($folder/did.log).
did() { "$@" >>"$folder/did.log" 2>&1; }
do_kill() { did kill -9 "$(cat "$(some_pod)/pid")"; }
do_delete() {
  # Takes one of several Jobs without a pipe, because a program that writes into a closed pipe ends with an error.
  local jobs
  jobs=$(kubectl get -n evolve jobs -o name)
  [ -n "$jobs" ] && did kubectl delete -n evolve "${jobs%%$'\n'*}" --wait=false
}
do_drain() {
  local code=0
  did kubectl drain cpu-0 --force --delete-emptydir-data --grace-period=1 --timeout=60s || code=1
  did kubectl uncordon cpu-0 && return "$code"
}
do_restart() {
  crash apiserver
  start_apiserver
  wait_until kubectl get --raw /readyz
}
at_work() { ! during || some_pod; }
done_to=()
for what in kill delete drain restart kill delete; do
  for _ in {1..20}; do
    wait_until at_work
    during || break
    if "do_$what"; then
      done_to+=("$what")
      break
    fi
  done
done
wait "$builder" || fail "storm: $(tail -n 5 "$folder/storm.log")"
for what in kill delete drain restart; do
  [[ " ${done_to[*]} " == *" $what "* ]] || fail "storm: no $what could happen to it, only ${done_to[*]}: $(tail -n 5 "$folder/did.log")"
done
grep -q '6 variants: 6 ok' "$folder/storm.log" || fail "storm: not six variants are good: $(tail -n 5 "$folder/storm.log")"
write_token_kubeconfig "token: $token"
once storm
verified storm round-3
nothing_left storm
kill "$(cat "$cluster/storm.pid")"
say "cluster: storm: ${done_to[*]}"
