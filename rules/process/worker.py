"""The warm worker: a fork server that has imported JAX and runs one step after another.

It speaks Bazel's JSON persistent-worker protocol: a WorkRequest {"arguments": […], "requestId": n} per line on stdin, a
WorkResponse {"exitCode": …, "output": …, "requestId": n} per line on stdout. The first argument is the folder of our
packages, the second one is the step's module, and the others are the step's own. Each request runs in a forked child.
The child of a step that keeps a server stays for the step's next request. This process itself never initialises a
backend or libtpu, because a child forked after that dies or hangs.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1

# This file is started by its path. The folder that Python then searches must not be used for imports, because modules
# are imported from packages.
_HERE = os.path.dirname(os.path.abspath(__file__))

# Modules that every step imports, and modules that JAX imports late in some steps. They are imported here once, instead
# of in each child.
_WARM = "numpy jax jax.export jax.experimental.pallas.tpu jax.experimental.topologies jax._src.pallas.mosaic.tpu_info"
_EXPORT = """
    jax.extend jaxlib.mlir.dialects.builtin jaxlib.mlir.dialects.gpu jaxlib.mlir.dialects.llvm
    jaxlib.mlir.dialects.mhlo jaxlib.mlir.dialects.nvvm
"""
_RUN = (
    "jax.experimental.multihost_utils jaxlib.lapack jaxlib.mlir.dialects.builtin jaxlib.mlir.dialects.mhlo scipy.linalg"
)
_INTERPRETER = "jax._src.pallas.mosaic.interpret.interpret_pallas_call jax.experimental.multihost_utils"
_WARM_FOR = {
    "steps.check": _RUN,
    "steps.contract": "jaxlib.mlir.dialects.builtin jaxlib.mlir.dialects.mhlo",
    "steps.expect": _RUN,
    "steps.interpret": f"{_EXPORT} {_INTERPRETER}",
    "steps.lower": _EXPORT,
    "steps.measure": _RUN,
    "steps.values": _INTERPRETER,
}


# Programs that serve all requests for a step, because they take long to start. The step's children inherit their pipes.
_BESIDE = {"steps.lower": "programs.elsewhere"}

# This differs from the worker's own hash seed, which evolve sets to a small number.
_OTHER_SEED = "4321"
_beside: dict[str, subprocess.Popen[str]] = {}

# Steps that keep a server, because it takes long to start. They run no candidate's code in their own process.
_STAYING = {"steps.compile"}


def _die_with_parent(parent: int) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def _warm_up() -> None:
    """Imports the modules that every step would import first."""
    os.environ["JAX_PLATFORMS"] = "cpu"
    for name in _WARM.split():
        importlib.import_module(name)


def start_beside(folder: str, step: str) -> None:
    """Starts the program that serves a step's requests, once, and again if it has ended. It ends with its pipe.

    `folder`: the folder of our packages.
    """
    name = _BESIDE.get(step, "")
    variable = f"EVOLVE_{name.rpartition('.')[2].upper()}"
    known = _beside.get(name)
    has_ended = known is not None and known.poll() is not None
    if not name or (variable in os.environ and not has_ended):
        return
    if known is not None:
        for pipe in (known.stdin, known.stdout):
            # Requests that were still buffered for the ended program are dropped.
            with contextlib.suppress(BrokenPipeError):
                pipe.close()  # type: ignore[union-attr]
    environment = {**os.environ, "PYTHONHASHSEED": _OTHER_SEED}
    beside = subprocess.Popen(
        [sys.executable, folder, name], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert beside.stdin
    assert beside.stdout
    os.environ[variable] = f"{beside.stdin.fileno()} {beside.stdout.fileno()}"
    _beside[name] = beside


def _warm_up_for(step: str) -> None:
    """Imports the modules that a step would import."""
    for name in _WARM_FOR.get(step, "").split():
        importlib.import_module(name)


def _run_step(arguments: list[str]) -> int:
    """Runs a step's main, in a child. Returns its exit code."""
    folder, step = os.path.abspath(arguments[0]), arguments[1]
    sys.path[:] = [folder, *(other for other in sys.path if other not in (folder, _HERE))]
    sys.argv = arguments[1:]
    code = 1
    try:
        code = importlib.import_module(step).main(arguments[2:])
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 2
    except BaseException as error:  # noqa: BLE001 - a fault is reported, not shown as a stack trace
        print(f"{step}: {type(error).__name__}: {error}", file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    return code & 0xFF


class _Child:
    """A forked child, which ends with the exit code that its `life` returns; its output goes to a file."""

    def __init__(self, life: Callable[[], int]) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - open to the child's end
        parent = os.getpid()
        self._pid = os.fork()
        if self._pid == 0:
            code = 1
            try:
                _die_with_parent(parent)
                os.setpgid(0, 0)
                for fd in (1, 2):
                    os.dup2(self._log.fileno(), fd)
                code = life()
            finally:
                os._exit(code)

    def printed(self) -> str:
        """Returns the child's output since the last call. REQUIRES: the child waits, or has ended."""
        self._log.seek(0)
        text = self._log.read().decode(errors="replace")
        # The child shares this open file and its position, so it goes on writing at the start.
        self._log.seek(0)
        self._log.truncate()
        return text

    def end(self) -> tuple[int, str]:
        """Waits for the child, ends its own children, and returns its exit code and its output."""
        _, status = os.waitpid(self._pid, 0)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, signal.SIGKILL)
        with self._log:
            code = os.waitstatus_to_exitcode(status)
            return (code if code >= 0 else 128 - code), self.printed()


