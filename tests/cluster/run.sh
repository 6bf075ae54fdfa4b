#!/usr/bin/env bash
# The cluster tier: a real control plane with TLS and RBAC on this machine, nodes that are processes here, and nginx as
# the store. Evolve is the client of the control plane, with the rights of the Role that we ship, and of the store.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# A build may wait for its cluster for a long time, so this script has a limit. The tier takes six to fifteen minutes.
[ -n "${IS_LIMITED:-}" ] || IS_LIMITED=1 exec timeout --kill-after=60 30m bash tests/cluster/run.sh "$@"
source pipelines/setup.sh
source tests/cluster/control_plane.sh
EVOLVE=${EVOLVE:-$PWD/build/release/evolve}

folder=$(mktemp -d)
# end COMMAND: cleans up. It runs last, even if COMMAND failed unexpectedly; then it prints the ends of the logs.
end() {
  local code=$? pid log
  if [ "$code" != 0 ]; then
    printf 'cluster: FAILED: ended with %s after %s s in: %s\n' "$code" "$SECONDS" "$1" >&2
    # The first errors of a log are far above its end, so they are printed, too.
    for log in "$folder"/*.log; do
      printf '%s: %s\n' "${log##*/}" "$(grep -a 'evolve: error: ' "$log" | head -n 5; tail -n 3 "$log")" >&2
    done
    for log in "$cluster"/*.pid; do
      log=$(basename "$log" .pid)
      ! ended "$log" || printf '%s has ended: %s\n' "$log" "$(tail -n 3 "$cluster/$log.log")" >&2
    done
  fi
  # A build without its cluster goes on for ten minutes, so it is killed first.
  for pid in $(jobs -p); do pkill -9 -P "$pid" || true; done
  stop_cluster
  rm -rf "$folder"
}
trap 'end "$BASH_COMMAND"' EXIT
trap 'exit 124' TERM
start_campaign_cluster "$folder/cluster" \
  tpu-0,google.com/tpu=4,cloud.google.com/gke-tpu-accelerator=tpu7x,cloud.google.com/gke-tpu-topology=2x2x1 cpu-0

failures=0
fail() {
  printf 'cluster: FAILED: %s\n' "$*" >&2
  failures=$((failures + 1))
}
# write_token_kubeconfig USER [PORT]: writes evolve.kubeconfig for a user. USER is the YAML of the user's credential.
write_token_kubeconfig() {
  sed -e "s|^- {name: admin, .*|- {name: evolve, user: {$1}}|" -e 's/user: admin/user: evolve/' \
    -e "s|127.0.0.1:$API_PORT|127.0.0.1:${2:-$API_PORT}|" "$cluster/admin.kubeconfig" >"$cluster/evolve.kubeconfig"
}
kubectl apply -n evolve -f k8s/rbac.yaml >/dev/null
token=$(kubectl create token -n evolve evolve)
printf '%s' "$token" >"$folder/token"
# A plugin gives our credential, as on GKE; the first credential of each process has expired.
cat >"$folder/plugin.sh" <<TEXT
#!/bin/sh
token=\$(cat "$folder/token")
[ -e "$folder/asked.\$PPID" ] || token=expired
: >"$folder/asked.\$PPID"
printf '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"%s"}}' "\$token"
TEXT
# shellcheck disable=SC2034 # used by the parts
PLUGIN="exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, args: [$folder/plugin.sh], interactiveMode: Never}"

[ "${THOROUGH:-}" != all ] || kills=kills
for part in "${@:-rounds bucket faults ${kills:-} manifests doctor}"; do
  # shellcheck disable=SC1090 # the parts
  for name in $part; do
    source "tests/cluster/$name.sh"
    say "cluster: $name: ended after $SECONDS s"
    # A failing campaign waits and tries again for a long time, so the first failure ends the tier.
    [ "$failures" = 0 ] || exit 1
  done
done
say "cluster: rounds, faults, rights, credentials and words as they should be"
