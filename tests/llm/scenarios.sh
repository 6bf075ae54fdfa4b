# Tests of each kind of answer, by both APIs: the record and the resulting variant, or the fault, which is reported
# without storing anything. run.sh sources this file.
# shellcheck shell=bash

# The question for all models: a prompt of a campaign's first round, for a whole block.
campaign asked 1 1 'llm: 1' "$(model ok openai)"
sed -i 's/"budget"/"modes": {"rewrite": 1}, "budget"/' "$PROJECT/small/asked.json"
in_project build v0001 -p small/asked.yaml -q || fail "the campaign that is asked for"
work=$PROJECT/state/asked

# ask NAME API BASE: asks the model NAME and sets CODE and SAID. It writes exchange.json and, for an answer, kernel.py
# and variant.json.
ask() {
  local out=$PROJECT/asking
  rm -rf "$out" && mkdir "$out"
  cp "$work/round-1/v0001/prompt.json" "$out/prompt.json"
  python - "$work/round-1/v0001/request.json" "$@" >"$out/request.json" <<'PY'
import json, sys
record = json.load(open(sys.argv[1]))
request = record["request"]
request["model"], request["api"], request["base_url"] = sys.argv[2:5]
# The scripted model recognises a first attempt by the text of the request, so each way to ask has a text of its own.
request["messages"][-1]["content"] += f"\nThis is asked by {' '.join(sys.argv[2:])}.\n"
json.dump(record, sys.stdout)
PY
  SAID=$("$STEPS/exchange" --request "$out/request.json" --prompt "$out/prompt.json" --out "$out/exchange.json" \
    --timeout "${TIMEOUT:-20}" --silence "${TIMEOUT:-20}" --tries 2 2>&1)
  CODE=$?
  [ "$CODE" -eq 0 ] || return 0
  # Writes the digest that the prompt step would have written.
  digest=$(grep -o '"request_digest": "[^"]*"' "$out/exchange.json")
  sed -i "s/\"request_digest\": \"[^\"]*\"/$digest/" "$out/prompt.json"
  "$STEPS/adopt" --round 1 --id v0001 --place 0 --spec "$work/spec.json" --seed "$work/seed.py" --prompt "$out/prompt.json" \
    --exchange "$out/exchange.json" --kernel-out "$out/kernel.py" --variant-out "$out/variant.json" || fail "adopt: $*"
}

# answers EXPECTED NAME API BASE: checks an answer. EXPECTED is the attempts, the verdict of the exchange, how the reply
# ended, the problem, and the parameter that the script doubles.
answers() {
  local expected=$1
  shift
  ask "$@"
  [ "$CODE" -eq 0 ] || { fail "$*: code $CODE: $SAID"; return; }
  is "$*" "$expected" "$(python - "$PROJECT/asking" <<'PY'
import json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
exchange, variant = (json.loads((folder / name).read_text()) for name in ("exchange.json", "variant.json"))
told = variant["exchange"]
assert exchange["attempts"][-1]["outcome"] == "ok" and exchange["tokens"]["input"] > 1000 and exchange["text"]
tokens = exchange["tokens"]
assert abs(told["cost_usd"] * 1e6 - tokens["input"] - 4 * tokens["output"]) < 1e-6 < told["cost_usd"] and not exchange["cut_off"] and not exchange["tokens"]["estimated"]
print(*(one["status"] for one in exchange["attempts"]), exchange["verdict"], exchange["finish"],
      variant.get("problem", {}).get("kind", "-"), variant["parameters"]["BLOCK_M"])
PY
)"
}

# refuses WORDS NAME API BASE: checks that the prompt is refused with WORDS, which become the variant's verdict.
refuses() {
  local words=$1
  shift
  ask "$@"
  [ "$CODE" -eq 0 ] || { fail "$*: code $CODE: $SAID"; return; }
  is "$*" '400 control-200 refused refused 128' "$(python - "$PROJECT/asking" "$words" <<'PY'
import json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
exchange, variant = (json.loads((folder / name).read_text()) for name in ("exchange.json", "variant.json"))
problem = variant["problem"]
assert sys.argv[2] in problem["reason"] and "sk-" not in problem["reason"], problem
# Nothing was paid for the long prompt.
assert exchange["tokens"]["input"] < 100 and 0 < variant["exchange"]["cost_usd"] < 1e-3
print(*("control-" * one.get("control", False) + str(one["status"]) for one in exchange["attempts"]),
      exchange["kind"], problem["kind"], variant["parameters"]["BLOCK_M"])
PY
)"
}

