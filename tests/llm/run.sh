#!/usr/bin/env bash
# The llm tier: campaigns whose variants a language model proposes, through a real LiteLLM proxy and by both APIs. The
# model behind the proxy plays a script (tests/servers/litellm), so that a test can request each kind of bad answer.
#   tests/llm/run.sh [PART…]     scenarios injection rounds plans replay
source "$(dirname "${BASH_SOURCE[0]}")/../project.sh"
cd "$ROOT" || exit 1
source tests/servers/ports.sh
source tests/servers/litellm.sh
# The key of the proxy, in the variables of its clients and of the proxy itself. No file may contain the key.
export LITELLM_KEY=sk-planted-0123456789abcdef LITELLM_MASTER_KEY=sk-planted-0123456789abcdef
# shellcheck disable=SC2034 # used by the parts
STEPS=$(dirname "$EVOLVE")/steps
COUNT=0
trap stop_llm EXIT
trap 'exit 124' TERM

python() { "$ROOT/.venv/bin/python" "$@"; }

# model NAME API: prints an entry of llm.json for a model behind the proxy.
model() {
  local base=$PROXY
  [ "$2" != openai ] || base=$PROXY/v1
  printf '{"name": "%s", "api": "%s", "base_url": "%s", "key_variable": "LITELLM_KEY", ' "$1" "$2" "$base"
  printf '"input_usd_per_million": 1, "output_usd_per_million": 4}'
}

# campaign NAME ROUNDS VARIANTS MIX MODEL…: writes small/NAME.yaml and its list of models.
campaign() {
  local name=$1 rounds=$2 variants=$3 mix=$4 models
  shift 4
  models=$(IFS=,; echo "$*")
  printf '{"models": [%s], "budget": {"usd": 50}}\n' "$models" >"$PROJECT/small/$name.json"
  cat >"$PROJECT/small/$name.yaml" <<END
kernel: { name: small, spec: spec.yaml }
session: { max_iterations: $rounds }
batch: { variants_per_round: $variants, top_k: 2 }
mutate: { mix: { $mix }, llm: $name.json }
END
}

# in_project COMMAND…: runs evolve. All campaigns share a state folder, and therefore the seed's results.
in_project() { (cd "$PROJECT" && exec "$EVOLVE" "$@" --state state); }

# is WHAT EXPECTED ACTUAL: counts a check, which fails unless EXPECTED and ACTUAL are the same.
is() {
  COUNT=$((COUNT + 1))
  [ "$2" = "$3" ] || fail "$1: '$3' instead of '$2'"
}

new_project
warm_up
lend_results "$PROJECT/state"
# The script doubles the first parameter. Two doublings of this value make the kernel faster.
sed -i 's/^BLOCK_M = 512/BLOCK_M = 128/' "$PROJECT/small/kernel.py"
choose_llm_ports
start_llm || finish 0
parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(scenarios injection rounds plans replay)
for part in "${parts[@]}"; do
  # shellcheck disable=SC1090 # the parts
  source "tests/llm/$part.sh"
  printf '==> llm: %s: ended after %s s\n' "$part" "$SECONDS"
done
stop_llm
finish "$COUNT"
