"""Tests of children: how a child ended, from the kernel's report of its end."""

from __future__ import annotations

import itertools
import os
import signal
import time
from collections.abc import Callable

import conftest  # noqa: F401 - finds the steps
import pytest
from conftest import FORKS

from process.child import ChildFault, Ending, Limits, Server, Used, _ending, run_in_child

pytestmark = FORKS

LIMITS = Limits(cpu_seconds=10, wall_seconds=40, memory_bytes=2**30)


@pytest.mark.parametrize(
    ("is_late", "status", "cpu_seconds", "ending"),
    [
        (False, signal.SIGKILL, 11.0, Ending("timeout")),
        (False, signal.SIGXCPU, 10.0, Ending("timeout")),
        # On a busy machine, Linux may count the limit's 11 s in ticks when only 9.2 s were used.
        (False, signal.SIGKILL, 9.2, Ending("timeout")),
        (True, signal.SIGKILL, 0.1, Ending("timeout", is_late=True)),
        (False, signal.SIGSEGV, 9.95, Ending("died", code=signal.SIGSEGV)),
        (False, 3 << 8, 9.95, Ending("exited", code=3)),
    ],
)
def test_ending(is_late: bool, status: int, cpu_seconds: float, ending: Ending) -> None:
    assert _ending(b"r", is_late, int(status), Used(cpu_seconds, 2**20), LIMITS) == ending


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_who_is_ended_from_outside_is_a_fault(number: signal.Signals) -> None:
    with pytest.raises(ChildFault, match=f"ended from outside, by {number.name}"):
        _ending(b"r", False, int(number), Used(0.1, 2**20), LIMITS)


def test_who_is_ended_for_memory_has_most_of_it() -> None:
    assert _ending(b"r", False, int(signal.SIGKILL), Used(0.1, 2**29), LIMITS) == Ending("memory")


def test_a_child_that_is_killed_at_its_work_is_a_fault() -> None:
    with pytest.raises(ChildFault, match="from outside, by SIGKILL"):
        run_in_child(lambda: str(os.kill(os.getpid(), signal.SIGKILL)).encode(), LIMITS)


def _raise(error: Exception) -> bytes:
    raise error


def test_whose_doing_it_is() -> None:
    limits = Limits(cpu_seconds=10, wall_seconds=40, memory_bytes=2**40, answer_bytes=2**20)
    assert run_in_child(lambda: b"done", limits) == Ending("answered", b"done")
    # An error counts as this machine's fault if the limits are not in place yet, or if the code is trusted.
    with pytest.raises(ChildFault, match="OSError: no sandbox"):
        run_in_child(lambda: b"", limits, lambda _: _raise(OSError("no sandbox")), is_trusted=False)
    with pytest.raises(ChildFault, match="KeyError: 'x'"):
        run_in_child(lambda: _raise(KeyError("x")), limits)
    with pytest.raises(ChildFault, match="ended before it began"):
        run_in_child(lambda: b"", limits, lambda _: os._exit(3))
    # Untrusted code cannot claim a fault.
    ending = run_in_child(lambda: _raise(KeyError("x")), limits, is_trusted=False)
    assert (ending.how, ending.reason(limits)) == ("died", "answered before it was asked")


def test_who_sleeps_runs_out_of_wall_time() -> None:
    limits = Limits(cpu_seconds=10, wall_seconds=0.5, memory_bytes=2**40)
    ending = run_in_child(lambda: str(time.sleep(60)).encode(), limits)
    assert (ending.how, ending.reason(limits)) == ("timeout", "did not end within 0.5 s of wall time")


def test_who_spins_runs_out_of_cpu_time() -> None:
    limits = Limits(cpu_seconds=1, wall_seconds=60, memory_bytes=2**40)
    ending = run_in_child(lambda: str([None for _ in itertools.count() if _ < 0]).encode(), limits)
    assert (ending.how, ending.reason(limits)) == ("timeout", "did not end within 1 s of CPU time")


def test_an_answer_without_end_is_cut_off() -> None:
    limits = Limits(cpu_seconds=10, wall_seconds=40, memory_bytes=2**40, answer_bytes=2**20)

    def flood(pipe: int) -> None:
        os.write(pipe, b"r" + b"\xff" * 8)
        while True:
            os.write(pipe, b"x" * 65536)

    ending = run_in_child(lambda: b"", limits, flood, is_trusted=False)
    assert (ending.how, ending.reason(limits)) == ("output", "wrote more than 1 MiB of results")


@pytest.mark.parametrize("end", ["died", "hung", "failed", "grew"])
def test_a_server_stays_until_something_goes_wrong_with_it(end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def start() -> Callable[[bytes], bytes]:
        count = itertools.count(1)

        def answer(request: bytes) -> bytes:
            if request == b"died":
                os.kill(os.getpid(), signal.SIGKILL)
            while request == b"hung":
                pass
            if request == b"failed":
                raise ValueError(request)
            return request + b" %d" % next(count)

        return answer

    limits = Limits(cpu_seconds=1, wall_seconds=40, memory_bytes=2**40)
    server = Server(start, limits)
    assert [server.ask(b"a"), server.ask(b"b")] == [b"a 1", b"b 2"]
    if end == "grew":
        monkeypatch.setattr(Server, "MOST_RESIDENT_BYTES", 0)
    assert server.ask(end.encode()) == (b"grew 3" if end == "grew" else None)
    assert server.is_new
    # Requests may also be larger than a pipe.
    assert server.ask(b"c" * 2**20) == b"c" * 2**20 + b" 1"
    assert server.is_new == (end == "grew")
    server.close()
