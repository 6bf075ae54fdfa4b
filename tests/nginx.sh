# A real nginx as a remote cache, for the script tiers: WebDAV's PUT below a folder, as its manual shows it.
# Sourced after project.sh; sets REMOTE, its address, and keeps what is stored in $PROJECT/store.
# shellcheck shell=bash

# serve [DIRECTIVES…]: starts it anew, with these in its only location.
serve() {
  stop_serving
  PORT=${PORT:-$("$ROOT/.venv/bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')}
  # shellcheck disable=SC2034  # for who sources this
  REMOTE=http://127.0.0.1:$PORT
  mkdir -p "$PROJECT/store" "$PROJECT/nginx"
  cat >"$PROJECT/nginx/nginx.conf" <<END
$([ "$(id -u)" -ne 0 ] || echo 'user root;')
daemon off;
master_process off;
pid $PROJECT/nginx/pid;
error_log $PROJECT/nginx/error.log;
events {}
http {
  access_log $PROJECT/nginx/access.log;
  client_body_temp_path $PROJECT/nginx/body; proxy_temp_path $PROJECT/nginx/proxy; fastcgi_temp_path $PROJECT/nginx/fastcgi;
  uwsgi_temp_path $PROJECT/nginx/uwsgi; scgi_temp_path $PROJECT/nginx/scgi;
  server {
    listen 127.0.0.1:$PORT;
    location / {
      root $PROJECT/store; dav_methods PUT; create_full_put_path on; client_max_body_size 1g;
      $*
    }
  }
}
END
  nginx -p "$PROJECT/nginx" -c "$PROJECT/nginx/nginx.conf" 2>"$PROJECT/nginx/out" &
  SERVER=$!
  until (exec 3<>"/dev/tcp/127.0.0.1/$PORT") 2>/dev/null; do
    kill -0 "$SERVER" 2>/dev/null || { fail "nginx: $(cat "$PROJECT/nginx/out" "$PROJECT/nginx/error.log")"; return 1; }
  done
}

stop_serving() {
  [ -n "${SERVER:-}" ] || return 0
  kill "$SERVER" 2>/dev/null
  wait "$SERVER" 2>/dev/null
  SERVER=
}
