# A project of a test's own: the repository's rules, environment and kernels, and the small campaign, in a
# folder that goes away when the test passes. Sourced by the script tiers; sets PROJECT.
# shellcheck shell=bash
set -uo pipefail
# What the user's own shell says of evolve is not the tests'.
unset EVOLVE_PYTHON EVOLVE_STATE EVOLVE_BASE EVOLVE_REMOTE_CACHE EVOLVE_REMOTE_CACHE_TOKEN EVOLVE_REMOTE_CACHE_USER \
  STORAGE_EMULATOR_HOST GCE_METADATA_HOST
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
EVOLVE=${EVOLVE:-$ROOT/build/release/evolve}
PROJECT=$(mktemp -d "${TMPDIR:-/tmp}/evolve-test-XXXXXX")
FAILURES=0

new_project() {
  find "$PROJECT" -mindepth 1 -delete
  ln -s "$ROOT/rules" "$PROJECT/rules"
  ln -s "$ROOT/.venv" "$PROJECT/.venv"
  cp -r "$ROOT/tests/data/small" "$PROJECT/small"
}

fail() {
  printf 'FAILED: %s\n' "$*"
  FAILURES=$((FAILURES + 1))
}

finish() {
  if [ "$FAILURES" -eq 0 ]; then
    rm -rf "$PROJECT"
    printf '%s passed, 0 failed\n' "$1"
    exit 0
  fi
  printf 'test data left in %s\n%s passed, %s failed\n' "$PROJECT" "$(($1 - FAILURES))" "$FAILURES"
  exit 1
}