# fails CODE WORDS NAME API BASE: checks that asking ends with CODE and a message with WORDS, and that nothing is
# stored.
fails() {
  local code=$1 words=$2
  shift 2
  ask "$@"
  is "$*: code" "$code" "$CODE"
  [[ $SAID == exchange:*$words* ]] || fail "$*: other words: $SAID"
  [[ $SAID != *sk-* ]] || fail "$*: tells the key"
  is "$*: files" 'prompt.json request.json' "$(cd "$PROJECT/asking" && echo *)"
}

for api in openai anthropic; do
  base=$PROXY
  [ "$api" != openai ] || base=$PROXY/v1
  answers '200 ok stop - 256' ok "$api" "$base"
  answers '429 200 ok stop - 256' rate-limited "$api" "$base"
  answers '500 200 ok stop - 256' error "$api" "$base"
  answers '200 ok length truncated 128' truncated "$api" "$base"
  answers '200 ok stop no-code 128' no-code "$api" "$base"
  answers '200 ok stop several-blocks 128' two-blocks "$api" "$base"
  answers '200 ok stop diff-does-not-apply 128' bad-diff "$api" "$base"
  answers '200 ok stop wrong-language 128' cpp "$api" "$base"
  # The proxy ends the broken stream correctly, so only an open fence shows that something is missing.
  answers '200 ok stop truncated 128' broken "$api" "$base"
  TIMEOUT=1 fails 3 'timed out' stall "$api" "$base"
  refuses 'maximum context length' refused "$api" "$base"
  fails 2 "'max_tokens' is not supported" unsupported "$api" "$base"
  LITELLM_KEY=sk-another-0123456789abcdef fails 2 'HTTP 400' ok "$api" "$base"
  LITELLM_KEY='' fails 2 "'LITELLM_KEY': not set" ok "$api" "$base"
done
# The same without the proxy.
refuses 'maximum context length' refused openai "$UPSTREAM"
fails 2 "'max_tokens' is not supported" unsupported openai "$UPSTREAM"
fails 3 'the stream ended early (2 attempts)' broken openai "$UPSTREAM"
TIMEOUT=1 fails 3 'timed out' stall openai "$UPSTREAM"
fails 3 'connect' ok openai "http://127.0.0.1:$(free_ports 1)/v1"

# The same in a campaign: the result of a reply is its variant's verdict, and the other variants go on.
scenarios='rate-limited truncated no-code two-blocks cpp bad-diff refused'
models=()
for scenario in $scenarios; do
  models+=("$(model "chat/$scenario" openai)" "$(model "messages/$scenario" anthropic)")
done
campaign verdicts 1 14 'llm: 1' "${models[@]}"
in_project run -p small/verdicts.yaml -q >"$PROJECT/said" 2>&1 || fail "verdicts: $(tail -n 3 "$PROJECT/said")"
is "verdicts" "$(for api in chat messages; do
  for verdict in rate-limited=- truncated=truncated no-code=no-code two-blocks=several-blocks \
    cpp=wrong-language bad-diff=diff-does-not-apply refused=refused; do
    echo "$api/$verdict"
  done
done | sort)" "$(python - "$PROJECT/state/verdicts/round-1/history.jsonl" <<'PY' | sort
import json, sys
for entry in map(json.loads, open(sys.argv[1])):
    if "exchange" in entry:
        kind = entry.get("rejection", {}).get("kind", "-")
        assert kind == "-" or entry["rejection"]["step"] == "adopt", entry
        print(f"{entry['exchange']['model']}={kind}")
PY
)"
refused=$(grep '"kind":"refused"' "$PROJECT/state/verdicts/round-1/history.jsonl" | sed 's/.*"variant":"\([^"]*\)".*/\1/' | head -n 1)
in_project prompt show "$refused" --reply -p small/verdicts.yaml | grep -A 1 '^--- refused$' | grep -q '^HTTP 400: ' ||
  fail "prompt show: $refused was refused"
