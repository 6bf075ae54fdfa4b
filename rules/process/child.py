"""Child processes that run a function under limits, and the ways in which they end.

The parent has imported JAX but never initialised a backend, so forking is safe and costs no import. A child that stays
(`Server`) does slow initialisation only once, but its end does not show which request is to blame. A child answers
through a pipe: it sends a byte once its limits are in place, and then one frame. A failure before that byte is this
machine's fault; a failure after it is the fault of the code that runs. A child that dies, hangs or grows costs only its
own answer.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

PR_SET_PDEATHSIG = 1

LIBC = ctypes.CDLL(None, use_errno=True)

# The first byte that a child sends.
_READY, _NOT_READY = b"r", b"!"

# Signals that a child cannot send itself. The code in the sandbox is the first process of its namespace, which these
# signals reach only from outside.
_FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


@dataclass(frozen=True)
class Limits:
    """The limits of a child: seconds of CPU and of wall time, bytes of address space and of one answer.

    `is_sandboxed` is false if the user asked for that. Then only these limits protect the machine from a candidate.
    """

    cpu_seconds: int
    wall_seconds: float
    memory_bytes: int
    answer_bytes: int = 512 * 2**20
    is_sandboxed: bool = True


@dataclass(frozen=True)
class Ending:
    """How a child ended: "answered", "timeout", "memory", "output", "exited" (with `code`) or "died" (of `code`).

    `is_late`: the wall time ran out, as it does for a child that sleeps, and not the CPU time.
    """

    how: str
    answer: bytes = b""
    code: int = 0
    is_late: bool = False

    def reason(self, limits: Limits) -> str:
        """Returns the ending in words; the same for the same cause."""
        if self.how == "timeout":
            if self.is_late:
                return f"did not end within {limits.wall_seconds:g} s of wall time"
            return f"did not end within {limits.cpu_seconds} s of CPU time"
        if self.how == "memory":
            return f"needed more than {limits.memory_bytes // 2**20} MiB of memory"
        if self.how == "output":
            return f"wrote more than {limits.answer_bytes // 2**20} MiB of results"
        if self.how == "exited":
            return f"ended the process itself, with exit code {self.code}"
        return f"was ended by {signal.Signals(self.code).name}" if self.code else "answered before it was asked"


def die_with_parent() -> None:
    """Ends this process when its parent ends."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def set_limits(limits: Limits) -> None:
    """Puts the limits on this process and all it will start."""
    resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu_seconds, limits.cpu_seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory_bytes, limits.memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _write_all(fd: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(fd, view) :]


def _leave_home(parent: int) -> None:
    """Prepares a forked child: it ends with its parent, is a group of its own, and is silent."""
    die_with_parent()
    if os.getppid() != parent:
        os._exit(127)
    os.setpgid(0, 0)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - to the end


def _child(function: Callable[[], bytes], enter: Callable[[int], None], limits: Limits, pipe: int, parent: int) -> None:
    """Runs the child up to its exit. Never returns to the caller's frames."""
    first = _NOT_READY
    try:
        _leave_home(parent)
        # Limits come first, because no limit can be set after `enter`.
        set_limits(limits)
        enter(pipe)
        _write_all(pipe, _READY)
        first = b""
        answer = b"+" + function()
    except MemoryError:
        answer = b"m"
    except BaseException as error:  # noqa: BLE001 - the judge's own fault must reach the parent in words
        answer = b"!" + f"{type(error).__name__}: {error}".encode(errors="replace")
    try:
        _write_all(pipe, first + _framed(answer))
    finally:
        os._exit(0)


class ChildFault(Exception):
    """This machine, or the trusted part of the child, failed: a fault, not a verdict."""


