#!/usr/bin/env bash
# Tests of a state folder that several people share. Nobody may lock another person out, and a person who only reads
# needs no write access. The test acts as several users, so it is skipped without root.
#   tests/fault/people.sh
source "$(dirname "${BASH_SOURCE[0]}")/../project.sh"
as() { # as USER COMMAND…: USER is in the group 61005, except USER 61003
  local groups=61005
  [ "$1" = 61003 ] && groups=61003
  setpriv --reuid="$1" --regid="$1" --groups "$groups" env HOME="$PROJECT" EVOLVE_STATE="$STATE" bash -c 'umask 002; "$@"' - "${@:2}"
}
STATE=$PROJECT/state
chmod 755 "$PROJECT"
[ -x "$EVOLVE" ] || { fail "$EVOLVE is not there"; finish 1; }
if ! as 61001 "$EVOLVE" --version >"$PROJECT/out" 2>&1; then
  echo "skipped: no other user can run $EVOLVE here"
  finish 0
fi
mkdir "$STATE" && chgrp 61005 "$STATE" && chmod 2775 "$STATE"
for user in 61001 61002; do
  mkdir "$PROJECT/$user"
  printf 'rule copy\n  command = cp $in $out; echo $out >>../ran\nbuild out: copy in\nbuild own: copy of.%s\n' "$user" >"$PROJECT/$user/build.ninja"
  echo same >"$PROJECT/$user/in"
  echo "$user" >"$PROJECT/$user/of.$user"
  chown -R "$user:$user" "$PROJECT/$user"
done
touch "$PROJECT/ran" && chmod 666 "$PROJECT/ran"
steps=0
# built USER RUNS: USER builds. Afterwards the shared command, which is the same for all users, must have run RUNS
# times.
built() {
  steps=$((steps + 1))
  rm -f "$PROJECT/$1/out"
  as "$1" "$EVOLVE" ninja -C "$PROJECT/$1" -v >"$PROJECT/told" 2>&1 || fail "step $steps: $1 cannot build: $(cat "$PROJECT/told")"
  [ "$(grep -c '^out$' "$PROJECT/ran")" = "$2" ] || fail "step $steps: not $2 runs: $(cat "$PROJECT/ran" "$PROJECT/told")"
}
read_by_other() {
  steps=$((steps + 1))
  as 61003 "$EVOLVE" cache stats --state "$STATE" >"$PROJECT/told" 2>&1 || fail "step $steps: who only reads is told: $(cat "$PROJECT/told")"
}
built 61001 1
read_by_other
built 61002 1
built 61001 1
# A build that is killed while the databases are open leaves logs, which other users must be able to use.
runs=1
for user in 61001 61002; do
  runs=$((runs + 1))
  echo "changed by $user" >"$PROJECT/$user/in"
  printf 'rule wait\n  command = touch started; exec sleep 60\nbuild never: wait in\n' >"$PROJECT/$user/wait.ninja"
  as "$user" "$EVOLVE" ninja -C "$PROJECT/$user" -f wait.ninja >"$PROJECT/told" 2>&1 &
  until [ -e "$PROJECT/$user/started" ]; do read -r -t 0.02 <> <(:); done
  for pid in $(pgrep -u "$user"); do kill -9 "$pid"; done
  wait
  read_by_other
  built "$user" "$runs"
done
find "$STATE" -maxdepth 1 -name '*.db*' ! -group 61005 | grep . && fail "a database is not the group's"
finish "$steps"
