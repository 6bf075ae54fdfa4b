# Tests of three rounds by two models, one for each API. Then the same with kill -9 of the engine during exchanges and
# between them. The second campaign must end like the first, byte for byte and at the same cost. A reported answer must
# not be requested again. run.sh sources this file.
# shellcheck shell=bash

! [ -e "$PROJECT/state" ] || cp -r "$PROJECT/state" "$PROJECT/killed"
campaign rounds 3 4 'llm: 3, sweep: 1' "$(model chat/ok openai)" "$(model messages/ok anthropic)"
in_project run -p small/rounds.yaml >"$PROJECT/said" 2>&1 || fail "rounds: $(tail -n 5 "$PROJECT/said")"
cp "$PROJECT/said" "$PROJECT/undisturbed"
history=$PROJECT/state/rounds/round-3/history.jsonl
is "who was asked" 'chat/ok messages/ok' "$(grep -o '"model":"[^"]*"' "$history" | cut -d'"' -f4 | sort -u | xargs)"
is "variants of models" 9 "$(grep -c '"mutator":"llm"' "$history")"
is "the campaign gets faster" 'BLOCK_M=512' "$(in_project show "$(sed -n 's/^ *best \(v[0-9]*\) .*/\1/p' \
  "$PROJECT/said" | tail -n 1)" -p small/rounds.yaml | grep -o 'BLOCK_M=512' | head -n 1)"

# lines_printed COUNT, requests_seen COUNT: succeed if the run has printed COUNT lines, or made COUNT requests.
lines_printed() { [ "$(wc -l <"$PROJECT/events")" -ge "$1" ]; }
requests_seen() { [ "$(requests)" -ge $((BEFORE + $1)) ]; }

RUN=("$EVOLVE" run -p small/rounds.yaml --state killed)
: >"$PROJECT/done"
kills=0
for instant in 'lines_printed 1' 'requests_seen 1' 'requests_seen 1' 'requests_seen 2' 'lines_printed 3' 'requests_seen 1' \
  'requests_seen 2' 'lines_printed 12'; do
  : >"$PROJECT/events"
  BEFORE=$(requests)
  # Starts the engine itself, without a shell around it.
  (cd "$PROJECT" && exec "${RUN[@]}") >"$PROJECT/events" 2>&1 &
  engine=$!
  while kill -0 "$engine" 2>/dev/null && ! $instant; do :; done
  kill -9 "$engine" 2>/dev/null && kills=$((kills + 1))
  wait "$engine" 2>/dev/null
  grep -o '\] exchange v[0-9]*' "$PROJECT/events" >>"$PROJECT/done"
done
(cd "$PROJECT" && exec "${RUN[@]}") >"$PROJECT/events" 2>&1 || fail "after the kills: $(tail -n 5 "$PROJECT/events")"
grep -o '\] exchange v[0-9]*' "$PROJECT/events" >>"$PROJECT/done"
[ "$kills" -ge 5 ] || fail "only $kills kills"
is "asked again" '' "$(sort "$PROJECT/done" | uniq -d)"
cmp "$PROJECT"/{state,killed}/rounds/round-3/history.jsonl || fail "another history after $kills kills"
cmp "$PROJECT"/{state,killed}/rounds/round-3/selection.json || fail "another selection after $kills kills"
is "the last words" "$(tail -n 1 "$PROJECT/undisturbed")" "$(tail -n 1 "$PROJECT/events")"
