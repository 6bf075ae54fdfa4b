#!/usr/bin/env bash
# Command 1 of the README: from a fresh clone to an evolved kernel, on a machine without a TPU.
# Installs what is missing, builds a release, runs three rounds of the matmul campaign, and says what to
# look at. Run again, it skips what is done.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source pipelines/setup.sh

mkdir -p build
need_packages "${EVOLVE_BUILD_PACKAGES[@]}"
need_python rules/requirements.lock
need_build build/release release

say "evolve build round-3 -p pipelines/matmul-v7x.yaml"
build/release/evolve build round-3 -p pipelines/matmul-v7x.yaml

cat <<'TEXT'

What to try next:
  export PATH=$PWD/build/release:$PATH
  evolve best -p pipelines/matmul-v7x.yaml --out best.py   the winning kernel, ready to run under JAX
  evolve show v0001 -p pipelines/matmul-v7x.yaml           one variant: verdicts, times, who paid
  evolve log -p pipelines/matmul-v7x.yaml                  the rounds and what they selected
  evolve why round-3 -p pipelines/matmul-v7x.yaml          what a build would run, and why
  tests/run.sh                                             the tests
TEXT
