#!/usr/bin/env bash
# The fuzz tier, which fuzzes each reader for SECONDS (60) with libFuzzer, ASan and UBSan: tests/fuzz/run.sh [SECONDS
# [READER…]]. It needs clang. It keeps interesting inputs in build/fuzz/corpus, and the input of a crash in build/fuzz.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
seconds=${1:-60}
shift || true
readers=("$@")
[[ ${#readers[@]} -gt 0 ]] || readers=(manifest depfile dyndep records ledger entry bundle schedule operands hlo llo utilisation vmem_report)

cmake -S . -B build/fuzz -G Ninja -C tests/presets/fuzz.cmake >build/fuzz.log 2>&1 || { cat build/fuzz.log; exit 1; }
cmake --build build/fuzz --target fuzzers >build/fuzz.log 2>&1 || { tail -50 build/fuzz.log; exit 1; }
for reader in "${readers[@]}"; do
  corpus=build/fuzz/corpus/$reader
  mkdir -p "$corpus"
  cp -n tests/fuzz/seeds/"$reader"/* "$corpus"/
  # A reader is wrong if it takes over ten seconds, or 2 GB, for input of at most 64 kB.
  build/fuzz/tests/"${reader}"_fuzz -max_total_time="$seconds" -max_len=65536 -timeout=10 -rss_limit_mb=2048 \
    -artifact_prefix="build/fuzz/$reader-" -print_final_stats=1 "$corpus" >"build/fuzz/$reader.log" 2>&1 ||
    { tail -40 "build/fuzz/$reader.log"; exit 1; }
  grep -aE "number_of_executed_units|peak_rss_mb" "build/fuzz/$reader.log" | sed "s/^stat::/$reader /"
done
