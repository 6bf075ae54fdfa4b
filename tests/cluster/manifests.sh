# Checks of the manifests that we ship. The API server must accept them with strict validation and its strictest
# standard for pods. Image, templates, profiles and set-up must agree. run.sh sources this file.
# shellcheck shell=bash disable=SC2154 # variables of run.sh

# substituted FILE: prints a template with the values that evolve fills in, as far as the cluster checks them. Prints
# other files as they are.
substituted() {
  JOB_NAME=evolve-test ACTIVE_DEADLINE=60 .venv/bin/python - "$1" <<'PYTHON'
import os, re, sys
with open(sys.argv[1], encoding="utf-8") as file:
    text = re.sub(r"\$\{(\w+)\}", lambda name: os.environ[name[1]], file.read())
made = "metadata:\n      labels: {app.kubernetes.io/managed-by: evolve}\n    spec:\n      restartPolicy: Never\n"
print(text.replace("spec:\n      serviceAccountName", made + "      serviceAccountName", 1))
PYTHON
}
# accepted NAMESPACE WHAT: fails unless the server accepts the manifest on standard input without a warning.
accepted() {
  local said
  said=$(kubectl apply ${1:+-n "$1"} --dry-run=server --validate=strict -f - 2>&1) || fail "$2 is not accepted: $said"
  case $said in *[Ww]arning* | *"would violate"*) fail "$2 is warned of: $said" ;; esac
}

# The set-up runs with a fake gcloud, and with a kubectl that asks this cluster.
mkdir -p "$folder/tools"
cat >"$folder/tools/gcloud" <<SCRIPT
#!/bin/sh
echo "gcloud \$*" >>"$folder/called"
case "\$*" in *projectNumber*) echo 12345 ;; *" describe "*) exit 1 ;; esac
SCRIPT
cat >"$folder/tools/kubectl" <<SCRIPT
#!/bin/sh
echo "kubectl \$*" >>"$folder/called"
# No node here has the image, so nothing is ever rolled out.
[ "\$1" != rollout ] || exit 0
exec "$KUBERNETES" kubectl --kubeconfig "$cluster/admin.kubeconfig" "\$@"
SCRIPT
chmod +x "$folder/tools/gcloud" "$folder/tools/kubectl"
# set_up NAME [OPTION…]: runs gke-setup.sh with the OPTIONs. The output goes to $folder/NAME.
set_up() {
  local name=$1
  shift
  : >"$folder/called"
  PATH=$folder/tools:$PATH k8s/gke-setup.sh --project p1 --location us-central1-c --cluster c --bucket b --prefix e \
    --namespace strict --tpu-pool tpu --tpu-zone us-central1-c --spot "$@" >"$folder/$name" 2>&1 ||
    fail "gke-setup.sh, $name, ended with $?: $(tail -n 5 "$folder/$name")"
}
set_up dry --dry-run
[ ! -s "$folder/called" ] || fail "gke-setup.sh --dry-run ran: $(cat "$folder/called")"
for words in --machine-type=tpu7x-standard-4t roles/storage.objectUser \
  workloadIdentityPools/p1.svc.id.goog/subject/ns/strict/sa/evolve-node us-central1-docker.pkg.dev/p1/evolve/evolve:latest; do
  grep -qF -- "$words" "$folder/dry" || fail "gke-setup.sh --dry-run does not say '$words'"
done
set_up first
# The set-up must do exactly what --dry-run printed.
sed -n 's/^+ //p' "$folder/dry" | sed 's/PROJECT_NUMBER/12345/' >"$folder/said"
sed -n 's/^+ //p' "$folder/first" | diff "$folder/said" - || fail "gke-setup.sh does not do what --dry-run says"
set_up again
kubectl get -n evolve-nodes configmap evolve-profiles -o 'jsonpath={.data.evolve\.json}' | cmp -s - k8s/seccomp.json ||
  fail "the ConfigMap of the nodes does not hold k8s/seccomp.json"