class _StayingChild(_Child):
    """A child that runs one request after another, until there are no more."""

    def __init__(self) -> None:
        self._ours, theirs = socket.socketpair()
        super().__init__(lambda: self._life(theirs))
        theirs.close()

    def _life(self, theirs: socket.socket) -> int:
        self._ours.close()
        for line in theirs.makefile(encoding="utf-8"):
            theirs.send(bytes([_run_step(json.loads(line))]))
        return 0

    def ask(self, arguments: list[str]) -> int | None:
        """Returns the exit code of a request; None: the child has ended instead."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._ours.sendall((json.dumps(arguments) + "\n").encode())
            if code := self._ours.recv(1):
                return code[0]
        return None

    def end(self) -> tuple[int, str]:
        self._ours.close()
        return super().end()


def _serve(arguments: list[str], staying: dict[tuple[str, str], _StayingChild]) -> tuple[int, str]:
    """Runs one request; returns its exit code and output. `staying`: the children that stay, by folder and step."""
    folder, step = os.path.abspath(arguments[0]), arguments[1]
    start_beside(folder, step)
    _warm_up_for(step)
    # A child's garbage collector then skips all objects that exist now. Otherwise it would touch them, and the system
    # would copy their pages.
    gc.freeze()
    if step not in _STAYING:
        return _Child(lambda: _run_step(arguments)).end()
    child = staying.pop((folder, step), None)
    code = child.ask(arguments) if child else None
    if child is None or code is None:
        # A child that had waited may have been ended meanwhile, which has nothing to do with this request.
        if child:
            child.end()
        child = _StayingChild()
        code = child.ask(arguments)
    if code is None:
        return child.end()
    staying[folder, step] = child
    return code, child.printed()


def main() -> int:
    """Serves requests until stdin ends."""
    if sys.argv[1:] != ["--persistent_worker"]:
        print("worker: evolve starts this program, with --persistent_worker", file=sys.stderr)
        return 2
    _die_with_parent(os.getppid())
    # Output of libraries must not end up among the responses.
    responses = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    _warm_up()
    staying: dict[tuple[str, str], _StayingChild] = {}
    for line in sys.stdin:
        request = json.loads(line)
        code, output = _serve(request["arguments"], staying)
        response = {"exitCode": code, "output": output, "requestId": request.get("requestId", 0)}
        responses.write(json.dumps(response) + "\n")
        responses.flush()
    for child in staying.values():
        child.end()
    for beside in _beside.values():
        beside.communicate()
    return 0


if __name__ == "__main__":
    sys.exit(main())
