#!/usr/bin/env bash
# Fault tests of a remote cache, with nginx, bazel-remote and a bucket as servers. One machine stores results, and
# another machine takes the results instead of running the steps. Whatever fails at the server, every build must have
# the right outputs and report the fault once.
source "$(dirname "${BASH_SOURCE[0]}")/../project.sh"
source "$ROOT/tests/servers/remote_cache.sh"
trap stop_serving EXIT
STEPS=40
CASES=0

# machine NAME: makes a separate project. Its ran.log lists the steps that ran. Each step also runs hook.sh, which is
# not part of any key.
machine() {
  rm -rf "${PROJECT:?}/$1" && mkdir "$PROJECT/$1" && cd "$PROJECT/$1" || exit 1
  {
    printf 'rule step\n  command = echo $out >>ran.log && sh hook.sh $out && cat $in >$out && echo $out >>$out\n'
    printf 'rule cc\n  command = sh hook.sh $out && echo $out >>ran.log && echo "$out: in header" >$out.d && cat $in header >$out\n  depfile = $out.d\n  deps = gcc\n'
    for n in $(seq 2 $((STEPS - 1))); do printf 'build o%s: step o%s\n' "$n" $((n / 2)); done
    printf 'build o1: step in\nbuild compiled: cc in\n'
  } >build.ninja
  echo text >in && echo header >header && : >hook.sh && : >ran.log
}

# builds WHAT LEAST MOST ARGUMENTS…: runs evolve ninja. It must succeed, run LEAST to MOST steps, and make the right
# outputs.
builds() {
  local what=$1 least=$2 most=$3 ran
  shift 3
  CASES=$((CASES + 1))
  : >ran.log
  "$EVOLVE" ninja --quiet "$@" >said 2>&1 || fail "$what: exit $?: $(tail -n 3 said)"
  ran=$(wc -l <ran.log)
  [ "$ran" -ge "$least" ] && [ "$ran" -le "$most" ] || fail "$what: $ran steps ran: $(cat said)"
  [ "$(cat o* compiled | sha256sum)" = "$RIGHT" ] || fail "$what: other outputs than without a remote cache"
}
# warns WHAT COUNT TEXT: fails unless the last build printed COUNT warnings, and TEXT.
warns() {
  [ "$(grep -c warning said)" -eq "$2" ] || fail "$1: not $2 warnings: $(cat said)"
  [ "$2" -eq 0 ] || grep -q "$3" said || fail "$1: not '$3': $(cat said)"
}

new_project
machine plain
"$EVOLVE" ninja --quiet || fail "without a remote cache"
RIGHT=$(cat o* compiled | sha256sum)

serve
machine reader
builds "an empty server, read-only" "$STEPS" "$STEPS" --remote-cache "$REMOTE"
warns "an empty server, read-only" 0
grep -q PUT "$PROJECT/nginx/access.log" && fail "a reader stored something"
machine writer
builds "the first machine" "$STEPS" "$STEPS" --remote-cache "$REMOTE" --remote-write
machine second
builds "another machine" 0 0 --remote-cache "$REMOTE/"
warns "another machine" 0
# A machine that lost its blobs, but not its records of them.
rm -rf .evolve/blobs .evolve/snapshots o* compiled
builds "lost blobs" 0 0 --remote-cache "$REMOTE"
# A header counts as an input even if it is only discovered, not declared.
machine edited
echo "other header" >header
RIGHT=$(cat ../plain/o* in header | sha256sum) builds "an edited header" 1 1 --remote-cache "$REMOTE"
[ "$(cat ran.log)" = compiled ] || fail "an edited header: $(cat ran.log) ran"
cp -r "$PROJECT/store" "$PROJECT/whole"

machine stopped
printf 'case $1 in o2) kill -9 %s; while kill -0 %s 2>/dev/null; do :; done;; esac\n' "$SERVER" "$SERVER" >hook.sh
rm -rf "$PROJECT/store" && mkdir "$PROJECT/store"
builds "stopped mid-build" "$STEPS" "$STEPS" --remote-cache "$REMOTE" --remote-write -j1
wait $SERVER 2>/dev/null
SERVER=
warns "stopped mid-build" 1 "remote cache: .*/ac/.*: not used again in this build; [34][0-9] results were not stored in the remote cache"
builds "stopped, again" 0 0
machine unreachable
builds "no server" "$STEPS" "$STEPS" --remote-cache "$REMOTE"
warns "no server" 1 "onnect.*: not used again"

