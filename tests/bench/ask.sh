#!/usr/bin/env bash
# A benchmark of `evolve ask` and other searches: the number of points that they try on fully measured spaces.
#   tests/bench/ask.sh FOLDER [--seeds N] [--rivals NAME,…] [--most N] [--jobs N]    FOLDER: *.json or *.json.gz in the T4 format
# It installs the other searches into build/ask-venv. ask.py explains the counts.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
venv=$PWD/build/ask-venv
mkdir -p build
[ -e "$venv/ready" ] || {
  python3 -m venv "$venv"
  "$venv/bin/pip" install -q kernel_tuner==1.5.0 cma==4.5.0 optuna==5.0.0
  touch "$venv/ready"
} >&2
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
EVOLVE=${EVOLVE:-$PWD/build/release/evolve} "$venv/bin/python" tests/bench/ask.py "$@"
