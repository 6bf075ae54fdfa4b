#!/usr/bin/env bash
# A benchmark of one process with many Jobs on a real control plane: cluster.sh [JOBS [AT_ONCE]]. The process has JOBS
# Jobs (2000), AT_ONCE (16) at a time. For comparison, kubectl only watches the same pods. See tests/README.md.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source pipelines/setup.sh
source tests/cluster/control_plane.sh
EVOLVE=${EVOLVE:-$PWD/build/release/evolve}
JOBS=${1:-2000} AT_ONCE=${2:-16}
cmake --build build/release --target cluster_bench -- --quiet

folder=$(mktemp -d)
trap 'stop_cluster; rm -rf "$folder"' EXIT
start_campaign_cluster "$folder/cluster" cpu-0
serve_store
kubectl apply -n evolve -f k8s/rbac.yaml >/dev/null
sed -e 's/cpu: "2", memory: 8Gi/cpu: 100m, memory: 128Mi/' k8s/cpu-job.yaml >"$folder/job.yaml"
mkdir -p "$folder/work/out"
"$KUBERNETES" kubectl --kubeconfig "$cluster/admin.kubeconfig" get pods -n evolve --watch -o json >/dev/null &
watcher=$!
echo "$watcher" >"$cluster/watcher.pid"
(cd "$folder/work" && KUBECONFIG=$cluster/admin.kubeconfig "$OLDPWD/build/release/tests/cluster_bench" "$STORE" \
  "$folder/job.yaml" "$JOBS" "$AT_ONCE")
awk -v ticks="$(awk '{print $14 + $15}' "/proc/$watcher/stat")" -v hertz="$(getconf CLK_TCK)" \
  '/^VmHWM/ {printf "kubectl get pods --watch: %.0f MB, %.1f s of a core\n", $2 / 1024, ticks / hertz}' "/proc/$watcher/status"
