#!/usr/bin/env bash
# Prepares a GKE cluster and its project for evolve: the places for the image and the results, the rights to read and
# write them, and the settings that the nodes need. Prints each command before it runs. Leaves existing things as they
# are.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'USAGE'
usage: k8s/gke-setup.sh --project P --location L --cluster C --bucket B [OPTION…]

  --project P         the project's ID
  --location L        the cluster's region or zone; repository and bucket come into its region
  --cluster C         the cluster: of the Standard kind, and for TPU v7x of GKE 1.34.0-gke.2201000 or later
  --bucket B          the store's bucket; pipelines name it `store: gs://B/PREFIX`
  --prefix PREFIX     pods reach the objects below PREFIX alone
  --namespace N       where pods run (evolve)
  --repository R      the repository of images in Artifact Registry (evolve)
  --image IMAGE       what the nodes' DaemonSet runs (the repository's evolve:latest)
  --node-account A    e-mail address of the nodes' service account, to be let read the repository
  --tpu-pool NAME     makes a node pool of TPU v7x, too: 2x2x1, hosts of four chips
  --tpu-zone Z        the pool's zone; a must with --tpu-pool
  --tpu-nodes N       its number of hosts (1)
  --spot              its hosts may be taken away
  --reservation R     its hosts are those of a reservation
  --dry-run           prints the commands, asks nobody, and runs none
USAGE
}
die() {
  printf 'gke-setup.sh: error: %s\n' "$*" >&2
  exit 2
}

