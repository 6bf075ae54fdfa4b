"""How a child ended, from what the kernel says of it."""

from __future__ import annotations

import signal

import conftest  # noqa: F401 - where the steps are
import pytest

from child import Ending, Limits, _ending

LIMITS = Limits(cpu_seconds=10, wall_seconds=40, memory_bytes=2**30)


@pytest.mark.parametrize(
    ("is_late", "status", "cpu_seconds", "ending"),
    [
        (False, signal.SIGKILL, 11.0, Ending("timeout")),
        (False, signal.SIGXCPU, 10.0, Ending("timeout")),
        # The kernel's ticks said 11 s on a busy machine.
        (False, signal.SIGKILL, 9.2, Ending("timeout")),
        (True, signal.SIGKILL, 0.1, Ending("timeout")),
        (False, signal.SIGKILL, 0.1, Ending("died", code=signal.SIGKILL)),
        (False, signal.SIGSEGV, 9.95, Ending("died", code=signal.SIGSEGV)),
        (False, 3 << 8, 9.95, Ending("exited", code=3)),
    ],
)
def test_ending(is_late: bool, status: int, cpu_seconds: float, ending: Ending) -> None:
    assert _ending(b"", is_late, int(status), cpu_seconds, LIMITS) == ending
