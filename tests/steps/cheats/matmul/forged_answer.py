"""Writes an answer of its own to the judge, and ends. (13)

Verdict: contract
"""

import json
import os

claim = b"+" + json.dumps({"verdict": "ok"}).encode() + b"\n" + b"{}"
for fd in range(3, 64):
    try:
        os.write(fd, len(claim).to_bytes(8, "little") + claim)
    except OSError:
        pass
os._exit(0)
