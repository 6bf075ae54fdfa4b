#!/usr/bin/env bash
# Fault tests with kill -9 of the engine at random instants, and a second run. The result must be the same, no step that
# was reported as done may run again, and no process may be left behind.
source "$(dirname "${BASH_SOURCE[0]}")/../project.sh"
KILLS=${KILLS:-2}
SHORT_KILLS=${SHORT_KILLS:-40}
RANDOM=1  # the same instants in every run, as far as a machine allows

# `exec` must start this command, because the killed process must be the engine itself, not a shell around it.
BUILD=("$EVOLVE" build round-2 -p small/small.yaml --json)
# left_behind: prints the processes whose working folder is this project.
left_behind() {
  local pid
  for pid in /proc/[0-9]*; do
    [ "$(readlink "$pid/cwd" 2>/dev/null)" = "$PROJECT" ] && echo "${pid#/proc/} $(tr '\0' ' ' <"$pid/cmdline" 2>/dev/null)"
  done
}

new_project
(cd "$PROJECT" && "${BUILD[@]}") >"$PROJECT/whole.log" 2>&1 || fail "the campaign itself: $(tail -3 "$PROJECT/whole.log")"
cp "$PROJECT/small/.evolve/small/round-2/selection.json" "$PROJECT/expected.json"
rm -rf "$PROJECT/small/.evolve"

: >"$PROJECT/done.log"
for ((kill = 1; kill <= KILLS; kill++)); do
  : >"$PROJECT/events.log"
  (cd "$PROJECT" && exec "${BUILD[@]}") >"$PROJECT/events.log" 2>&1 &
  engine=$!
  # The engine is killed after its n-th event, not after some time, so that the kill falls among the next edges.
  events=$((RANDOM % 12 + 1))
  while kill -0 "$engine" 2>/dev/null && [ "$(wc -l <"$PROJECT/events.log")" -lt "$events" ]; do :; done
  kill -9 "$engine" 2>/dev/null
  wait "$engine" 2>/dev/null
  # The guard process ends the running commands as soon as it sees the engine end.
  for _ in $(seq 200); do
    [ -z "$(left_behind)" ] && break
    read -rt 0.05 <> <(:) || true
  done
  [ -z "$(left_behind)" ] || fail "kill $kill left processes: $(left_behind)"
  grep '"finished"' "$PROJECT/events.log" | grep '"outcome":"ran"' >>"$PROJECT/done.log"
done
(cd "$PROJECT" && "${BUILD[@]}") >"$PROJECT/events.log" 2>&1 || fail "the rerun: $(tail -3 "$PROJECT/events.log")"
grep '"finished"' "$PROJECT/events.log" | grep '"outcome":"ran"' >>"$PROJECT/done.log"

cmp -s "$PROJECT/expected.json" "$PROJECT/small/.evolve/small/round-2/selection.json" || fail "another selection.json"
twice=$(sed 's/.*"step":"\([^"]*\)".*"subject":"\([^"]*\)".*/\1 \2/' "$PROJECT/done.log" | sort | uniq -d)
[ -z "$twice" ] || fail "reported done and run again: $twice"
# Short steps, so that the kills fall at any instant of a build: in the look-up, in a command, or while records are
# written.
new_project
{
  printf 'rule step\n  command = cat $in >$out && echo $out >>$out\n'
  for n in $(seq 40); do printf 'build o%s: step %s\n' "$n" "$([ "$n" -gt 3 ] && echo "o$((n / 3))" || echo in)"; done
} >"$PROJECT/build.ninja"
echo text >"$PROJECT/in"
(cd "$PROJECT" && "$EVOLVE" ninja --quiet && cat o* | sha256sum >right && rm -rf .evolve o*) || fail "the short steps themselves"
: >"$PROJECT/done.log"
for ((kill = 1; kill <= SHORT_KILLS; kill++)); do
  [ $((kill % 20)) -ne 0 ] || (cd "$PROJECT" && rm -rf .evolve o* && : >done.log)
  { (cd "$PROJECT" && NINJA_STATUS='[%f] ' exec timeout -s KILL "0.0$((RANDOM % 60 + 10))" "$EVOLVE" ninja -j 3 -k 0 >events.log 2>&1); } 2>/dev/null
  grep '^\[' "$PROJECT/events.log" >>"$PROJECT/done.log"
  grep -i 'error\|warning' "$PROJECT/events.log" && fail "short kill $kill"
done
(cd "$PROJECT" && "$EVOLVE" ninja --quiet && cat o* | sha256sum | cmp - right) || fail "other outputs after $SHORT_KILLS kills"
twice=$(sed 's/^\[[0-9]*\] //' "$PROJECT/done.log" | sort | uniq -d)
[ -z "$twice" ] || fail "reported done and run again: $twice"

# Ctrl-C ends the children, and the message says how to go on.
new_project
: >"$PROJECT/events.log"
(cd "$PROJECT" && exec "${BUILD[@]}") >"$PROJECT/events.log" 2>"$PROJECT/errors.log" &
engine=$!
while kill -0 "$engine" 2>/dev/null && [ "$(wc -l <"$PROJECT/events.log")" -lt 9 ]; do :; done
kill -TERM "$engine"
wait "$engine"
[ $? -eq 130 ] || fail "an interrupted build ends with 130"
grep -q '^evolve: error: interrupted$' "$PROJECT/errors.log" || fail "it says so: $(cat "$PROJECT/errors.log")"
[ -z "$(left_behind)" ] || fail "it left processes: $(left_behind)"
finish $((KILLS + SHORT_KILLS + 8))
