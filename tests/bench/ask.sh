#!/usr/bin/env bash
# The number of points that `evolve ask` tries until it has a good one, next to other searches, on fully measured spaces.
#   tests/bench/ask.sh FOLDER [--seeds N] [--rivals NAME,…] [--most N] [--jobs N]    FOLDER: *.json or *.json.gz in the T4 format
# Installs the rivals into build/ask-venv. ask.py explains what is counted, and how.
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
