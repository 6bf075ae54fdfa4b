# A cluster on this machine: etcd, the control plane with TLS and RBAC, and a node agent (tests/servers/kubernetes).
# Other scripts source this file after pipelines/setup.sh.
# shellcheck shell=bash

source tests/servers/ports.sh
KUBERNETES=${KUBERNETES:-$PWD/build/servers/kubernetes}

# sign NAME SUBJECT [EXTENSIONS]: makes a key, and a certificate by the cluster's authority.
sign() {
  openssl req -new -newkey rsa:2048 -nodes -keyout "$cluster/pki/$1.key" -subj "$2" -out "$cluster/pki/$1.csr" 2>/dev/null
  openssl x509 -req -in "$cluster/pki/$1.csr" -CA "$cluster/pki/ca.crt" -CAkey "$cluster/pki/ca.key" -CAcreateserial -days 2 \
    -extfile <(printf '%s\n' "${3:-extendedKeyUsage=clientAuth}") -out "$cluster/pki/$1.crt" 2>/dev/null
}

# write_kubeconfig NAME: writes the kubeconfig of the user with the certificate NAME.
write_kubeconfig() {
  local data="certificate-authority: $cluster/pki/ca.crt"
  cat >"$cluster/$1.kubeconfig" <<TEXT
apiVersion: v1
kind: Config
current-context: test
clusters:
- {name: test, cluster: {server: "https://127.0.0.1:$API_PORT", $data}}
users:
- {name: $1, user: {client-certificate: $cluster/pki/$1.crt, client-key: $cluster/pki/$1.key}}
contexts:
- {name: test, context: {cluster: test, user: $1, namespace: evolve}}
TEXT
}

make_certificates() {
  mkdir -p "$cluster/pki"
  openssl req -x509 -newkey rsa:2048 -nodes -keyout "$cluster/pki/ca.key" -subj /CN=test-authority -days 2 \
    -addext keyUsage=critical,keyCertSign,cRLSign -out "$cluster/pki/ca.crt" 2>/dev/null
  openssl genrsa -out "$cluster/pki/accounts.key" 2048 2>/dev/null
  sign server /CN=kube-apiserver "subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:kubernetes.default.svc
extendedKeyUsage=serverAuth,clientAuth"
  sign admin /O=system:masters/CN=admin
  sign controllers /CN=system:kube-controller-manager
  sign scheduler /CN=system:kube-scheduler
}

# start NAME COMMAND…: starts a server in the background. The server's output goes to $cluster/NAME.log.
start() {
  local name=$1
  shift
  "$@" >>"$cluster/$name.log" 2>&1 &
  echo $! >"$cluster/$name.pid"
}

start_apiserver() {
  : >"$cluster/apiserver.log"
  start apiserver "$KUBERNETES" kube-apiserver --etcd-servers="http://127.0.0.1:$ETCD_PORT" --bind-address=127.0.0.1 \
    --advertise-address=127.0.0.1 --secure-port="$API_PORT" --service-cluster-ip-range=10.96.0.0/16 \
    --client-ca-file="$cluster/pki/ca.crt" --tls-cert-file="$cluster/pki/server.crt" \
    --tls-private-key-file="$cluster/pki/server.key" --authorization-mode=RBAC \
    --service-account-issuer=https://kubernetes.default.svc --service-account-key-file="$cluster/pki/accounts.key" \
    --service-account-signing-key-file="$cluster/pki/accounts.key" \
    --kubelet-certificate-authority="$cluster/pki/ca.crt" --kubelet-client-certificate="$cluster/pki/admin.crt" \
    --kubelet-client-key="$cluster/pki/admin.key"
}

# wait_until COMMAND…: repeats COMMAND until COMMAND succeeds, for a minute at most.
wait_until() {
  local tries=0
  until "$@" >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ "$tries" -lt 600 ] || die "did not come to be within a minute: $*"
    sleep 0.1
  done
}

kubectl() { "$KUBERNETES" kubectl --request-timeout=30s --kubeconfig "$cluster/admin.kubeconfig" "$@"; }

