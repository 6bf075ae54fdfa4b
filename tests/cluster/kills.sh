# A campaign that is killed at many instants (KILLS) and built again each time. run.sh sources this file after faults.sh.
# shellcheck shell=bash disable=SC2154 # variables of run.sh

new_campaign killed "session: { max_iterations: 2 }
batch: { variants_per_round: 2, top_k: 1 }
time: { kind: measured, budget: 2 }
cluster:
  store: $STORE/killed
  image: evolve-test
  pools:
    cpu: { steps: [lower, contract, compile, check, interpret], template: ../k8s/cpu-job.yaml, batch: 4, jobs: 4 }
    tpu: { steps: [measure], template: ../k8s/tpu-job.yaml, batch: 2 }"
RANDOM=7
kills=0
: >"$folder/at_work"
while [ "$kills" -lt "${KILLS:-15}" ]; do
  evolve_in build >"$folder/killed.log" 2>&1 &
  builder=$!
  timeout "$((RANDOM % 6)).$((RANDOM % 10))$((RANDOM % 10))" tail --pid="$builder" -f /dev/null || true
  # A build that has ended cannot be killed, so the kills end here.
  during || break
  # Kills the program, and its shell ends, too.
  pkill -9 -P "$builder" || true
  wait "$builder" 2>/dev/null || true
  kills=$((kills + 1))
  kubectl get pods -n evolve --field-selector=status.phase=Running -o 'jsonpath={.items[*].spec.nodeName}{"\n"}' >>"$folder/at_work"
done
evolve_in build >"$folder/killed.log" 2>&1 || fail "killed: $(tail -n 5 "$folder/killed.log")"
measuring=$(grep -c tpu-0 "$folder/at_work" || true)
[ "$kills" -ge 10 ] && [ "$measuring" -ge 1 ] || fail "killed: $kills times, $measuring while something was measured"
once killed
verified killed round-2
nothing_left killed
say "cluster: killed $kills times, $(grep -c . "$folder/at_work") with pods at work, $measuring while they measured"
