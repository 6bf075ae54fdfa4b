"""Tells `evolve doctor` what only Python knows: whether the sandbox works on this machine, and whether JAX can be used.

Prints {"sandbox": how it is made, "jax": its version} as JSON. Instead of a value that is not known there is a reason,
as "sandbox_fault" or "jax_fault".
"""

from __future__ import annotations

import json
import os

from process import sandbox
from process.child import ChildFault, Limits

_LIMITS = Limits(cpu_seconds=10, wall_seconds=20, memory_bytes=2**32)


def look_at_sandbox() -> dict[str, str]:
    """Enters a sandbox, and returns how it is made."""
    try:
        ending = sandbox.run(lambda: b"own" if os.path.isdir("/proc/self") else b"masked", _LIMITS)
    except (ChildFault, OSError) as error:
        return {"sandbox_fault": str(error).removeprefix("SandboxFault: ")}
    if ending.how != "answered":
        return {"sandbox_fault": f"a process in it {ending.reason(_LIMITS)}"}
    maker = "made by root" if os.geteuid() == 0 else "made with user namespaces"
    proc = "" if ending.answer == b"own" else ", without a /proc of its own"
    return {"sandbox": f"{maker}, with a filter of system calls{proc}"}


def look_at_jax() -> dict[str, str]:
    """Imports JAX, which takes seconds, and returns its version."""
    os.environ["JAX_PLATFORMS"] = "cpu"
    try:
        import jax
    except Exception as error:  # noqa: BLE001 - whatever a broken installation raises is what the user must be told
        return {"jax_fault": f"{type(error).__name__}: {error}"}
    return {"jax": jax.__version__}


def main(argv: list[str]) -> int:
    """Prints the answer. Returns the exit code."""
    del argv
    print(json.dumps(look_at_sandbox() | look_at_jax()))
    return 0