# start_cluster FOLDER IMAGE NODE…: starts a cluster with its files in FOLDER and with these nodes, written as for the
# node agent's --node. IMAGE is the folder of the image "evolve-test".
start_cluster() {
  cluster=$1
  local image=$2 node nodes=()
  shift 2
  mkdir -p "$cluster"
  read -r ETCD_PORT ETCD_PEER_PORT API_PORT CONTROLLERS_PORT SCHEDULER_PORT <<<"$(free_ports 5)"
  make_certificates
  write_kubeconfig admin
  write_kubeconfig controllers
  write_kubeconfig scheduler
  # The data of a test need not survive a power failure.
  start etcd etcd --data-dir "$cluster/etcd" --unsafe-no-fsync --listen-client-urls "http://127.0.0.1:$ETCD_PORT" \
    --advertise-client-urls "http://127.0.0.1:$ETCD_PORT" --listen-peer-urls "http://127.0.0.1:$ETCD_PEER_PORT" \
    --initial-advertise-peer-urls "http://127.0.0.1:$ETCD_PEER_PORT" \
    --initial-cluster "default=http://127.0.0.1:$ETCD_PEER_PORT"
  start_apiserver
  wait_until kubectl get --raw /readyz
  start controllers "$KUBERNETES" kube-controller-manager --kubeconfig="$cluster/controllers.kubeconfig" \
    --secure-port="$CONTROLLERS_PORT" --bind-address=127.0.0.1 --leader-elect=false --use-service-account-credentials \
    --service-account-private-key-file="$cluster/pki/accounts.key" --root-ca-file="$cluster/pki/ca.crt" \
    --node-monitor-period=1s --node-monitor-grace-period=12s --kube-api-qps=500 --kube-api-burst=1000 \
    --concurrent-job-syncs=20 "--controllers=*,-bootstrapsigner,-tokencleaner"
  start scheduler "$KUBERNETES" kube-scheduler --kubeconfig="$cluster/scheduler.kubeconfig" \
    --secure-port="$SCHEDULER_PORT" --bind-address=127.0.0.1 --leader-elect=false --kube-api-qps=500 --kube-api-burst=1000
  for node in "$@"; do nodes+=(--node "$node"); done
  mkdir -p "$cluster/pods"
  start nodes "$KUBERNETES" node-agent --kubeconfig "$cluster/admin.kubeconfig" --folder "$cluster/pods" \
    --tls-cert-file "$cluster/pki/server.crt" --tls-private-key-file "$cluster/pki/server.key" \
    --image "evolve-test=$image" "${nodes[@]}"
  kubectl create namespace evolve >/dev/null
  wait_until kubectl -n evolve get serviceaccount default
}

# serve_store: starts nginx, with its store in $cluster/store and its access log in $cluster/nginx; sets STORE.
serve_store() {
  local port
  port=$(free_ports 1)
  mkdir -p "$cluster/store" "$cluster/nginx"
  cat >"$cluster/nginx/nginx.conf" <<TEXT
$([ "$(id -u)" -ne 0 ] || echo 'user root;')
daemon off; master_process off; pid $cluster/nginx/pid; error_log stderr; events {}
http {
  access_log $cluster/nginx/access.log;
  client_body_temp_path $cluster/nginx/body; proxy_temp_path $cluster/nginx/proxy;
  fastcgi_temp_path $cluster/nginx/fastcgi; uwsgi_temp_path $cluster/nginx/uwsgi; scgi_temp_path $cluster/nginx/scgi;
  server { listen 127.0.0.1:$port; location / { root $cluster/store; dav_methods PUT; create_full_put_path on; client_max_body_size 1g; } }
}
TEXT
  start store nginx -p "$cluster/nginx" -c "$cluster/nginx/nginx.conf"
  STORE=http://127.0.0.1:$port
  wait_until curl -s -o /dev/null "$STORE/"
}

# start_campaign_cluster FOLDER NODE…: starts a cluster whose image has $EVOLVE and the environment of the steps.
start_campaign_cluster() {
  local image=$1-image
  mkdir -p "$image"
  ln -s "$(dirname "$EVOLVE")" "$image/bin"
  ln -s "$PWD/.venv" "$image/.venv"
  start_cluster "$1" "$image" "${@:2}"
}

# ended NAME: succeeds if the server NAME has ended.
ended() { ! kill -0 "$(cat "$cluster/$1.pid")" 2>/dev/null; }

# crash NAME: kills the server. It uses kill -9, because an API server that is asked to end waits at least a minute for
# its watches, and other servers wait for the API server.
crash() {
  local pid
  pid=$(cat "$cluster/$1.pid")
  { kill -9 "$pid" && wait "$pid"; } 2>/dev/null || true
}

stop_cluster() {
  local pid
  # The test may have ended some servers already, which is not an error.
  for pid in "$cluster"/*.pid; do crash "$(basename "$pid" .pid)"; done
}
