"""The compiler process: libtpu in a child that compiles one program after another.

libtpu takes a second to start and can end its process on input that looks legal, so it lives in a process
of its own, forked from one that never touched it. The process serves frames over a socket: a request is a
line of JSON and a program, a response is a line of JSON and packed dumps. A worker keeps one alive between
requests; a step without a worker starts its own.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import resource
import select
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import dumps
import program
import refusal
import verdict
from child import die_with, write_all

# The smallest topology of each target; a single core of it is compiled for.
TOPOLOGIES = {"tpu7x": "tpu7x:2x2x1"}

_FOLDER_PREFIX = "evolve-dumps-"
_STALE_SECONDS = 60.0
_LENGTH_BYTES = 8
_POLL_SECONDS = 0.2
_PAGE_BYTES = resource.getpagesize()
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Budget:
    """What one compile may use: seconds of CPU and of wall time, bytes of resident memory."""

    cpu_seconds: int
    wall_seconds: float
    memory_bytes: int


@dataclass(frozen=True)
class Compiled:
    """How a compile ended: "answered" with a report and packed dumps, "timeout", "memory" or "died"."""

    how: str
    report: verdict.Report
    packed: bytes = b""


class Compiler:
    """A running compiler process, seen from a process that asks it. Not for concurrent use."""

    def __init__(self, pid: int, connection: socket.socket, log: int) -> None:
        self.pid = pid
        self.connection = connection
        self.log = log  # a file without a name: what the process printed

    def ask(self, content: bytes, target: str, budget: Budget) -> Compiled:
        """Compiles a program. After any ending but "answered" the process is dead or to be ended."""
        cpu_start = self._cpu_seconds()
        deadline = time.monotonic() + budget.wall_seconds
        try:
            _send(self.connection, json.dumps({"target": target}).encode() + b"\n" + content)
        except OSError:
            return Compiled("died", {})
        answer = bytearray()
        while True:
            if not select.select([self.connection], [], [], _POLL_SECONDS)[0]:
                if self._resident_bytes() > budget.memory_bytes:
                    return Compiled("memory", {})
                if (
                    self._cpu_seconds() - cpu_start > budget.cpu_seconds
                    or time.monotonic() > deadline
                ):
                    return Compiled("timeout", {})
                continue
            piece = _receive(self.connection)
            if not piece:
                return Compiled("died", {})
            answer += piece
            length = int.from_bytes(answer[:_LENGTH_BYTES], "little")
            if len(answer) >= _LENGTH_BYTES and len(answer) == _LENGTH_BYTES + length:
                header, _, packed = bytes(answer[_LENGTH_BYTES:]).partition(b"\n")
                return Compiled("answered", json.loads(header), packed)

    def end(self) -> None:
        """Kills the process; only its parent can and must `reap` it."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def reap(self) -> int:
        """Waits for the process's end, removes what it left, and returns its wait status."""
        _, status = os.waitpid(self.pid, 0)
        self.connection.close()
        _remove_stale_folders(0.0, self.pid)
        return status

    def last_words(self) -> str:
        """The check that failed, if the process told one before it died."""
        text = os.pread(self.log, 1 << 20, 0).decode(errors="replace")
        found = re.findall(r"Check failed: .*", text)
        return verdict.one_line(found[-1]) if found else ""

    def _cpu_seconds(self) -> float:
        fields = self._proc("stat").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS if fields else 0.0

    def _resident_bytes(self) -> int:
        fields = self._proc("statm").split()
        return int(fields[1]) * _PAGE_BYTES if fields else 0

    def is_larger_than(self, resident_bytes: int) -> bool:
        """Whether the process has grown beyond a size."""
        return self._resident_bytes() > resident_bytes

    def _proc(self, name: str) -> str:
        try:
            return Path(f"/proc/{self.pid}/{name}").read_text(encoding="ascii", errors="replace")
        except OSError:
            return ""


def start() -> Compiler:
    """Forks a compiler process. REQUIRES: this process never initialised a backend or libtpu."""
    ours, theirs = socket.socketpair()
    log = os.memfd_create("compiler-log")
    parent = os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        ours.close()
        live(theirs, log, parent)
    theirs.close()
    return Compiler(pid, ours, log)


