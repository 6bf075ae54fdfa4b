#!/usr/bin/env bash
# Faults while a kernel is judged. The first child of every step is killed while it works. The first report of every
# step finds a full disk (also that of the audit, which has no child). A worker is killed, and so is the compiler's
# server; then the work is done without the server. A failed command runs again and is counted. No fault may become a
# verdict, and the results must be the same as without faults.
source "$(dirname "${BASH_SOURCE[0]}")/../project.sh"
STEPS=(check compile contract interpret lower measure)

new_project
cd "$PROJECT" || exit 1
cat >small/small.yaml <<'YAML'
kernel: { name: small, spec: spec.yaml }
session: { max_iterations: 1 }
batch: { variants_per_round: 1, top_k: 1 }
YAML
measured=$(cat small/small.yaml; echo 'time: { kind: measured, budget: 2 }')
build=("$EVOLVE" build round-1 -p small/small.yaml -j2)
cp -r small calm
"$EVOLVE" build round-1 -p calm/small.yaml -q -j2 || fail "without faults"
rm rules && cp -rL "$ROOT/rules" rules
mkdir struck
cat >>rules/process/child.py <<PY


def strike(what: str) -> bool:
    """Whether it is to be struck: once by each step."""
    import __main__

    step = sys.argv[0].rpartition(".")[2]
    if step not in "${STEPS[*]} audit".split():
        return False
    try:
        os.close(os.open(f"$PROJECT/struck/{what}-{step}", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True
PY
# A child that will be killed does no work, so that it cannot end before the kill.
sed -i 's/^    read_end, write_end = os.pipe()$/&\n    is_struck = strike("killed")\n    function = signal.pause if is_struck else function/' rules/process/child.py
sed -i 's/^    os.close(write_end)$/&\n    if is_struck:\n        select.select([read_end], [], [], 5)\n        stop(pid)/' rules/process/child.py
sed -i 's/^        self._pid = pid$/&\n        if strike("server"):\n            kill_group(pid)/' rules/process/child.py
sed -i 's/^def write_report.*$/&\n    from process import child\n    if child.strike("full"):\n        raise OSError(28, os.strerror(28), path)/' rules/reports/verdict.py
sed -i 's/^    step = Step("check".*$/    from process import child\n    import signal\n    if child.strike("worker"):\n        os.kill(os.getppid(), signal.SIGKILL)\n        signal.pause()\n&/' rules/steps/check.py
sed -i 's/^import argparse$/import argparse\nimport os/' rules/steps/check.py

"${build[@]}" --json >events || fail "with faults: $(tail -n 3 events)"
retried=$(grep -o '"retried":[0-9]*' events | tail -n 1)
echo "$retried; struck: $(ls struck | tr '\n' ' ')"
cmp {calm,small}/.evolve/small/round-1/selection.json || fail "faults changed the selection"
printf '%s\n' "$measured" >small/small.yaml
"${build[@]}" --json >events || fail "measured, with faults: $(tail -n 3 events)"
for step in "${STEPS[@]}"; do
  for what in killed full; do
    [ -e "struck/$what-$step" ] || fail "$step was not struck: $what"
  done
done
[ -e struck/full-audit ] || fail "audit was not struck"
[ -e struck/server-compile ] || fail "no server died"
[ -e struck/worker-check ] || fail "no worker died"
[ "$retried" = '"retried":12' ] || fail "$retried"
find small/.evolve/small -name '*.json' -exec grep -l '"rejected"' {} + | grep -v selection && fail "a fault became a verdict"
grep -q '"kind": "measured"' small/.evolve/small/round-1/v0001/timed/time.json || fail "nothing was measured"
finish 1
