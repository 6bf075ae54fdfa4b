#!/usr/bin/env bash
# A round as a bundle: the same bytes each time, checked on another machine's empty folder and without a network,
# and refused with the place named when one bit of it is another, or when it was made to harm.
source "$(dirname "${BASH_SOURCE[0]}")/../project.sh"
FLIPS=${FLIPS:-40}

new_project
cd "$PROJECT" || exit 1
"$EVOLVE" build round-2 -p small/small.yaml -q || fail "the campaign itself"
"$EVOLVE" export round-2 -p small/small.yaml -o r2.evolve >/dev/null || fail "export"
"$EVOLVE" export round-2 -p small/small.yaml -o again.evolve >/dev/null
cmp r2.evolve again.evolve || fail "the same round is another bundle"
"$EVOLVE" replay -p small/small.yaml --out was >/dev/null

# A stranger: another folder, no sources, no pipeline, no network.
mkdir stranger
(cd stranger && "$EVOLVE" import ../r2.evolve) >imported.txt || fail "import: $(cat imported.txt)"
(cd stranger && bwrap --dev-bind / / --unshare-net "$EVOLVE" replay --verify) >verified.txt 2>&1 || fail "verify: $(cat verified.txt)"
grep -q ': 0 differences$' verified.txt || fail "verify: $(cat verified.txt)"
(cd stranger && "$EVOLVE" replay --out is) >/dev/null && diff -r was stranger/is || fail "another round came back"
(cd stranger && "$EVOLVE" export -o back.evolve) >/dev/null && cmp r2.evolve stranger/back.evolve ||
  fail "what was imported is exported as another bundle"
# What a stranger says of an action is no result of ours.
"$EVOLVE" build round-2 -p small/small.yaml --state stranger/.evolve --json | tail -n 1 | grep -q '"cached":0' &&
  fail "nothing was built"
[ "$("$EVOLVE" cache stats --state stranger/.evolve --json | grep -c '"ran": 0')" -lt 5 ] || fail "a stranger's results were taken for ours"

# Bits. Each of the seal's at the end is as good as any other.
size=$(stat -c %s r2.evolve)
"$ROOT/.venv/bin/python" "$ROOT/tests/fault/evil_bundles.py" r2.evolve evil "$FLIPS" || fail "making bad bundles"
count=0
for bad in evil/*; do
  rm -rf victim && mkdir victim
  (cd victim && "$EVOLVE" import "../$bad" >out 2>&1)
  code=$?
  [ "$code" -eq 2 ] || [ "$code" -eq 3 ] || fail "$bad: code $code: $(cat victim/out)"
  grep -q "evolve: error: .*$(basename "$bad"): " victim/out || fail "$bad: no place: $(cat victim/out)"
  [ -z "$(find victim/.evolve -path '*blobs/*' -o -name 'import.*' 2>/dev/null)" ] || fail "$bad: something was stored"
  (cd victim && "$EVOLVE" replay >/dev/null 2>&1) && fail "$bad: a round was taken over"
  count=$((count + 1))
done
[ "$count" -gt "$FLIPS" ] || fail "only $count bad bundles of $size bytes"
finish $((count + 8))