rm -rf "$PROJECT/store" && cp -r "$PROJECT/whole" "$PROJECT/store"
serve "limit_rate 20;"
machine slow
builds "a slow server" "$STEPS" "$STEPS" --remote-cache "$REMOTE" --remote-timeout 1
warns "a slow server" 1 "not used again"
for status in 403 500 302; do
  serve "return $status http://127.0.0.1:1/;"
  machine "status$status"
  builds "HTTP status $status" "$STEPS" "$STEPS" --remote-cache "$REMOTE" --remote-write
  warns "HTTP status $status" 1 "HTTP status $status: not used again in this build; $STEPS results"
done
serve "limit_except GET HEAD { deny all; }"
machine refused
echo more >>in && "$EVOLVE" ninja --quiet --remote-cache "$REMOTE" --remote-write >said 2>&1 || fail "a server for readers: $(cat said)"
warns "a server for readers" 1 "not stored in the remote cache: PUT .*HTTP status 403"

# damaged WHAT TEXT COMMAND…: COMMAND damages files of the store. A machine that writes to the store repairs the files.
damaged() {
  local what=$1 text=$2
  shift 2
  rm -rf "$PROJECT/store" && cp -a "$PROJECT/whole" "$PROJECT/store"
  (cd "$PROJECT/store" && "$@") || fail "$what: damaging"
  machine victim
  builds "$what" 1 "$STEPS" --remote-cache "$REMOTE" --remote-write
  warns "$what" 1 "$text"
  machine healed
  builds "$what, made good" 0 0 --remote-cache "$REMOTE"
  warns "$what, made good" 0
}
serve
flip_all() { "$ROOT/.venv/bin/python" -c '
import pathlib, sys
for path in map(pathlib.Path, sys.argv[1:]):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)' "$@"; }
cut_all() { for file in "$@"; do truncate -s -1 "$file"; done; }
shift_all() { local previous=$1 file; for file in "${@:2}"; do cp "$file" "$previous"; previous=$file; done; }
damaged "wrong blobs" "/cas/.*does not match its digest: rejected, like 39 more" eval 'flip_all cas/*'
damaged "short blobs" "/cas/.*does not match its digest: rejected" eval 'cut_all cas/*'
damaged "empty blobs" "/cas/.*does not match its digest: rejected" eval 'truncate -s 0 cas/*'
damaged "long blobs" "/cas/.*is larger than .* bytes: rejected" eval 'for f in cas/*; do echo more >>$f; done'
damaged "exchanged blobs" "rejected" eval 'shift_all cas/*'
damaged "exchanged entries" "/ac/.*is the entry of a different key: rejected" eval 'shift_all ac/*'
damaged "short entries" "/ac/.*is not an entry of this cache: rejected" eval 'cut_all ac/*'
damaged "entries that are none" "/ac/.*is not an entry of this cache: rejected" eval 'for f in ac/*; do echo "<html>not found</html>" >$f; done'

