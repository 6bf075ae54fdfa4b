#!/usr/bin/env bash
# Command 1 of the README: from a fresh clone to an evolved kernel, on a machine without a TPU.
# Installs what is missing, builds a release, runs three rounds of a campaign, and prints the
# commands to try next. A second run skips the parts that are done.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source pipelines/setup.sh

mkdir -p build
need_packages "${EVOLVE_BUILD_PACKAGES[@]}"
need_python rules/requirements.lock
need_build build/release release

pipeline=$(first_pipeline)
say "evolve build round-3 -p $pipeline"
build/release/evolve build round-3 -p "$pipeline"

cat <<TEXT

What to try next:
  export PATH=\$PWD/build/release:\$PATH
  evolve best -p $pipeline --out best.py   the winning kernel, ready to run under JAX
  evolve show v0001 -p $pipeline           one variant: verdicts, times, who paid
  evolve log -p $pipeline                  the rounds and what they selected
  evolve why round-3 -p $pipeline          what a build would run, and why
  tests/run.sh                                             the tests
TEXT
