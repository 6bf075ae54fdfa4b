# Tests of plans before code, by both APIs. The build must stop for a person, and the request for code must have the
# plan as the person left it. No code is requested for a rejected plan. run.sh sources this file.
# shellcheck shell=bash

campaign plans 1 3 'llm: 1' "$(model chat/ok openai)" "$(model messages/ok anthropic)"
sed -i 's/llm: plans.json/&, plan: approve/' "$PROJECT/small/plans.yaml"
BEFORE=$(requests)
in_project build round-1 -p small/plans.yaml >"$PROJECT/said" 2>&1
is "a build stops" 2 $?
is "plans are asked for" 3 $(($(requests) - BEFORE))
is "plans that wait" 3 "$(in_project plan show -p small/plans.yaml --json | grep -c '"state": "waits"')"
is "who wrote them" 'chat/ok messages/ok' "$(in_project plan show -p small/plans.yaml --json | grep -o '[a-z]*/ok' | sort -u | xargs)"
in_project plan approve v0001 -p small/plans.yaml >>"$PROJECT/said" 2>&1 || fail "approve: $(tail -n 2 "$PROJECT/said")"
in_project plan reject v0002 --note "not that" -p small/plans.yaml >>"$PROJECT/said" 2>&1
EDITOR='sed -i s/small/tiny/' in_project plan edit v0003 -p small/plans.yaml >>"$PROJECT/said" 2>&1
in_project build round-1 -p small/plans.yaml >>"$PROJECT/said" 2>&1 || fail "plans: $(tail -n 3 "$PROJECT/said")"
is "code is asked for" 5 $(($(requests) - BEFORE))
for place in 'v0001 small 1' 'v0003 tiny 1' 'v0003 small 0'; do
  read -r variant word times <<<"$place"
  is "$variant: the plan with '$word'" "$times" \
    "$(grep -c "The bottleneck: $word" "$PROJECT/state/plans/round-1/$variant/request.json")"
done
is "what became of them" 'ok plan-rejected ok' "$(python - "$PROJECT/state/plans/round-1/history.jsonl" <<'PY'
import json, sys
tried = [json.loads(line) for line in open(sys.argv[1])]
print(*(one.get("rejection", {}).get("kind", "ok") for one in tried if one["mutator"] == "llm"))
PY
)"
# One model writes both the plan and the code of a variant.
is "models of both stages" '' "$(for variant in v0001 v0003; do
  grep -ho '"model": "[^"]*"' "$PROJECT/state/plans/round-1/$variant"/{,plan/}request.json | uniq -u
done)"
