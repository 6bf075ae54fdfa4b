#!/usr/bin/env bash
# Fault tests of bundles. A round gives the same bundle each time, and another machine verifies the bundle in an empty
# folder without a network. A bundle with one changed bit, or a harmful bundle, is refused, and the message names the
# place.
source "$(dirname "${BASH_SOURCE[0]}")/../project.sh"
# The numbers of the failing calls. For each number N, the Nth call of each kind of system call fails.
CALLS=${CALLS:-}
FLIPS=${FLIPS:-8}
# The first kill comes after 0.004 s. In each further run, the kill comes this many seconds later.
STEP=${STEP:-0.03}

warm_up
warm_project
cd "$PROJECT" || exit 1
"$EVOLVE" build round-2 -p small/small.yaml -q || fail "the campaign itself"
"$EVOLVE" export round-2 -p small/small.yaml -o r2.evolve >/dev/null || fail "export"
"$EVOLVE" export round-2 -p small/small.yaml -o again.evolve >/dev/null
cmp r2.evolve again.evolve || fail "the same round is another bundle"
"$EVOLVE" export round-1 -p small/small.yaml -o r1.evolve >/dev/null || fail "export of the first round"
"$EVOLVE" replay -p small/small.yaml --out was >/dev/null

# A stranger has an empty folder, and no sources, pipeline or network.
mkdir stranger
(cd stranger && "$EVOLVE" import ../r2.evolve) >imported.txt || fail "import: $(cat imported.txt)"
# This version judged the round, so it judges the round again, without a network.
(cd stranger && bwrap --dev-bind / / --unshare-net "$EVOLVE" replay --verify) >verified.txt 2>&1 || fail "verify: $(cat verified.txt)"
grep -q ': 0 differences$' verified.txt || fail "verify: $(cat verified.txt)"
# The commands and programs of others run only for a user who asks for them, and then the output says so. The forged
# bundles have one round, because all its steps run again for each of them.
"$ROOT/.venv/bin/python" "$ROOT/tests/fault/evil_bundles.py" --forge r1.evolve forged || fail "forging bundles"
for bad in forged/*; do
  rm -rf victim && mkdir victim
  (cd victim && "$EVOLVE" import "../$bad") >imported.txt 2>&1 || fail "$bad: import: $(cat imported.txt)"
  (cd victim && "$EVOLVE" replay --verify) >refused.txt 2>&1 && fail "$bad: it ran: $(cat refused.txt)"
  grep -Eq "$(cat "forged-$(basename "$bad").why")" refused.txt || fail "$bad: refusal: $(cat refused.txt)"
  (cd victim && "$EVOLVE" replay --verify --their-judge) >said.txt 2>&1
  grep -Eq 'with the judge that came with the record|evolve: error: ' said.txt || fail "$bad: $(cat said.txt)"
done
(cd stranger && "$EVOLVE" replay --out is) >/dev/null && diff -r was stranger/is || fail "another round came back"
(cd stranger && "$EVOLVE" export -o back.evolve) >/dev/null && cmp r2.evolve stranger/back.evolve ||
  fail "what was imported is exported as another bundle"
# A stranger's results of an action must not become ours.
"$EVOLVE" build round-1 -p small/small.yaml --state stranger/.evolve --json | tail -n 1 | grep -q '"cached":0' &&
  fail "nothing was built"
[ "$("$EVOLVE" cache stats --state stranger/.evolve --json | grep -c '"ran": 0')" -lt 5 ] || fail "a stranger's results were taken for ours"

# Bundles with wrong bits and other flaws. A bit of the seal at the end matters as much as any other bit.
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

# The words in other people's selections are shown, but control characters never reach the terminal.
rm -rf victim && mkdir -p victim/small && cp small/*.* victim/small/
(cd victim && "$EVOLVE" import ../orders.evolve -p small/small.yaml) >imported.txt 2>&1 || fail "import of odd words: $(cat -v imported.txt)"
for how in "" 1 "--json" "1 --json"; do
  # shellcheck disable=SC2086
  (cd victim && "$EVOLVE" log $how -p small/small.yaml) >said 2>&1
  grep -q 'u009b2J' said || fail "log $how shows nothing: $(cat -v said)"
  LC_ALL=C grep -qP '\x1b|\xc2\x9b|\xe2\x80\xae' said && fail "log $how prints orders: $(cat -v said)"
done

# Export, import and replay with a disk that fails or is full, or when their process is killed. They must report the
# failure, leave nothing half done, and succeed the next time.
exports() { "$EVOLVE" export round-2 -p small/small.yaml -o out.evolve; }
imports() { cd victim && "$EVOLVE" import ../r2.evolve; }
replays() { "$EVOLVE" replay -p small/small.yaml --out out; }
clear_exports() { rm -f out.evolve; }
clear_imports() { rm -rf victim && mkdir victim; }
clear_replays() { rm -rf out; }
right_exports() { cmp -s r2.evolve out.evolve; }
right_imports() { [ "$(cd victim && "$EVOLVE" replay --out is >/dev/null 2>&1 && diff -r ../was is)" = "" ] && [ -d victim/is ]; }
right_replays() { diff -r was out >/dev/null 2>&1; }
half_exports() { [ -e out.evolve ] && ! right_exports; }
half_imports() { (cd victim && "$EVOLVE" replay --out is >/dev/null 2>&1) && ! right_imports; }
half_replays() { [ -e out ] && ! right_replays; }
# after WHAT COMMAND CODE: checks that nothing is half done, and that COMMAND succeeds the next time.
after() {
  local code=$3
  [ "$code" -ne 0 ] || "right_$2" || fail "$1: no error, and not right"
  ! "half_$2" || fail "$1: left half of it"
  [ "$code" -ge 128 ] || [ "$code" -eq 0 ] || grep -Eq 'evolve: error: |GLIBC|librar' said || fail "$1: code $code: $(cat said)"
  [ "$code" -ne 70 ] || fail "$1: $(cat said)"
  # If the process did its work before it ended, the result is removed, so that the next time has work, too.
  ! "right_$2" || "clear_$2"
  ("$2") >said 2>&1 || fail "$1: the next time: $(cat said)"
  "right_$2" || fail "$1: the next time it is not right"
  count=$((count + 1))
}
export -f exports imports replays
export EVOLVE
for command in exports imports replays; do
  for call in openat read write pwrite64 rename mkdir newfstatat; do
    for at in $CALLS; do
      "clear_$command"
      # The shell's own calls come first, and their number is always the same.
      strace -f -qq -o /dev/null -e trace="$call" -e inject="$call:error=EIO:when=$at" bash -c "exec 9>&-; $command" >said 2>&1
      after "$command: EIO from $call, the ${at}th" "$command" $?
    done
  done
  for delay in $(seq 0.004 "$STEP" 0.1); do
    "clear_$command"
    timeout -s KILL "$delay" bash -c "$command" >said 2>&1
    after "$command: killed after $delay s" "$command" $?
  done
done
# A full disk, with room for only a part.
export -f right_exports
mkdir full
bwrap --dev-bind / / --size 20000 --tmpfs "$PWD/full" "$EVOLVE" export round-2 -p small/small.yaml -o full/out.evolve >said 2>&1 &&
  fail "export to a full disk: no error"
grep -q 'evolve: error: .*full.*No space left' said || fail "export to a full disk: $(cat said)"
bwrap --dev-bind / / --size 200000 --tmpfs "$PWD/full" bash -c 'cd full && "$EVOLVE" import ../r2.evolve' >said 2>&1 &&
  fail "import on a full disk: no error"
grep -Eq 'evolve: error: .*(No space left|full)' said || fail "import on a full disk: $(cat said)"
bwrap --dev-bind / / --size 20000 --tmpfs "$PWD/full" "$EVOLVE" replay -p small/small.yaml --out full/out >said 2>&1 &&
  fail "replay on a full disk: no error"
grep -Eq 'evolve: error: .*full.*No space left' said || fail "replay on a full disk: $(cat said)"
finish $((count + 11))
