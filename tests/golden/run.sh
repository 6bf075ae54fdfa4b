#!/usr/bin/env bash
# Golden cases: what a user types, and everything that evolve answers. A case is a folder with `cmd`, a bash script that
# runs in a fresh project (tests/project.sh), and `expected`: its stdout, stderr and exit code. What differs from run to
# run is normalised. A case finds the results of an earlier campaign (project.sh, warm_project); a case with a file
# `cold` finds none. A case with a file `thorough` runs only if THOROUGH is set, or by name; a case with a file `full`
# runs only if THOROUGH is "all", as in .ci/full, or by name.
#   tests/golden/run.sh [CASE…]            compares
#   tests/golden/run.sh --accept [CASE…]   writes the answers of today; read the diff
source "$(dirname "${BASH_SOURCE[0]}")/../project.sh"
cd "$ROOT/tests/golden" || exit 1
accept=false
[ "${1:-}" = --accept ] && accept=true && shift
cases=("$@")
if [ ${#cases[@]} -eq 0 ]; then
  for name in */; do
    # Long cases are left to CI, and the longest to .ci/full.
    [ -e "$name/thorough" ] && [ -z "${THOROUGH:-}" ] && continue
    [ -e "$name/full" ] && [ "${THOROUGH:-}" != all ] && continue
    cases+=("$name")
  done
fi

warm_up
normalised() {
  sed -e "s|$PROJECT|PROJECT|g" -e "s|$ROOT|ROOT|g" \
    -e 's/[0-9][0-9.]* \(us\|ms\|s\|min\)\b/T/g' -e 's/ in [0-9:]* min/ in T/' \
    -e 's/20[0-9-]*T[0-9:]*Z/DATE/g' -e 's/\.tmp[0-9]*\.[0-9]*/.tmp/g' \
    -e "s/ on $(uname -n), / on HOST, /" \
    -e 's/\b[0-9a-f]\{32\}\b/DIGEST/g' -e 's/\b[0-9a-f]\{12\}\b/DIGEST/g' -e '/\bT\b/s/   */  /g'
}

took=()
for name in "${cases[@]}"; do
  name=${name%/}
  began=$SECONDS
  if [ -e "$name/cold" ]; then new_project; else warm_project; fi
  actual=$(cd "$PROJECT" && { EVOLVE="$EVOLVE" EVOLVE_ROOT="$ROOT" bash -c 'evolve() { "$EVOLVE" "$@"; }; source "$0"' \
    "$ROOT/tests/golden/$name/cmd" >out 2>err; echo "exit $?" >code; }
    printf -- '--- stdout\n'; cat "$PROJECT/out"; printf -- '--- stderr\n'; cat "$PROJECT/err"; cat "$PROJECT/code")
  actual=$(printf '%s\n' "$actual" | normalised)
  if $accept; then
    printf '%s\n' "$actual" >"$name/expected"
  elif ! diff -u "$name/expected" - <<<"$actual"; then
    fail "$name"
  fi
  took+=("$((SECONDS - began)) s $name")
done
# The slowest cases are listed in the log, because the time of CI is limited.
printf '%s\n' "${took[@]}" | sort -rn | head -n 20
finish ${#cases[@]}
