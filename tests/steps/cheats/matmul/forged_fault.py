"""Claims that the machine failed, so that it is tried again and again. (13)

Verdict: contract
"""

import os

claim = b"!SandboxFault: no user namespaces"
for fd in range(3, 64):
    try:
        os.write(fd, len(claim).to_bytes(8, "little") + claim)
    except OSError:
        pass
os._exit(0)
