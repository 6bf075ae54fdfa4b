#!/usr/bin/env bash
# Fault tests with a disk that fails: EIO from any call of the engine, a read-only folder, a clock that goes back. The
# engine must report what failed. The next build must be correct, and must use earlier results.
source "$(dirname "${BASH_SOURCE[0]}")/../project.sh"
CALLS=${CALLS:-4}  # failing instances of each system call, one per build
CASES=0

manifest() {
  rm -rf "${PROJECT:?}/$1" && mkdir "$PROJECT/$1" && cd "$PROJECT/$1" || exit 1
  printf 'rule step\n  command = echo $out >>ran.log && cat $in >$out && echo $out >>$out\nrule cc\n  command = echo $out >>ran.log && echo "$out: header" >$out.d && cat $in header >$out\n  depfile = $out.d\n  deps = gcc\nbuild a: step in\nbuild b: step a\nbuild c: cc b\nbuild d: step c a\n' >build.ninja
  echo text >in && echo header >header && : >ran.log
}
# ends_well WHAT: fails unless a build without faults has the correct result.
ends_well() {
  CASES=$((CASES + 1))
  "$EVOLVE" ninja --quiet >said 2>&1 || fail "$1: the build after it: $(tail -n 2 said)"
  [ "$(cat a b c d | sha256sum)" = "$RIGHT" ] || fail "$1: other outputs"
  [ "$(sort ran.log | uniq -c | sort -rn | awk 'NR == 1 {print $1}')" -le 2 ] || fail "$1: a step ran more than twice"
}

new_project
manifest plain
"$EVOLVE" ninja --quiet || fail "without faults"
RIGHT=$(cat a b c d | sha256sum)

for call in openat read pread64 write pwrite64 rename link mkdir newfstatat unlink ftruncate fcntl getdents64 statx; do
  for ((n = 1; n <= CALLS; n++)); do
    # The instances are spread over the run, because the first calls are the dynamic linker's.
    at=$((n * n * 3))
    manifest faulty
    strace -qq -o /dev/null -e trace="$call" -e inject="$call:error=EIO:when=$at" "$EVOLVE" ninja --quiet >said 2>&1
    code=$?
    [ "$code" -lt 128 ] && [ "$code" -ne 70 ] || fail "$call $at: code $code: $(tail -n 2 said)"
    [ "$code" -eq 0 ] || grep -Eq 'error|fatal|FAILED|stopped|cannot|GLIBC|libr' said || fail "$call $at: code $code and no word: $(cat said)"
    ends_well "EIO from $call, the ${at}th"
  done
done

manifest readonly
"$EVOLVE" ninja --quiet a >/dev/null || fail "before it was read-only"
bwrap --dev-bind / / --ro-bind "$PWD/.evolve" "$PWD/.evolve" "$EVOLVE" ninja >said 2>&1 && fail "a read-only state folder: no error"
grep -q '\(error\|build stopped\): .*\.evolve.*[Rr]ead-\?only' said || fail "a read-only state folder: $(cat said)"
ends_well "a read-only state folder"
[ "$(sort ran.log | uniq -d)" = "" ] || fail "a read-only state folder: $(cat ran.log)"

manifest ahead
faketime '2099-01-01' "$EVOLVE" ninja --quiet >said 2>&1 || fail "in 2099: $(cat said)"
echo other >in && touch -d 2001-01-01 in
"$EVOLVE" ninja --quiet && [ "$(wc -l <ran.log)" -eq 8 ] || fail "a source that is older, and other, than in 2099: $(cat ran.log)"
echo text >in
faketime '1999-01-01' "$EVOLVE" ninja --quiet >said 2>&1 || fail "in 1999: $(cat said)"
ends_well "a clock that goes back"
[ "$(wc -l <ran.log)" -eq 8 ] || fail "what was known in 2099 ran again in 1999"
finish "$CASES"