project='' location='' cluster='' bucket='' prefix='' namespace=evolve repository=evolve image='' node_account=''
tpu_pool='' tpu_zone='' tpu_nodes=1 reservation='' is_spot=false is_dry=false
while [ $# -gt 0 ]; do
  case $1 in
  --help | -h)
    usage
    exit 0
    ;;
  --spot) is_spot=true ;;
  --dry-run) is_dry=true ;;
  --project | --location | --cluster | --bucket | --prefix | --namespace | --repository | --image | --node-account | \
    --tpu-pool | --tpu-zone | --tpu-nodes | --reservation)
    [ $# -ge 2 ] || die "$1: no value"
    name=${1#--}
    printf -v "${name//-/_}" '%s' "$2"
    shift
    ;;
  *) die "unknown argument '$1'; --help names all" ;;
  esac
  shift
done
for name in project location cluster bucket; do [ -n "${!name}" ] || die "--$name is missing; --help says what it is"; done
if [ -n "$tpu_pool" ] && [ -z "$tpu_zone" ]; then die "--tpu-zone is missing: --tpu-pool needs it"; fi
if $is_spot && [ -n "$reservation" ]; then die "--spot and --reservation exclude each other"; fi

# The name of a zone is its region, a dash and a letter.
region=$(sed -E 's/-[a-z]$//' <<<"$location")
prefix=${prefix%/}
repository_address=$region-docker.pkg.dev/$project/$repository
image=${image:-$repository_address/evolve:latest}

step() { printf '\n# %s\n' "$*"; }
# show COMMAND…: prints the command in the form that a shell takes.
show() {
  printf '+'
  printf ' %q' "$@"
  printf '\n'
}
# run COMMAND…: shows the command and, except in a dry run, runs it.
run() {
  show "$@"
  $is_dry || "$@"
}
# unless_there QUESTION… -- COMMAND…: runs the second command only if the first one fails.
unless_there() {
  local question=()
  while [ "$1" != -- ]; do
    question+=("$1")
    shift
  done
  shift
  if ! $is_dry && "${question[@]}" >/dev/null 2>&1; then
    printf '  is there\n'
  else
    run "$@"
  fi
}
# apply: applies the objects on standard input.
apply() {
  show kubectl apply -f -
  if $is_dry; then sed 's/^/    /'; else kubectl apply -f -; fi
}

step "the services"
run gcloud services enable container.googleapis.com artifactregistry.googleapis.com storage.googleapis.com --project="$project"

step "images: docker build -f k8s/Dockerfile -t $repository_address/evolve:latest . && docker push $repository_address/evolve:latest"
unless_there gcloud artifacts repositories describe "$repository" --location="$region" --project="$project" -- \
  gcloud artifacts repositories create "$repository" --repository-format=docker --location="$region" --project="$project" \
  --description="evolve"
if [ -n "$node_account" ]; then
  run gcloud artifacts repositories add-iam-policy-binding "$repository" --location="$region" --project="$project" \
    --role=roles/artifactregistry.reader --member="serviceAccount:$node_account" --format=none
fi

step "the store"
unless_there gcloud storage buckets describe "gs://$bucket" -- \
  gcloud storage buckets create "gs://$bucket" --project="$project" --location="$region" --uniform-bucket-level-access \
  --public-access-prevention

step "Workload Identity Federation: who a pod is"
pool=$project.svc.id.goog
is_federated() {
  [ "$(gcloud container clusters describe "$cluster" --location="$location" --project="$project" \
    --format='value(workloadIdentityConfig.workloadPool)')" = "$pool" ]
}
unless_there is_federated -- \
  gcloud container clusters update "$cluster" --location="$location" --project="$project" --workload-pool="$pool"
if $is_dry; then
  number=PROJECT_NUMBER
else
  number=$(gcloud projects describe "$project" --format='value(projectNumber)')
fi

step "the pods' service account may read and write the store's objects, and nothing else"
condition=None
[ -z "$prefix" ] ||
  condition="title=evolve-store,expression=resource.name.startsWith(\"projects/_/buckets/$bucket/objects/$prefix/\")"
run gcloud storage buckets add-iam-policy-binding "gs://$bucket" --role=roles/storage.objectUser --condition="$condition" \
  --member="principal://iam.googleapis.com/projects/$number/locations/global/workloadIdentityPools/$pool/subject/ns/$namespace/sa/evolve-node" \
  --format=none

if [ -n "$tpu_pool" ]; then
  step "TPU v7x: a pool of single hosts, whose topology 2x2x1 follows of the machine's type"
  how=()
  if $is_spot; then how=(--spot); fi
  if [ -n "$reservation" ]; then how=(--reservation-affinity=specific --reservation="$reservation"); fi
  unless_there gcloud container node-pools describe "$tpu_pool" --cluster="$cluster" --location="$location" --project="$project" -- \
    gcloud container node-pools create "$tpu_pool" --cluster="$cluster" --location="$location" --project="$project" \
    --node-locations="$tpu_zone" --machine-type=tpu7x-standard-4t --num-nodes="$tpu_nodes" --enable-gvnic \
    --workload-metadata=GKE_METADATA "${how[@]}"
fi

step "the cluster"
run gcloud container clusters get-credentials "$cluster" --location="$location" --project="$project"
apply <<YAML
apiVersion: v1
kind: Namespace
metadata:
  name: $namespace
  labels:
    pod-security.kubernetes.io/enforce: restricted
YAML
run kubectl apply -n "$namespace" -f k8s/rbac.yaml
run kubectl apply -n "$namespace" -f k8s/network-policy.yaml

step "the nodes: profiles of the sandbox"
sed "s|image: evolve\$|image: $image|" k8s/node-profiles.yaml | apply
profiles=(kubectl create configmap evolve-profiles -n evolve-nodes --from-file=evolve.json=k8s/seccomp.json
  --from-file=evolve=k8s/apparmor.profile --dry-run=client -o yaml)
show "${profiles[@]}"
# Unlike create, apply works if the ConfigMap exists already.
if $is_dry; then show kubectl apply -f -; else "${profiles[@]}" | apply; fi
run kubectl rollout status -n evolve-nodes daemonset/evolve-profiles --timeout=10m

step "what is missing yet, says: evolve cluster doctor -n $namespace"
