"""A proxy that makes an API server fail often: storm_proxy.py PORT UPSTREAM_PORT CERTIFICATE KEY AUTHORITY.

It answers one in five requests with 429 or 500. It cuts a watch after two seconds, whatever the watch is sending.
"""

from __future__ import annotations

import http.client
import random
import socket
import ssl
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT, UPSTREAM = int(sys.argv[1]), int(sys.argv[2])
CERTIFICATE, KEY, AUTHORITY = sys.argv[3:6]
WATCH_SECONDS = 2.0
STORM = 0.2
HOP_BY_HOP = {"connection", "transfer-encoding", "content-length", "host"}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60  # seconds without data from the client

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        pass

    def answer(self) -> None:
        """Passes the request on, or fails it."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if random.random() < STORM:
            status = random.choice((429, 500))
            self.send_response(status)
            if status == 429:
                self.send_header("Retry-After", "1")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        upstream = http.client.HTTPSConnection(
            "127.0.0.1", UPSTREAM, context=ssl.create_default_context(cafile=AUTHORITY), timeout=WATCH_SECONDS
        )
        kept = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
        is_watch = "watch=true" in self.path
        try:
            upstream.request(self.command, self.path, body, kept)
            response = upstream.getresponse()
            self.send_response(response.status)
            self.send_header("Content-Type", response.headers.get("Content-Type", "application/json"))
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            end = time.monotonic() + WATCH_SECONDS
            while piece := response.read1(65536):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                if is_watch and time.monotonic() > end:
                    raise TimeoutError
            self.wfile.write(b"0\r\n\r\n")
        except (OSError, http.client.HTTPException):
            # Cuts the connection, without the rest of the answer.
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        finally:
            upstream.close()

    do_GET = do_POST = do_PATCH = do_DELETE = answer


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", PORT), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE, KEY)
    # The thread of each connection does the handshake at the first read.
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.daemon_threads = True
    server.serve_forever()


if __name__ == "__main__":
    main()
