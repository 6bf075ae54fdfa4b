# A bucket on this machine, and a check for every store of results, for the tiers that run a store. Nothing here starts
# or stops a process. The script that sources this file must have EVOLVE and `fail`.
# shellcheck shell=bash

BUCKET_PROGRAM=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/build/servers/fake-gcs-server

# bucket_server FOLDER PORT: becomes fake-gcs-server, with the bucket gs://machines for every process that has
# STORAGE_EMULATOR_HOST=127.0.0.1:PORT. The object "team/ac/NAME" is the file FOLDER/machines/team/ac/NAME.
# NAME.metadata is next to this file if FOLDER's file system has no extended attributes.
bucket_server() {
  mkdir -p "$1/machines"
  exec "$BUCKET_PROGRAM" -backend filesystem -filesystem-root "$1" -scheme http -host 127.0.0.1 -port "$2"
}

# shares_campaign WHAT REMOTE FOLDER OTHER PIPELINE TARGET: a cold state in OTHER takes what a cold state in FOLDER
# built and stored at REMOTE. In OTHER, nothing may be lowered, compiled, checked or timed, and the same variants must
# be selected.
shares_campaign() {
  local what=$1 remote=$2 folder=$3 other=$4 pipeline=$5 target=$6 state=cold-$RANDOM
  "$EVOLVE" build "$target" -C "$folder" -p "$pipeline" --state "$state" -q --remote-cache "$remote" --remote-write ||
    fail "$what: the campaign"
  "$EVOLVE" build "$target" -C "$other" -p "$pipeline" --state "$state" --json --remote-cache "$remote" >"$other/events" ||
    fail "$what: the campaign elsewhere"
  grep '"finished"' "$other/events" | grep '"outcome":"ran"' | sed 's/.*"subject":"\([^"]*\)".*/\1/' >"$other/ran"
  [ ! -s "$other/ran" ] || fail "$what: elsewhere ran: $(tr '\n' ' ' <"$other/ran")"
  tail -n 1 "$other/events" | grep -q '"unstored":0' || fail "$what: no word of the remote cache: $(tail -n 1 "$other/events")"
  cmp {"$folder","$other"}/"$state/$(basename "$pipeline" .yaml)/$target/selection.json" || fail "$what: another selection"
  rm -rf {"${folder:?}","${other:?}"}/"$state"
}
