#!/usr/bin/env bash
# A benchmark of the build: tests/bench/compile.sh [COUNT]. It compiles what quickstart.sh compiles, from nothing and
# without ccache, in a folder of its own. It prints the elapsed time, the CPU time of all compilers, and the COUNT units
# (10) that took longest. The goal is 120 s of elapsed time on two cores with nothing else running.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
count=${1:-10}
folder=$(mktemp -d "${TMPDIR:-/tmp}/evolve-compile-XXXXXX")
trap 'rm -rf "$folder"' EXIT
cmake -S . -B "$folder" -G Ninja -C tests/presets/release.cmake -DEVOLVE_TESTS=OFF >"$folder/log"
TIMEFORMAT='%R s elapsed, %U s of CPU time in compilers and linkers'
time CCACHE_DISABLE=1 ninja -C "$folder" --quiet
# Ninja's log has for each edge the times of its start and end in milliseconds, and its output.
awk -v OFS='\t' '$4 ~ /\.o$/ { print ($2 - $1) / 1000, $4 }' "$folder/.ninja_log" | sort -rn | head -n "$count" |
  awk '{ printf "%7.1f s  %s\n", $1, $2 }'
