# LiteLLM's proxy and the scripted model behind the proxy (litellm/README.md), for the tiers that ask models. Scripts
# source this file after project.sh and ports.sh. The output of both servers is in $PROJECT/*.log.
# shellcheck shell=bash

# choose_llm_ports: sets PROXY and UPSTREAM, addresses that stay the same when the servers stop and start again.
choose_llm_ports() {
  local proxy upstream
  read -r proxy upstream <<<"$(free_ports 2)"
  PROXY=http://127.0.0.1:$proxy
  export UPSTREAM=http://127.0.0.1:$upstream/v1
}

# start_llm: starts both servers. Returns when the proxy is ready for requests with the key LITELLM_MASTER_KEY.
start_llm() {
  local port=${UPSTREAM##*:}
  "$ROOT/.venv/bin/python" "$ROOT/tests/servers/litellm/upstream.py" --port "${port%/v1}" \
    >"$PROJECT/upstream.log" 2>&1 &
  UPSTREAM_SERVER=$!
  "$ROOT/build/servers/litellm/bin/litellm" --config "$ROOT/tests/servers/litellm/config.yaml" --host 127.0.0.1 \
    --port "${PROXY##*:}" >"$PROJECT/litellm.log" 2>&1 &
  PROXY_SERVER=$!
  until curl -sf -o "$PROJECT/alive" "$PROXY/health/liveliness"; do
    kill -0 "$PROXY_SERVER" 2>/dev/null && kill -0 "$UPSTREAM_SERVER" 2>/dev/null ||
      { fail "no servers: $(tail -n 5 "$PROJECT"/{upstream,litellm}.log)"; return 1; }
    read -rt 0.1 <> <(:) || true
  done
}

# requests: prints how many requests the model has seen.
requests() { curl -sf "${UPSTREAM%/v1}/requests" | "$ROOT/.venv/bin/python" -c '
import json, sys
print(sum(count for scenario, count in json.load(sys.stdin).items() if " " not in scenario))'; }

stop_llm() {
  local server
  for server in "${PROXY_SERVER:-}" "${UPSTREAM_SERVER:-}"; do
    [ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null
  done
  PROXY_SERVER='' UPSTREAM_SERVER=''
}
