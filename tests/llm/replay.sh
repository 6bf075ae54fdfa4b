# A replay of the three rounds without a server, and a search for the key. run.sh sources this file after rounds.sh.
# shellcheck shell=bash

stop_llm
asked=$(find "$PROJECT/state/rounds" -name exchange.json | wc -l)
is "exchanges" 9 "$asked"
cp -r "$PROJECT/state/rounds" "$PROJECT/was"
rm -r "$PROJECT/state/rounds" "$PROJECT"/state/memo.db*
in_project build round-3 -p small/rounds.yaml >>"$PROJECT/said" 2>&1 || fail "again: $(tail -n 5 "$PROJECT/said")"
grep -q ' 0 ran, ' <(tail -n 8 "$PROJECT/said") || fail "again: $(tail -n 5 "$PROJECT/said")"
is "the same files" '' "$(diff -rq "$PROJECT/was" "$PROJECT/state/rounds" | grep -v '\.d\b\|\.ninja\b')"
in_project replay round-3 -p small/rounds.yaml --verify >>"$PROJECT/said" 2>&1 || fail "replay: $(tail -n 3 "$PROJECT/said")"
is "replay" ': 0 differences' "$(tail -n 1 "$PROJECT/said" | grep -o ': 0 differences$')"

# Searches for the key in the places where its name is found.
in_project export round-3 -p small/rounds.yaml -o round-3.evolve >>"$PROJECT/said" 2>&1
mkdir "$PROJECT/stranger"
(cd "$PROJECT/stranger" && "$EVOLVE" import ../round-3.evolve && "$EVOLVE" replay round-3 --out is) >>"$PROJECT/said" 2>&1
for place in state stranger; do
  grep -rqaF LITELLM_KEY "$PROJECT/$place" || fail "$place: not even the key's name is there"
done
is "the key" '' "$(cd "$PROJECT" && grep -rlaF "$LITELLM_KEY" state was stranger round-3.evolve said)"
