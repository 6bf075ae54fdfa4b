"""Runs a function in a forked child under limits, and tells apart how it ended.

The parent has imported JAX but never initialised a backend, so that forking is safe and costs no import.
What the child returns crosses a pipe as one frame; a child that dies, hangs or grows takes nothing with
it but its own answer.
"""

from __future__ import annotations

import ctypes
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

_PR_SET_PDEATHSIG = 1
_M_ARENA_MAX = -8

# Address space is what the limit on memory counts, and each arena of malloc reserves 64 MiB of it: a
# thread's own arena would make the limit depend on the machine's cores.
_ARENAS = 2

LIBC = ctypes.CDLL(None, use_errno=True)

_LENGTH_BYTES = 8
_NONCE_BYTES = 16


@dataclass(frozen=True)
class Limits:
    """What a child may use: seconds of CPU and of wall time, bytes of address space and of one answer."""

    cpu_seconds: int
    wall_seconds: float
    memory_bytes: int
    answer_bytes: int = 256 * 2**20


@dataclass(frozen=True)
class Ending:
    """How a child ended: "answered", "timeout", "memory", "forged", "exited" (with `code`) or "died" (of it)."""

    how: str
    answer: bytes = b""
    code: int = 0

    def reason(self, limits: Limits) -> str:
        """In words; the same for the same cause."""
        if self.how == "timeout":
            return f"did not end within {limits.cpu_seconds} s of CPU time"
        if self.how == "memory":
            return f"needed more than {limits.memory_bytes // 2**20} MiB of memory"
        if self.how == "forged":
            return "wrote to the pipe of the answer"
        if self.how == "exited":
            return f"ended the process itself, with exit code {self.code}"
        return f"the process died of {signal.Signals(self.code).name}"


class ChildFault(Exception):
    """The trusted part of the child failed: a fault, not a verdict."""


def die_with_parent() -> None:
    """Ends this process when its parent ends."""
    LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def die_with(parent: int) -> None:
    """Ends this process when `parent` does, even if that has happened already."""
    die_with_parent()
    if os.getppid() != parent:
        os._exit(127)


def limit_resources(limits: Limits) -> None:
    """Puts the limits on this process and on each that it will start."""
    LIBC.mallopt(_M_ARENA_MAX, _ARENAS)
    resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu_seconds, limits.cpu_seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory_bytes, limits.memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def silence() -> None:
    """Leaves this process nothing to read and no one to print to."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)


def write_all(fd: int, content: bytes) -> None:
    """Writes all of `content`."""
    view = memoryview(content)
    while view:
        view = view[os.write(fd, view) :]


def _live(
    function: Callable[[], bytes],
    enter: Callable[[int], None],
    limits: Limits,
    pipe: int,
    nonce: bytes,
) -> None:
    """The child's whole life. Never returns to the caller's frames."""
    try:
        silence()
        enter(pipe)
        limit_resources(limits)
        answer = b"+" + function()
    except MemoryError:
        answer = b"m"
    except BaseException as error:  # noqa: BLE001 - the judge's own fault must reach the parent in words
        answer = b"!" + f"{type(error).__name__}: {error}".encode(errors="replace")
    try:
        write_all(pipe, len(answer).to_bytes(_LENGTH_BYTES, "little") + nonce + answer)
    finally:
        os._exit(0)


def run_in_child(
    function: Callable[[], bytes], limits: Limits, enter: Callable[[int], None] = lambda _: None
) -> Ending:
    """Runs `function` in a child, `enter` before it, and returns how that ended.

    `enter` is given the descriptor that the answer goes to, the one that must stay open. `function` must
    itself turn what untrusted code does into an answer; an exception out of it is a ChildFault here, but
    for MemoryError, which is the limit's doing.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    read_end, write_end = os.pipe()
    nonce = os.urandom(_NONCE_BYTES)
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        die_with(parent)
        os.setpgid(0, 0)
        os.close(read_end)
        _live(function, enter, limits, write_end, nonce)
    os.close(write_end)
    deadline = time.monotonic() + limits.wall_seconds
    try:
        content, is_late = _read_frame(read_end, deadline, limits.answer_bytes)
        if not content:
            is_late = not _has_ended(
                pid, deadline
            )  # it closed the pipe: how it ends is still to come
    finally:
        os.close(read_end)
        _kill_group(pid)
    _, status, usage = os.wait4(pid, 0)
    is_late = is_late or usage.ru_utime + usage.ru_stime >= limits.cpu_seconds - 0.1
    return _ending(content, nonce, is_late, status)


def _kill_group(pid: int) -> None:
    for kill in (os.killpg, os.kill):
        try:
            kill(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass


def _has_ended(pid: int, deadline: float) -> bool:
    """Waits for the end of a child, which stays to be reaped, until the deadline."""
    pidfd = os.pidfd_open(pid)
    try:
        return bool(select.select([pidfd], [], [], max(0.0, deadline - time.monotonic()))[0])
    finally:
        os.close(pidfd)


def _read_frame(fd: int, deadline: float, most_bytes: int) -> tuple[bytes, bool]:
    """What the child wrote, up to a whole frame, its end or the deadline; and whether it was late."""
    content = bytearray()
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            return bytes(content), True
        if not select.select([fd], [], [], left)[0]:
            continue
        piece = os.read(fd, 1 << 20)
        content += piece
        length = int.from_bytes(content[:_LENGTH_BYTES], "little") + _LENGTH_BYTES + _NONCE_BYTES
        is_whole = len(content) >= _LENGTH_BYTES and len(content) >= length
        if not piece or is_whole or len(content) > most_bytes:
            return bytes(content), False


def _ending(content: bytes, nonce: bytes, is_late: bool, status: int) -> Ending:
    start = _LENGTH_BYTES + _NONCE_BYTES
    length = int.from_bytes(content[:_LENGTH_BYTES], "little")
    if (
        len(content) > start
        and len(content) == start + length
        and content[_LENGTH_BYTES:start] == nonce
    ):
        mark, answer = content[start : start + 1], content[start + 1 :]
        if mark == b"m":
            return Ending("memory")
        if mark == b"!":
            raise ChildFault(answer.decode(errors="replace"))
        return Ending("answered", answer)
    if is_late:
        return Ending("timeout")
    if content:
        return Ending("forged")
    if os.WIFSIGNALED(status):
        return Ending("died", code=os.WTERMSIG(status))
    return Ending("exited", code=os.WEXITSTATUS(status))
