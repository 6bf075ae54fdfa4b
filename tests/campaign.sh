#!/usr/bin/env bash
# A check of the result of a campaign of three rounds: tests/campaign.sh EVOLVE PIPELINE STATE, after `evolve build
# round-3 --json >STATE/events.json`.
set -euo pipefail
evolve=$1 pipeline=$2 state=$3
name=$(basename "$pipeline" .yaml)
passed=0
check() {  # check WHAT COMMAND…
  local what=$1
  shift
  if "$@"; then passed=$((passed + 1)); else
    printf 'FAILED: %s\n' "$what"
    exit 1
  fi
}
summary() { grep '"event":"summary"' "$state/events.json"; }
field() { .venv/bin/python -c 'import json,sys; d=json.load(sys.stdin); print(eval(sys.argv[1]))' "$1"; }
ran() { "$evolve" build round-3 -p "$pipeline" --state "$state" --json | tail -1 | field 'd["ran"]'; }

check "the best variant beats the seed in every case" \
  test "$(summary | field 'all(t["seconds"] < t["seed_seconds"] for t in d["times"])')" = True
check "times say that they are modelled" test "$(summary | field '{t["kind"] for t in d["times"]} == {"modelled"}')" = True
check "24 variants have verdicts" test "$(summary | field 'sum(d["verdicts"].values())')" = 24
check "building again runs nothing" test "$(ran)" = 0

cp "$state/$name/round-3/selection.json" "$state/selection.json"
rm -rf "${state:?}/$name"
check "lost work files come back from blobs" test "$(ran)" = 0
check "with the same selection" cmp -s "$state/selection.json" "$state/$name/round-3/selection.json"
rm -f "$state"/memo.db*
check "a lost memo is made up for by the ledger" test "$(ran)" = 0
check "with the same selection again" cmp -s "$state/selection.json" "$state/$name/round-3/selection.json"

"$evolve" replay round-3 -p "$pipeline" --state "$state" --out "$state/replayed" >/dev/null
check "a replay puts the same selection back" cmp -s "$state/selection.json" "$state/replayed/round-3/selection.json"

"$evolve" best -p "$pipeline" --state "$state" --out "$state/best.py"
check "the best kernel runs under JAX as it is, and gives what the oracle does" \
  env JAX_PLATFORMS=cpu .venv/bin/python tests/kernels/best.py "kernels/${name%-v7x}" "$state/best.py"
printf '%s passed, 0 failed\n' "$passed"