# Inputs that a run on another machine discovered and that cannot exist here: the edge's own output, a pipe, a device, a
# name that is too long.
list() { "$ROOT/.venv/bin/python" -c '
import json, pathlib, sys
for path in pathlib.Path("ac").iterdir():
    data = path.read_bytes()
    if data[:1] != b"\x2a":
        continue
    record = json.loads(data[data.index(b"{"):])
    record["discovered"] = [sys.argv[1]]
    text = json.dumps(record).encode()
    path.write_bytes(b"\x2a" + bytes([len(text) & 0x7F | 0x80, len(text) >> 7]) + text)' "$1"; }
for name in compiled pipe /dev/zero "$PROJECT/victim/none/$(printf 'x%.0s' {1..300})"; do
  rm -rf "$PROJECT/store" && cp -r "$PROJECT/whole" "$PROJECT/store"
  (cd "$PROJECT/store" && list "$name") || fail "a list with $name"
  machine victim
  mkfifo pipe
  builds "a list with ${name:0:20}" 1 1 --remote-cache "$REMOTE" --remote-write
done

# Blobs that were evicted while their entries stayed.
rm -rf "$PROJECT/store" && cp -r "$PROJECT/whole" "$PROJECT/store" && rm "$PROJECT"/store/cas/*
machine evicted
builds "evicted blobs" "$STEPS" "$STEPS" --remote-cache "$REMOTE" --remote-write
warns "evicted blobs" 0
machine after
builds "evicted blobs, made good" 0 0 --remote-cache "$REMOTE"

# An answer that breaks off, from a server that gives a wrong length.
"$ROOT/.venv/bin/python" -c '
import http.server
class Liar(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"short")
        self.close_connection = True
    def log_message(self, *_): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Liar)
print(server.server_port, flush=True)
server.serve_forever()' >"$PROJECT/liar" &
LIAR=$!
until [ -s "$PROJECT/liar" ]; do :; done
machine cut
builds "an answer that breaks off" "$STEPS" "$STEPS" --remote-cache "http://127.0.0.1:$(cat "$PROJECT/liar")"
warns "an answer that breaks off" 1 "not used again"
kill $LIAR

# A user's name and password, from the environment.
printf 'me:%s\n' "$(openssl passwd -apr1 secret)" >"$PROJECT/users"
rm -rf "$PROJECT/store" && cp -r "$PROJECT/whole" "$PROJECT/store"
serve "auth_basic all; auth_basic_user_file $PROJECT/users;"
machine nobody
builds "no password" "$STEPS" "$STEPS" --remote-cache "$REMOTE"
warns "no password" 1 "HTTP status 401"
machine somebody
EVOLVE_REMOTE_CACHE=$REMOTE EVOLVE_REMOTE_CACHE_USER=me:secret builds "a password" 0 0
grep -rq secret .evolve said && fail "a password was recorded"

# Blobs that are damaged or lost here are taken from the remote cache.
rm -rf "$PROJECT/store" && cp -r "$PROJECT/whole" "$PROJECT/store"
serve
machine damaged
builds "before the damage" 0 0 --remote-cache "$REMOTE"
blobs=(.evolve/blobs/*/*)
chmod u+w "${blobs[@]}" && echo >>"${blobs[0]}" && rm "${blobs[1]}"
"$EVOLVE" cache verify --state .evolve --remote-cache "$REMOTE" >said 2>&1 || fail "repair: $(cat said)"
grep -q 'replaced from the remote cache' said && grep -q 'lost: 1 blobs: taken' said || fail "repair: $(cat said)"
"$EVOLVE" cache verify --state .evolve >said 2>&1 || fail "after the repair: $(cat said)"

# Two state folders share a campaign through nginx.
rm -rf "$PROJECT/store"
serve
mkdir "$PROJECT/elsewhere" && cp -r "$PROJECT"/{small,rules,.venv} "$PROJECT/elsewhere/"
shares_campaign nginx "$REMOTE" "$PROJECT"{,/elsewhere} small/small.yaml round-2

