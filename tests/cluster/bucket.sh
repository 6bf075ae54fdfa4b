# A round whose files pass through a bucket. `tests/cluster/run.sh rounds bucket` sources this file after rounds.sh.
# build/servers/fake-gcs-server must exist (tests/servers/servers.sh).
# shellcheck shell=bash disable=SC2154 # variables of run.sh and rounds.sh
source tests/servers/store.sh

# round_by_bucket: builds a round. The pods get the emulator's address from their template, like all other settings.
round_by_bucket() {
  local STORAGE_EMULATOR_HOST
  STORAGE_EMULATOR_HOST=127.0.0.1:$(free_ports 1)
  export STORAGE_EMULATOR_HOST
  start bucket bucket_server "$folder/bucket" "${STORAGE_EMULATOR_HOST##*:}"
  wait_until curl -s -o /dev/null "http://$STORAGE_EMULATOR_HOST/"
  new_campaign bucket "session: { max_iterations: 1 }
batch: { variants_per_round: 2, top_k: 1 }
cluster:
  store: gs://machines/team
  image: evolve-test
  pools:
    cpu: { steps: [lower, contract, compile, check, interpret, time], template: pod.yaml, batch: 4, jobs: 4 }"
  sed "s|^\( *\)image: evolve$|&\n\1env: [{name: STORAGE_EMULATOR_HOST, value: '$STORAGE_EMULATOR_HOST'}]|" \
    k8s/cpu-job.yaml >"$project/small/pod.yaml"
  evolve_in build >"$folder/bucket.log" 2>&1 || fail "bucket: $(tail -n 5 "$folder/bucket.log")"
  grep -q '2 variants: 2 ok' "$folder/bucket.log" || fail "bucket: not both variants are good: $(tail -n 5 "$folder/bucket.log")"
  [ -n "$(find "$folder/bucket/machines/team/cas" -type f)" ] || fail "bucket: no file lies there"
  nothing_left bucket
  verified bucket round-1
}
round_by_bucket
