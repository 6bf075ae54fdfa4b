#!/usr/bin/env bash
# Fault tests with each file of the state cut off at many places. The next build must be correct, report what it lost,
# and keep the files that it set aside.
source "$(dirname "${BASH_SOURCE[0]}")/../project.sh"
CUTS=${CUTS:-10}
EDGES=60
RANDOM=1  # the same places in every run

cd "$PROJECT" || exit 1
{
  printf 'rule copy\n  command = cp $in $out; echo $out: more >$out.d\n  depfile = $out.d\n  deps = gcc\n'
  for ((i = 0; i < EDGES; i++)); do printf 'build out%s: copy source%s\n' "$i" "$((i % 7))"; done
} >build.ninja
for ((i = 0; i < 7; i++)); do echo "source $i" >"source$i"; done
touch more
"$EVOLVE" ninja --quiet || fail "the project itself"
cp -r .evolve kept

count=0
for path in kept/memo.db kept/ledger.db kept/snapshots/*; do
  name=${path#kept/}
  size=$(stat -c %s "$path")
  for ((cut = 0; cut < CUTS; cut++)); do
    # Every fifth cut is within the last page, where a database cannot detect it.
    at=$((cut == 0 ? 0 : cut == 1 ? 1 : cut % 5 == 0 ? size - 1 - RANDOM % 3000 % size : (RANDOM * 32768 + RANDOM) % size))
    count=$((count + 1))
    rm -rf .evolve && cp -r kept .evolve && truncate -s "$at" ".evolve/$name"
    rm -f out3
    echo "source $cut" >source2
    message=$("$EVOLVE" ninja --quiet 2>&1) || fail "$name cut at $at of $size: $message"
    for ((i = 0; i < EDGES; i++)); do
      cmp -s "out$i" "source$((i % 7))" || fail "$name cut at $at of $size: out$i is wrong"
    done
    [ "$("$EVOLVE" ninja)" = "ninja: no work to do." ] || fail "$name cut at $at of $size: something runs again"
    case $message in
      *"moved to"*) [ "$(stat -c %s ".evolve/$name.unreadable")" = "$at" ] || fail "$name cut at $at: what was set aside is gone" ;;
      *damaged* | "") ;;
      *) fail "$name cut at $at: $message" ;;
    esac
  done
done
cd "$ROOT" || exit 1
finish "$count"
