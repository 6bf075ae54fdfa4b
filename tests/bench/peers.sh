#!/usr/bin/env bash
# A benchmark of steps that have nothing to do: evolve, ccache, Snakemake and DVC on N copies of small files.
#   tests/bench/peers.sh [N]   N: default 1000; DVC gets at most DVC_STAGES (100), because its time grows faster than N
# It prints the milliseconds per step and their ratio to evolve's. It installs the peers into build/bench-venv and by
# apt. TMPDIR=/dev/shm measures the programs without the disk.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
root=$PWD
steps=${1:-1000}
dvc_stages=${DVC_STAGES:-100}
evolve=${EVOLVE:-$root/build/release/evolve}
# shellcheck source=pipelines/setup.sh
source pipelines/setup.sh
need_packages ccache g++ python3-venv >&2
venv=$root/build/bench-venv
[ -x "$venv/bin/dvc" ] || { python3 -m venv "$venv" && "$venv/bin/pip" install -q snakemake==9.27.1 dvc==3.67.1; } >&2
folder=$(mktemp -d "${TMPDIR:-/tmp}/evolve-bench-XXXXXX")
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# seconds COMMAND…: prints the best of three runs. The command $BEFORE, if it is set, runs before each run.
seconds() {
  local best=1e9 start took
  for _ in 1 2 3; do
    [ -z "${BEFORE:-}" ] || eval "$BEFORE"
    start=$EPOCHREALTIME
    "$@" >"$folder/log" 2>&1 || { tail -5 "$folder/log" >&2; return 1; }
    took=$(awk "BEGIN { print $EPOCHREALTIME - $start }")
    best=$(awk "BEGIN { print $took < $best ? $took : $best }")
  done
  echo "$best"
}
declare -A ours
# row WHAT NAME STEPS SECONDS: prints a row. For each WHAT, evolve's row comes first; other rows have a ratio to it.
row() {
  local each
  each=$(awk "BEGIN { printf \"%.4f\", 1000 * $4 / $3 }")
  [ "$2" != evolve ] || ours[$1]=$each
  awk "BEGIN { printf \"%-10s %-10s %7d steps %9.3f s %10.4f ms a step %8.1f x\n\", \"$1\", \"$2\", $3, $4, $each, $each / ${ours[$1]} }"
}

copies() {
  mkdir -p in out
  for i in $(seq "$1"); do echo "source $i" >"in/$i"; done
}

# built N: builds N copies, then prints the seconds of a second build.
built() {
  mkdir "ninja-$1" && cd "ninja-$1" && copies "$1"
  { printf 'rule cp\n  command = cp $in $out\n'; for i in $(seq "$1"); do echo "build out/$i: cp in/$i"; done; } >build.ninja
  "$evolve" ninja --quiet >/dev/null
  seconds "$evolve" ninja
}
few=$((steps / 10))
of_few=$(built "$few")
of_all=$(built "$steps")
row untouched evolve "$steps" "$of_all"
# The cost of one more step, without the start of the process.
row "each more" evolve "$((steps - few))" "$(awk "BEGIN { print $of_all - $of_few }")"
cd "ninja-$steps"
row restored evolve "$steps" "$(BEFORE='rm -f out/*' seconds "$evolve" ninja --quiet)"
cd ..

# Times compilations that ccache has stored: each is a look-up and a copy of the object.
mkdir c && cd c
export CCACHE_DIR=$folder/c/cache
hits=$((steps < 300 ? steps : 300))
for i in $(seq "$hits"); do echo "int f$i(void) { return $i; }" >"$i.c"; done
all() { local i; for i in $(seq "$hits"); do ccache gcc -c "$i.c" -o "$i.o"; done; }
all
row restored ccache "$hits" "$(BEFORE='rm -f *.o' seconds all)"
cd ..

mkdir snakemake && cd snakemake && copies "$steps"
printf 'rule all:\n    input: expand("out/{i}", i=range(1, %s))\nrule cp:\n    input: "in/{i}"\n    output: "out/{i}"\n    shell: "cp {input} {output}"\n' "$((steps + 1))" >Snakefile
cp in/* out/
"$venv/bin/snakemake" --quiet all --touch -c1 >/dev/null 2>&1
row untouched snakemake "$steps" "$(seconds "$venv/bin/snakemake" -c1)"
cd ..

stages=$((steps < dvc_stages ? steps : dvc_stages))
mkdir dvc && cd dvc && copies "$stages"
"$venv/bin/dvc" init -q --no-scm && "$venv/bin/dvc" config core.analytics false
{ echo 'stages:'; for i in $(seq "$stages"); do printf '  s%s:\n    cmd: cp in/%s out/%s\n    deps: [in/%s]\n    outs: [out/%s]\n' "$i" "$i" "$i" "$i" "$i"; done; } >dvc.yaml
"$venv/bin/dvc" repro -q
row untouched dvc "$stages" "$(seconds "$venv/bin/dvc" repro)"
row restored dvc "$stages" "$(BEFORE='rm -f out/*' seconds "$venv/bin/dvc" repro)"
