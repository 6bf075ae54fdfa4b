"""The warm worker: a fork server that has imported JAX and runs one step after another.

Speaks Bazel's JSON persistent-worker protocol: a WorkRequest {"arguments": […], "requestId": n} a line on
stdin, a WorkResponse {"exitCode": …, "output": …, "requestId": n} a line on stdout. The first argument is
the step's file, the rest its own. Each request has a forked child; this process itself never initialises a
backend or libtpu, for a child forked after that dies or hangs. The compile step's process with libtpu
outlives the request, and is replaced when it dies, grows, or the step's source changes.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import importlib
import json
import os
import signal
import socket
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True

_PR_SET_PDEATHSIG = 1
_COMPILE_STEP = "compile"
_LARGEST_RESIDENT_BYTES = 1536 * 2**20


def _die_with_parent(parent: int) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def _warm_up() -> None:
    """Imports what every step would import first."""
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax._src.pallas.mosaic.tpu_info  # noqa: PLC0415
    import jax.experimental.pallas.tpu  # noqa: PLC0415
    import jax.experimental.topologies  # noqa: PLC0415
    import jax.export  # noqa: F401, PLC0415
    import numpy  # noqa: F401, PLC0415


def _digest_of_sources(folder: str) -> str:
    digest = hashlib.sha256(folder.encode())
    for path in sorted(Path(folder).glob("*.py")):
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


class _ResidentCompiler:
    """A compiler process made of the sources in one folder, kept from request to request.

    The worker imports none of those sources itself, so that each request sees them as they are.
    """

    def __init__(self, folder: str, digest: str) -> None:
        self.digest = digest
        self.connection, theirs = socket.socketpair()
        self.log = os.memfd_create("compiler-log")
        parent = os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self.connection.close()
                sys.path.insert(0, folder)
                importlib.import_module("compiler").live(theirs, self.log, parent)
            finally:
                os._exit(1)
        theirs.close()

    def is_alive(self) -> bool:
        """Whether the process goes on; one that has ended is reaped: not to be asked again."""
        return os.waitpid(self.pid, os.WNOHANG)[0] == 0

    def is_large(self) -> bool:
        """Whether the process has grown so far that a new one is better."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") > _LARGEST_RESIDENT_BYTES

    def end(self, is_kill: bool) -> None:
        """Ends the process: at once, or as it goes when no more requests come."""
        self.forget()
        if is_kill:
            os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)

    def forget(self) -> None:
        """Closes what led to the process."""
        self.connection.close()
        os.close(self.log)


def _run_step(arguments: list[str], resident: _ResidentCompiler | None) -> int:
    """Runs the step's main in this, a forked, process."""
    step = arguments[0]
    sys.argv = arguments
    sys.path.insert(0, os.path.dirname(os.path.abspath(step)))
    try:
        module = importlib.import_module(os.path.splitext(os.path.basename(step))[0])
        if resident is not None:
            make = importlib.import_module("compiler").Compiler
            vars(module)["resident"] = make(resident.pid, resident.connection, resident.log)
        return int(module.main(arguments[1:]))
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else 2
    except BaseException as error:  # noqa: BLE001 - a fault is told, not shown as a stack trace
        print(f"{os.path.basename(step)}: {type(error).__name__}: {error}", file=sys.stderr)
        return 1


def _serve(arguments: list[str], resident: _ResidentCompiler | None) -> tuple[int, str]:
    """The exit code and output of one request."""
    parent = os.getpid()
    with tempfile.TemporaryFile() as log:
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                _die_with_parent(parent)
                os.setpgid(0, 0)
                null = os.open(os.devnull, os.O_RDONLY)
                for source, fd in ((null, 0), (log.fileno(), 1), (log.fileno(), 2)):
                    os.dup2(source, fd)
                code = _run_step(arguments, resident)
                sys.stdout.flush()
                sys.stderr.flush()
            finally:
                os._exit(code)
        _, status = os.waitpid(pid, 0)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        log.seek(0)
        output = log.read().decode(errors="replace")
    code = os.waitstatus_to_exitcode(status)
    return (code if code >= 0 else 128 - code), output


class _Worker:
    """Serves requests, with a compiler process where they ask for one."""

    def __init__(self) -> None:
        self._resident: _ResidentCompiler | None = None

    def serve(self, arguments: list[str]) -> tuple[int, str]:
        """The exit code and output of one request."""
        if Path(arguments[0]).stem != _COMPILE_STEP:
            return _serve(arguments, None)
        folder = os.path.dirname(os.path.abspath(arguments[0]))
        code, output = _serve(arguments, self._compiler_for(folder))
        if code != 0:  # the step may have left an answer behind that is not the next one's
            self._end_resident(is_kill=True)
        return code, output

    def end(self) -> None:
        """Leaves no process behind."""
        self._end_resident(is_kill=False)

    def _compiler_for(self, folder: str) -> _ResidentCompiler:
        if self._resident is not None and not self._resident.is_alive():
            self._resident.forget()
            self._resident = None
        digest = _digest_of_sources(folder)
        resident = self._resident
        if resident is not None and (resident.digest != digest or resident.is_large()):
            self._end_resident(is_kill=False)
        if self._resident is None:
            self._resident = _ResidentCompiler(folder, digest)
        return self._resident

    def _end_resident(self, is_kill: bool) -> None:
        if self._resident is not None and self._resident.is_alive():
            self._resident.end(is_kill)
        self._resident = None


def main() -> int:
    """Serves requests until stdin ends."""
    if sys.argv[1:] != ["--persistent_worker"]:
        print("worker: to be started by evolve, with --persistent_worker", file=sys.stderr)
        return 2
    _die_with_parent(os.getppid())
    # What any library prints must not end up among the responses.
    responses = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    _warm_up()
    worker = _Worker()
    for line in sys.stdin:
        request = json.loads(line)
        code, output = worker.serve(request["arguments"])
        response = {"exitCode": code, "output": output, "requestId": request.get("requestId", 0)}
        responses.write(json.dumps(response) + "\n")
        responses.flush()
    worker.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