def live(connection: socket.socket, log: int, parent: int) -> NoReturn:
    """The whole life of a forked compiler process: compiles what is asked until the other end closes."""
    code = 1
    try:
        die_with(parent)
        null = os.open(os.devnull, os.O_RDONLY)
        for source, fd in ((null, 0), (log, 1), (log, 2)):
            os.dup2(source, fd)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _serve(connection)
        code = 0
    except BaseException as error:  # noqa: BLE001 - said in the log, there being no one else to tell
        print(f"compiler: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
    finally:
        os._exit(code)


def _send(connection: socket.socket, content: bytes) -> None:
    write_all(connection.fileno(), len(content).to_bytes(_LENGTH_BYTES, "little") + content)


def _receive(connection: socket.socket) -> bytes:
    try:
        return connection.recv(1 << 20)
    except ConnectionError:
        return b""


def _requests(connection: socket.socket) -> Iterator[bytes]:
    received = bytearray()
    while True:
        piece = _receive(connection)
        if not piece:
            return
        received += piece
        length = int.from_bytes(received[:_LENGTH_BYTES], "little")
        if len(received) >= _LENGTH_BYTES and len(received) == _LENGTH_BYTES + length:
            yield bytes(received[_LENGTH_BYTES:])
            received.clear()


def _serve(connection: socket.socket) -> None:
    folder = _make_folder()
    os.environ.update(
        TPU_SKIP_MDS_QUERY="1",
        ALLOW_MULTIPLE_LIBTPU_LOAD="1",
        LIBTPU_INIT_ARGS=f"--xla_jf_dump_to={folder} {dumps.FILTER}",
    )
    program.configure_jax()
    try:
        for request in _requests(connection):
            header, _, content = request.partition(b"\n")
            report = _compile(content, json.loads(header)["target"])
            found = dumps.take(folder)
            if report["verdict"] == "ok":
                report["fingerprint"] = dumps.fingerprint(found)
                report["kernels"] = dumps.kernels(found)
                packed = dumps.pack(found)
            else:
                packed = b""
            _send(connection, json.dumps(report).encode() + b"\n" + packed)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _compile(content: bytes, target: str) -> verdict.Report:
    """Compiles a program for one core of the target; libtpu writes its dumps."""
    import jax  # noqa: PLC0415
    from jax.experimental import topologies  # noqa: PLC0415

    exported = program.load_program(content)
    device = topologies.get_topology_desc(platform="tpu", topology_name=TOPOLOGIES[target]).devices[
        0
    ]
    sharding = jax.sharding.SingleDeviceSharding(device)
    arguments = [
        jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=sharding) for a in exported.in_avals
    ]
    call = exported.call

    def kernel_program(*args: Any) -> Any:
        return call(*args)

    try:
        compiled = jax.jit(kernel_program).lower(*arguments).compile()
    except Exception as error:  # noqa: BLE001 - whatever the compiler turns down
        return refusal.report(f"{type(error).__name__}: {error}")
    finally:
        jax.clear_caches()
    memory = compiled.memory_analysis()
    sizes = {
        "generated_code_bytes": memory.generated_code_size_in_bytes,
        "argument_bytes": memory.argument_size_in_bytes,
        "output_bytes": memory.output_size_in_bytes,
        "temp_bytes": memory.temp_size_in_bytes,
    }
    return verdict.ok(device_kind=device.device_kind, memory=sizes)


def _make_folder() -> str:
    """A folder for the dumps, locked while this process lives; removes those of processes that died."""
    _remove_stale_folders(_STALE_SECONDS)
    folder = tempfile.mkdtemp(prefix=f"{_FOLDER_PREFIX}{os.getpid()}-")
    fcntl.flock(os.open(folder, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
    return folder


def _remove_stale_folders(age_seconds: float, pid: int | None = None) -> None:
    """Removes dump folders that no living process has locked: all that are old enough, or those of `pid`."""
    pattern = f"{_FOLDER_PREFIX}{'*' if pid is None else pid}-*"
    for path in Path(tempfile.gettempdir()).glob(pattern):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime < age_seconds:
                continue
            fd = os.open(path, os.O_RDONLY)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(fd)
