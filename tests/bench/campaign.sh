#!/usr/bin/env bash
# A benchmark of a campaign that has nothing to do: tests/bench/campaign.sh [ROUNDS [VARIANTS]]. 100 rounds of 111
# variants (the default) are 100,023 edges. The campaign is real but monotonous: its kernel has 27 block sizes, so most
# variants are known before they run. The benchmark builds the campaign (five minutes). Then it prints seconds and peak
# memory of another build: with nothing to do, with each edge reported, and after an edit of one file. For comparison,
# it prints them for stock ninja's check of the same manifest (`ninja -n`). TMPDIR=/dev/shm measures the programs
# without the disk.
set -uo pipefail
rounds=${1:-100}
variants=${2:-111}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/project.sh
source "$here/../project.sh"
trap 'rm -rf "$PROJECT"' EXIT
new_project
cd "$PROJECT" || exit 1
cat >small/small.yaml <<YAML
kernel: { name: small, spec: spec.yaml }
session: { max_iterations: $rounds }
batch: { variants_per_round: $variants, top_k: 2 }
YAML
build=("$EVOLVE" build "round-$rounds" -p small/small.yaml)
start=$EPOCHREALTIME
"${build[@]}" -q || exit 1
manifest=small/.evolve/small/build.ninja
edges=$(grep -c '^  step = ' small/.evolve/small/rounds.ninja)
printf '%s edges, built in %.0f s\n' "$edges" "$(awk "BEGIN { print $EPOCHREALTIME - $start }")"

# row WHAT COMMAND…: prints the best of three runs. The command $BEFORE, if it is set, runs before each run.
row() {
  local what=$1 best=1e9 seconds kib
  shift
  for _ in 1 2 3; do
    [ -z "${BEFORE:-}" ] || eval "$BEFORE"
    /usr/bin/time -f '%e %M' -o "$PROJECT/time" "$@" >/dev/null 2>"$PROJECT/log" || { tail -n 5 "$PROJECT/log"; exit 1; }
    read -r seconds kib <"$PROJECT/time"
    best=$(awk "BEGIN { print $seconds < $best ? $seconds : $best }")
  done
  peer=${peer:-$best}
  awk "BEGIN { printf \"%-28s %7.2f s %6.2f us an edge %6.0f MB %7.2f x\n\", \"$what\", $best, 1e6 * $best / $edges, $kib * 1024 / 1e6, $best / $peer }"
}
row "ninja -n" ninja -n --quiet -f "$manifest" "round-$rounds"
row "nothing to do" "${build[@]}"
row "nothing to do, all told" "${build[@]}" --json
BEFORE='echo "# $RANDOM" >>small/reference.py' row "a comment edited" "${build[@]}"