# The same with bazel-remote, and tests of its differences from nginx.
rm -rf "$PROJECT/store"
serve_bazel_remote
machine bazel
builds "bazel-remote, empty" "$STEPS" "$STEPS" --remote-cache "$REMOTE" --remote-write
warns "bazel-remote, empty" 0
machine bazel-reader
builds "bazel-remote" 0 0 --remote-cache "$REMOTE"
warns "bazel-remote" 0
stop_serving
stored=("$PROJECT"/store/cas.v2/*/*)
rm "${stored[0]}"
serve_bazel_remote
machine bazel-evicted
builds "bazel-remote, a blob evicted" 1 "$STEPS" --remote-cache "$REMOTE" --remote-write
warns "bazel-remote, a blob evicted" 0
machine bazel-after
builds "bazel-remote, made good" 0 0 --remote-cache "$REMOTE"
stop_serving
for file in "$PROJECT"/store/cas.v2/*/*; do printf X | dd of="$file" conv=notrunc status=none; done
serve_bazel_remote
machine bazel-wrong
builds "bazel-remote, wrong blobs" 1 "$STEPS" --remote-cache "$REMOTE" --remote-write
grep -q warning said || fail "bazel-remote, wrong blobs: $(cat said)"
serve_bazel_remote --htpasswd_file "$PROJECT/users"
machine bazel-nobody
builds "bazel-remote, no password" "$STEPS" "$STEPS" --remote-cache "$REMOTE"
warns "bazel-remote, no password" 1 "HTTP status 401"
rm -rf "$PROJECT/store"
serve_bazel_remote
shares_campaign bazel-remote "$REMOTE" "$PROJECT"{,/elsewhere} small/small.yaml round-2

# The same with a bucket. The server checks an object only when the object is stored.
rm -rf "$PROJECT/store"
serve_bucket
machine bucket
builds "a bucket, empty" "$STEPS" "$STEPS" --remote-cache "$REMOTE" --remote-write
warns "a bucket, empty" 0
[ -n "$(find "$PROJECT/store/machines/team/ac" -type f)" ] || fail "a bucket: nothing lies below its prefix"
machine bucket-reader
builds "a bucket" 0 0 --remote-cache "$REMOTE/"
warns "a bucket" 0
machine bucket-none
builds "no such bucket" "$STEPS" "$STEPS" --remote-cache gs://others/team --remote-write
warns "no such bucket" 1 "$STEPS results were not stored in the remote cache: POST .*/b/others/o.*: HTTP status 404"
machine bucket-other
builds "a bucket, another prefix" "$STEPS" "$STEPS" --remote-cache gs://machines
warns "a bucket, another prefix" 0
rm -rf "$PROJECT/whole" && cp -a "$PROJECT/store" "$PROJECT/whole"
# The damage leaves out the files in which the server keeps its own metadata of objects.
objects() { GLOBIGNORE='*.metadata'; cd machines/team && eval "$1"; }
damaged "a bucket, wrong objects" "team%2Fcas%2F.*does not match its digest: rejected, like 39 more" objects 'flip_all cas/*'
damaged "a bucket, short objects" "team%2Fcas%2F.*does not match its digest: rejected" objects 'cut_all cas/*'
damaged "a bucket, long objects" "team%2Fcas%2F.*is larger than .* bytes: rejected" objects 'for f in cas/*; do echo more >>$f; done'
damaged "a bucket, exchanged entries" "team%2Fac%2F.*is the entry of a different key: rejected" objects 'shift_all ac/*'
damaged "a bucket, short entries" "team%2Fac%2F.*is not an entry of this cache: rejected" objects 'cut_all ac/*'
rm -rf "$PROJECT/store" && cp -a "$PROJECT/whole" "$PROJECT/store" && rm "$PROJECT"/store/machines/team/cas/*
machine bucket-evicted
builds "a bucket, objects evicted" "$STEPS" "$STEPS" --remote-cache "$REMOTE" --remote-write
warns "a bucket, objects evicted" 0
machine bucket-after
builds "a bucket, made good" 0 0 --remote-cache "$REMOTE"
machine bucket-stopped
printf 'case $1 in o2) kill -9 %s; while kill -0 %s 2>/dev/null; do :; done;; esac\n' "$SERVER" "$SERVER" >hook.sh
rm -rf "$PROJECT/store" && mkdir -p "$PROJECT/store/machines"
builds "a bucket, stopped mid-build" "$STEPS" "$STEPS" --remote-cache "$REMOTE" --remote-write -j1
wait "$SERVER" 2>/dev/null
SERVER=
warns "a bucket, stopped mid-build" 1 "remote cache: .*/o/team%2Fac%2F.*: not used again in this build; [34][0-9] results were not stored in the remote cache"
serve_bucket
shares_campaign "a bucket" "$REMOTE" "$PROJECT"{,/elsewhere} small/small.yaml round-2

# For Google's own buckets, the metadata server gives the account. The buckets themselves cannot be reached from here.
account() { GCE_METADATA_HOST=${METADATA#http://} https_proxy=http://127.0.0.1:1 builds "$@" --remote-cache gs://machines/team --remote-write; }
: >"$PROJECT/nginx/access.log"
serve 'if ($http_metadata_flavor != Google) { return 403; } return 200 "{\"access_token\":\"planted\",\"expires_in\":3600}";'
METADATA=$REMOTE
machine account
account "a token, and no bucket" "$STEPS" "$STEPS"
warns "a token, and no bucket" 1 "GET https://storage.googleapis.com/storage/v1/b/machines/o/team%2Fac%2F.*onnect.*: not used again"
[ "$(grep -c 'service-accounts/default/token.* 200 ' "$PROJECT/nginx/access.log")" -eq 1 ] || fail "a token: $(cat "$PROJECT/nginx/access.log")"
grep -rq planted .evolve said && fail "a token was recorded"
serve "return 404;"
machine nobody
account "no token" "$STEPS" "$STEPS"
warns "no token" 1 "no credential is set, and $METADATA/.*: HTTP status 404: not used again"
finish $((CASES + 5))
