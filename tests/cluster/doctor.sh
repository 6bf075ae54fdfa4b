# Tests of the output of `evolve cluster doctor`, and of the rights that our Role grants. run.sh sources this file,
# which ends the API server.
# shellcheck shell=bash disable=SC2154 # variables of run.sh

# doctor CODE NAME [FLAG…]: writes doctor's output to $folder/NAME; doctor must end with CODE.
doctor() {
  local wanted=$1 name=$2 code=0
  shift 2
  "$EVOLVE" cluster doctor "$@" >"$folder/$name" 2>"$folder/$name.err" || code=$?
  [ "$code" = "$wanted" ] || fail "doctor $name ended with $code, not $wanted: $(cat "$folder/$name" "$folder/$name.err")"
}
# says NAME WORDS: fails unless the output $folder/NAME contains WORDS.
says() {
  grep -qF -- "$2" "$folder/$1" "$folder/$1.err" || fail "$1 does not say '$2': $(cat "$folder/$1" "$folder/$1.err")"
}

# A user who may do everything.
wait_until "$EVOLVE" cluster doctor --kubeconfig "$cluster/admin.kubeconfig"
doctor 0 admin --kubeconfig "$cluster/admin.kubeconfig"
says admin "Kubernetes v1.34"
says admin "as admin"
says admin "all 16 rights"
says admin "tpu7x 2x2x1: 1 of 1 nodes ready, 4 chips"
says admin "without TPU: 1 of 1 nodes ready"

# A user with the Role that we ship. The Role grants all needed verbs, and no other verb.
write_token_kubeconfig "token: $token"
doctor 0 role --kubeconfig "$cluster/evolve.kubeconfig"
says role "as system:serviceaccount:evolve:evolve"
says role "all 16 rights"
says role "unknown: nodes is forbidden"
kubectl auth can-i --list --no-headers -n evolve --as=system:serviceaccount:evolve:evolve |
  awk '$1 !~ /^(\[|selfsubject)/ {print $1, $NF ~ /\]/ ? substr($0, index($0, "[") ) : ""}' | sed -E 's/\[\] +\[\] +//' |
  sort >"$folder/granted"
cat >"$folder/wanted" <<'TEXT'
configmaps [create get list patch delete]
events [list]
jobs.batch [create get list watch delete]
pods [get list watch]
pods/log [get]
resourcequotas [list]
TEXT
diff "$folder/wanted" "$folder/granted" || fail "the Role grants something else than what is needed"
for refused in "get secrets" "create pods" "delete pods" "update jobs.batch" "create pods/exec" "list nodes" "create rolebindings"; do
  # shellcheck disable=SC2086 # two words
  if kubectl auth can-i -q -n evolve --as=system:serviceaccount:evolve:evolve $refused 2>/dev/null; then
    fail "the Role allows: $refused"
  fi
done
if kubectl auth can-i -q -n default --as=system:serviceaccount:evolve:evolve list jobs.batch 2>/dev/null; then
  fail "the Role reaches beyond its namespace"
fi

# A user whose Role lacks something: doctor names it.
kubectl delete -n evolve rolebinding evolve >/dev/null
doctor 1 unbound --kubeconfig "$cluster/evolve.kubeconfig"
says unbound "create, get, list, watch, delete jobs"
says unbound "k8s/rbac.yaml"
kubectl apply -n evolve -f k8s/rbac.yaml >/dev/null

# An expired credential: doctor asks the plugin for a new credential.
write_token_kubeconfig "$PLUGIN"
doctor 0 plugin --kubeconfig "$cluster/evolve.kubeconfig"
says plugin "as system:serviceaccount:evolve:evolve"

# A quota is shown, another namespace is named, and a stranger is rejected.
kubectl create quota few -n evolve --hard=count/jobs.batch=10 >/dev/null
doctor 0 quota --kubeconfig "$cluster/admin.kubeconfig"
says quota "of 10 count/jobs.batch"
doctor 1 nowhere --kubeconfig "$cluster/admin.kubeconfig" -n nowhere
says nowhere "kubectl create namespace nowhere"
write_token_kubeconfig "token: nobody"
doctor 1 stranger --kubeconfig "$cluster/evolve.kubeconfig"
says stranger "the server does not accept the credential"

# A node that must not be used does not count. A server that does not answer is reported.
kubectl cordon tpu-0 >/dev/null
doctor 1 cordoned --kubeconfig "$cluster/admin.kubeconfig"
says cordoned "tpu7x 2x2x1: 0 of 1 nodes ready"
crash apiserver
doctor 1 away --kubeconfig "$cluster/admin.kubeconfig"
says away "/version: "
