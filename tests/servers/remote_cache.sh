# Real servers of a remote cache, for the script tiers: nginx with WebDAV's PUT below a folder, as its manual shows it,
# bazel-remote, and a bucket. Scripts source this file after project.sh. The functions set REMOTE (the server's address)
# and SERVER (its process), and keep the stored files in $PROJECT/store. One server runs at a time.
# shellcheck shell=bash
source "$ROOT/tests/servers/store.sh"

# serve [DIRECTIVES…]: restarts nginx, with these directives in its only location.
serve() {
  stop_serving
  mkdir -p "$PROJECT/store" "$PROJECT/nginx"
  cat >"$PROJECT/nginx/nginx.conf" <<END
$([ "$(id -u)" -ne 0 ] || echo 'user root;')
daemon off;
master_process off;
pid $PROJECT/nginx/pid;
error_log stderr;
events {}
http {
  access_log $PROJECT/nginx/access.log;
  client_body_temp_path $PROJECT/nginx/body; proxy_temp_path $PROJECT/nginx/proxy; fastcgi_temp_path $PROJECT/nginx/fastcgi;
  uwsgi_temp_path $PROJECT/nginx/uwsgi; scgi_temp_path $PROJECT/nginx/scgi;
  server {
    listen 127.0.0.1:$(free_port);
    location / {
      root $PROJECT/store; dav_methods PUT; create_full_put_path on; client_max_body_size 1g;
      $*
    }
  }
}
END
  start nginx -p "$PROJECT/nginx" -c "$PROJECT/nginx/nginx.conf"
}

# serve_bazel_remote [OPTION…]: restarts bazel-remote. Unlike nginx, it reads the entries that it stores, and gives no
# entry whose blobs are lost.
serve_bazel_remote() {
  stop_serving
  start "$ROOT/build/servers/bazel-remote" --dir "$PROJECT/store" --max_size 1 --storage_mode uncompressed \
    --http_address "127.0.0.1:$(free_port)" --grpc_address none "$@"
}

# serve_bucket: restarts a bucket. Its protocol is the JSON API of Google Cloud Storage, and not that of a web server
# (cache/README.md).
serve_bucket() {
  stop_serving
  start bucket_server "$PROJECT/store" "$(free_port)"
  export STORAGE_EMULATOR_HOST=${REMOTE#http://}
  REMOTE=gs://machines/team
}

stop_serving() {
  unset STORAGE_EMULATOR_HOST
  [ -n "${SERVER:-}" ] || return 0
  kill "$SERVER" 2>/dev/null
  wait "$SERVER" 2>/dev/null
  SERVER=
}

# free_port: prints the port that all servers of a test share.
free_port() {
  [ -s "$PROJECT/port" ] || "$ROOT/.venv/bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])' >"$PROJECT/port"
  cat "$PROJECT/port"
}

# start COMMAND…: starts a server on the port that free_port prints. Returns when the server answers.
start() {
  local port
  port=$(free_port)
  # shellcheck disable=SC2034  # for the script that sources this
  REMOTE=http://127.0.0.1:$port
  "$@" >"$PROJECT/server.log" 2>&1 &
  SERVER=$!
  until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
    kill -0 "$SERVER" 2>/dev/null || { fail "$1: $(tail -n 5 "$PROJECT/server.log")"; return 1; }
  done
}
