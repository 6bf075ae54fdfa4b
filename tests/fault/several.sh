#!/usr/bin/env bash
# Fault tests of several engines at once on the same records. Each action must run only once, and all engines must
# succeed. Another engine takes over the work of a killed engine.
source "$(dirname "${BASH_SOURCE[0]}")/../project.sh"
PROCESSES=8

# at_once ARGUMENTS…: starts PROCESSES engines and waits for them. The output of the n-th engine is in n.out and n.err.
at_once() {
  local pids=() n
  for ((n = 1; n <= PROCESSES; n++)); do
    (cd "$PROJECT" && exec "$EVOLVE" "$@") >"$PROJECT/$n.out" 2>"$PROJECT/$n.err" &
    pids+=($!)
  done
  for ((n = 1; n <= PROCESSES; n++)); do
    wait "${pids[n - 1]}" || fail "process $n of evolve $*: $(tail -n 3 "$PROJECT/$n.err"; tail -n 3 "$PROJECT/$n.out")"
  done
}

new_project
{
  printf 'rule step\n  command = echo $out >>ran.log && cat $in >$out\n'
  for n in $(seq 60); do printf 'build mid%s: step in\nbuild end%s: step mid%s mid%s\n' "$n" "$n" "$n" $((n > 1 ? n - 1 : 1)); done
} >"$PROJECT/build.ninja"
echo text >"$PROJECT/in"
at_once ninja
[ "$(wc -l <"$PROJECT/ran.log")" -eq 120 ] || fail "of 120 steps $(wc -l <"$PROJECT/ran.log") ran"
[ -z "$(sort "$PROJECT/ran.log" | uniq -d)" ] || fail "ran twice: $(sort "$PROJECT/ran.log" | uniq -d | tr '\n' ' ')"
(cd "$PROJECT" && "$EVOLVE" ninja) | grep -q 'no work to do' || fail "nothing is left to do"

# One engine is killed while it runs a step that another engine waits for.
new_project
mkfifo "$PROJECT/started" "$PROJECT/go"
printf 'rule step\n  command = echo $out >>ran.log; [ -e again ] || { touch again; echo >started; read x <go; }; echo >$out\nbuild end: step\n' >"$PROJECT/build.ninja"
(cd "$PROJECT" && exec "$EVOLVE" ninja) >"$PROJECT/1.out" 2>&1 &
first=$!
read -r _ <"$PROJECT/started"
(cd "$PROJECT" && exec "$EVOLVE" ninja) >"$PROJECT/2.out" 2>&1 &
second=$!
# The second engine looks the step up, then opens its records, and then waits.
until [ -n "$(find "/proc/$second/fd" -lname '*ledger.db' 2>/dev/null)" ]; do :; done
kill -9 "$first"
wait "$first" 2>/dev/null
wait "$second" || fail "the second engine: $(cat "$PROJECT/2.out")"
[ "$(tr '\n' ' ' <"$PROJECT/ran.log")" = "end end " ] || fail "it ran the step anew: $(cat "$PROJECT/ran.log")"

# The engines build one campaign.
new_project
at_once build round-2 -p small/small.yaml --json
twice=$(cat "$PROJECT"/[1-8].out | grep '"finished"' | grep '"outcome":"ran"' |
  sed 's/.*"step":"\([^"]*\)".*"subject":"\([^"]*\)".*/\1 \2/' | sort | uniq -d)
[ -z "$twice" ] || fail "ran twice: $twice"
ran=$(cat "$PROJECT"/[1-8].out | grep '"finished"' | grep -c '"outcome":"ran"')
[ "$ran" -gt 40 ] || fail "only $ran steps ran in all"
finish 7
