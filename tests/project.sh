# A separate project for a test: the repository's rules, environment and kernels, and the small campaign. Its folder is
# removed when the test passes. The script tiers source this file, which sets PROJECT.
# shellcheck shell=bash
set -uo pipefail
# The tests must not depend on evolve's variables in the user's environment.
unset EVOLVE_PIPELINE EVOLVE_PYTHON VIRTUAL_ENV EVOLVE_STATE EVOLVE_BASE EVOLVE_REMOTE_CACHE \
  EVOLVE_REMOTE_CACHE_TOKEN EVOLVE_REMOTE_CACHE_USER STORAGE_EMULATOR_HOST GCE_METADATA_HOST
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

# The results of a campaign of the small kernel, as it is and with another block. They are made once per clone, and
# brought up to date like any build. They have no record of a build, so a test that gets them has no edge that counts as
# built.
WARM=$(dirname "$EVOLVE")/warm
warm_up() {
  mkdir -p "$WARM"
  (
    flock 9
    cd "$WARM" && ln -sfn "$ROOT/rules" rules && ln -sfn "$ROOT/.venv" .venv || exit 1
    for folder in small narrow; do
      rm -rf "$folder" && cp -r "$ROOT/tests/data/small" "$folder" || exit 1
      [ "$folder" = small ] || sed -i 's/^BLOCK_M = 512/BLOCK_M = 128/' "$folder/kernel.py"
      "$EVOLVE" build round-2 -p "$folder/small.yaml" --state state -q || exit 1
    done
  ) 9>"$WARM/lock" || fail "the campaign before all tests"
}

# warm_project: makes a new project whose state folder has the results of warm_up. So a test pays only for its subject.
warm_project() {
  new_project
  lend_results "$PROJECT/small/.evolve"
}
# lend_results FOLDER: makes a state folder with the results of warm_up, and nothing else.
lend_results() {
  mkdir "$1"
  flock -s "$WARM/lock" cp -r "$WARM/state/memo.db" "$WARM/state/blobs" "$1"
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