for made in serviceaccount/evolve-node role/evolve networkpolicy/evolve; do
  kubectl get -n strict "$made" >/dev/null || fail "gke-setup.sh did not make $made"
done

for file in k8s/*.yaml; do
  space=strict
  if grep -q '^  namespace: ' "$file"; then space=; fi
  accepted "$space" "$file" < <(substituted "$file")
done

# The server accepts a Job whatever its pods are, so the pods are checked, too.
for file in k8s/*-job.yaml; do
  substituted "$file" | kubectl create -n strict --dry-run=client -o json -f - | .venv/bin/python -c '
import json, sys
template = json.load(sys.stdin)["spec"]["template"]
template["metadata"]["name"] = "evolve-test"
print(json.dumps({"apiVersion": "v1", "kind": "Pod", **template}))' >"$folder/pod.json"
  accepted strict "a pod of $file" <"$folder/pod.json"
  kubectl get -n strict networkpolicy evolve -o json | .venv/bin/python -c '
import json, sys
selected = json.load(sys.stdin)["spec"]["podSelector"].get("matchLabels", {})
with open(sys.argv[1]) as file:
    labels = json.load(file)["metadata"]["labels"]
sys.exit(not selected or not selected.items() <= labels.items())' "$folder/pod.json" ||
    fail "k8s/network-policy.yaml is not of the pods of $file"
  user=$(sed -n 's/^ *runAsUser: \([0-9]*\)$/\1/p' "$file")
  group=$(sed -n 's/^ *runAsGroup: \([0-9]*\)$/\1/p' "$file")
  grep -qx "USER $user:$group" k8s/Dockerfile || fail "$file runs as $user:$group, the image as $(grep ^USER k8s/Dockerfile)"
  # The template must name only profiles that the nodes get.
  profile=$(sed -n 's/.*seccompProfile: {type: Localhost, localhostProfile: \([^}]*\)}.*/\1/p' "$file")
  grep -qF " /node/${profile:-none} " k8s/node-profiles.yaml || fail "$file names the seccomp profile '$profile', which no node has"
  profile=$(sed -n 's/.*appArmorProfile: {type: Localhost, localhostProfile: \([^}]*\)}.*/\1/p' "$file")
  grep -q "^profile ${profile:-none} " k8s/apparmor.profile || fail "$file names the AppArmor profile '$profile', which no node has"
done
# The standard must be in force, so the server must reject the same pod as root.
sed -E 's/"runAsUser": [0-9]+/"runAsUser": 0/' "$folder/pod.json" >"$folder/root.json"
if kubectl apply -n strict --dry-run=server -f "$folder/root.json" >"$folder/root" 2>&1 || ! grep -q 'violates PodSecurity' "$folder/root"; then
  fail "a pod that runs as root is not turned down: $(cat "$folder/root")"
fi

# The seccomp profile must allow the sandbox's calls, and only one combination of namespaces: all of them.
PYTHONPATH=rules .venv/bin/python -B - <<'PYTHON' || fail "k8s/seccomp.json is not of what rules/process/sandbox.py calls"
import json, sys
from process import sandbox
with open("k8s/seccomp.json", encoding="utf-8") as file:
    rules = json.load(file)["syscalls"]
allowed = {name: rule.get("args", []) for rule in rules if rule["action"] == "SCMP_ACT_ALLOW" for name in rule["names"]}
called = {"capset", "mount", "mount_setattr", "pivot_root", "prctl", "seccomp", "umount2", "unshare"}
flags = 0
for name in ("NS", "PID", "NET", "IPC", "UTS", "USER"):
    flags |= getattr(sandbox, f"_CLONE_NEW{name}")
if not called <= set(allowed) or [(one["value"], one["op"]) for one in allowed["unshare"]] != [(flags, "SCMP_CMP_EQ")]:
    sys.exit(f"not allowed: {sorted(called - set(allowed))}; unshare: {allowed.get('unshare')}, and it asks for {flags}")
PYTHON
kubectl delete namespace strict evolve-nodes --wait=false >/dev/null