def kill_group(pid: int) -> None:
    """Ends a child and what it started."""
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def run_in_child(
    function: Callable[[], bytes],
    limits: Limits,
    enter: Callable[[int], None] = lambda _: None,
    is_trusted: bool = True,
    stop: Callable[[int], None] = kill_group,
) -> Ending:
    """Runs `function` in a child, `enter` before it, and returns how that ended.

    `enter` gets the descriptor that the answer goes to. An exception from `enter` is a ChildFault. So is one from
    `function`, except for MemoryError, which the limit causes. If the child runs code that is not trusted, whatever it
    sends is its own doing, and not a fault: then it "died", of signal 0. `stop` ends the child, whatever it is doing.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    read_end, write_end = os.pipe()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        os.close(read_end)
        _child(function, enter, limits, write_end, parent)
    os.close(write_end)
    try:
        content, is_late = _read_frame(read_end, limits)
    finally:
        os.close(read_end)
        stop(pid)
    _, status, usage = os.wait4(pid, 0)
    used = Used(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)
    return _ending(content, is_late, status, used, limits, is_trusted)


def _read_frame(fd: int, limits: Limits) -> tuple[bytes, bool]:
    """Returns the bytes that a child wrote, and whether it was late.

    Reads up to a whole frame, the end of the child, the limit or the deadline.
    """
    deadline = time.monotonic() + limits.wall_seconds
    content = bytearray()
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            return bytes(content), True
        if not select.select([fd], [], [], left)[0]:
            continue
        piece = os.read(fd, 1 << 20)
        content += piece
        if not piece or _frame(content) is not None or len(content) > limits.answer_bytes:
            return bytes(content), False


def _framed(content: bytes) -> bytes:
    return len(content).to_bytes(8, "little") + content


def _frame(content: bytes | bytearray) -> bytes | None:
    """Returns the frame in the bytes that a child wrote; None: the frame is not whole."""
    length = int.from_bytes(content[1:9], "little")
    return bytes(content[9 : 9 + length]) if 0 < length <= len(content) - 9 else None


@dataclass(frozen=True)
class Used:
    """The resources that a child had used at its end: seconds of CPU, and bytes of memory at the most."""

    cpu_seconds: float
    memory_bytes: int


def _ending(content: bytes, is_late: bool, status: int, used: Used, limits: Limits, is_trusted: bool = True) -> Ending:
    frame = _frame(content)
    if frame is not None:
        mark, answer = frame[:1], frame[1:]
        if mark == b"+":
            return Ending("answered", answer)
        if mark == b"m":
            return Ending("memory")
        if is_trusted or not content.startswith(_READY):
            raise ChildFault(answer.decode(errors="replace"))
        return Ending("died")
    if len(content) > limits.answer_bytes:
        return Ending("output")
    # The limit counts whole ticks, but this usage counts the time that was really run. On a busy machine that may be
    # far less.
    limit_signals = (signal.SIGXCPU, signal.SIGKILL)
    is_cut_off = os.WIFSIGNALED(status) and os.WTERMSIG(status) in limit_signals
    if is_late:
        return Ending("timeout", is_late=True)
    if is_cut_off and used.cpu_seconds >= limits.cpu_seconds / 2:
        return Ending("timeout")
    # If all processes together need more memory than there is, the kernel ends the one that has most.
    machine_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if is_cut_off and used.memory_bytes >= min(limits.memory_bytes, machine_bytes) / 2:
        return Ending("memory")
    if not content.startswith(_READY):
        # The function had not begun, so it did not end the child.
        raise ChildFault(f"the child ended before it began, with status {status}")
    if os.WIFSIGNALED(status):
        if os.WTERMSIG(status) in _FROM_OUTSIDE:
            raise ChildFault(f"the child was ended from outside, by {signal.Signals(os.WTERMSIG(status)).name}")
        return Ending("died", code=os.WTERMSIG(status))
    return Ending("exited", code=os.WEXITSTATUS(status))


class Server:
    """A child that stays: it initialises something once, and answers one request after another with it.

    `start` runs in the child, at the first request, and returns the function that answers. Only an answer counts: a
    child that dies, hangs, grows or fails may do so because of what an earlier request left behind. So `ask` then
    returns None, and a child of the request's own (`run_in_child`) says what became of the request. The next request
    has a new server.
    """

    # A server that has more resident memory after an answer is replaced by a new one.
    MOST_RESIDENT_BYTES = 3 * 2**29

    def __init__(self, start: Callable[[], Callable[[bytes], bytes]], limits: Limits) -> None:
        self._start = start
        self._limits = limits
        self._pid = 0
        self._requests = self._answers = -1

    @property
    def is_new(self) -> bool:
        """Whether the next request gets a server that has not answered any other."""
        return self._pid == 0

    def ask(self, request: bytes) -> bytes | None:
        """Returns the answer to a request; None: the server failed. Requests share the memory, but no other limit."""
        if not self._pid:
            self._fork()
        answer = None
        try:
            with contextlib.suppress(BrokenPipeError):
                _write_all(self._requests, _framed(request))
                content, _ = _read_frame(self._answers, self._limits)
                answer = _frame(content)
            if answer is not None and self._resident_bytes() > self.MOST_RESIDENT_BYTES:
                self.close()
        finally:
            # A failed server may still write something, which must not answer the next request.
            if answer is None:
                self.close()
        return answer

    def close(self) -> None:
        """Ends the server; the next request starts another."""
        if not self._pid:
            return
        kill_group(self._pid)
        os.waitpid(self._pid, 0)
        os.close(self._requests)
        os.close(self._answers)
        self._pid = 0

    def _resident_bytes(self) -> int:
        with open(f"/proc/{self._pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def _fork(self) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        from_parent, self._requests = os.pipe()
        self._answers, to_parent = os.pipe()
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            try:
                os.close(self._requests)
                os.close(self._answers)
                _leave_home(parent)
                self._serve(from_parent, to_parent)
            finally:
                os._exit(0)
        os.close(from_parent)
        os.close(to_parent)
        self._pid = pid

    def _serve(self, requests: int, answers: int) -> None:
        """Serves requests, in the child, up to its first failure."""
        resource.setrlimit(resource.RLIMIT_AS, (self._limits.memory_bytes, self._limits.memory_bytes))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        answer: Callable[[bytes], bytes] | None = None
        with open(requests, "rb") as file:
            while head := file.read(8):
                used = resource.getrusage(resource.RUSAGE_SELF)
                seconds = int(used.ru_utime + used.ru_stime) + 1 + self._limits.cpu_seconds
                resource.setrlimit(resource.RLIMIT_CPU, (seconds, hard))
                # The request is read before the slow start, because the parent's deadline begins after it has sent all
                # of the request.
                request = file.read(int.from_bytes(head, "little"))
                answer = answer or self._start()
                content = answer(request)
                _write_all(answers, _READY + _framed(content))
