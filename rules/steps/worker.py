"""The warm worker: a fork server that has imported JAX and runs one step after another.

Speaks Bazel's JSON persistent-worker protocol: a WorkRequest {"arguments": […], "requestId": n} a line on
stdin, a WorkResponse {"exitCode": …, "output": …, "requestId": n} a line on stdout. The first argument is
the step's file, the rest its own. Each request has a forked child; this process itself never initialises a
backend or libtpu, for a child forked after that dies or hangs.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import signal
import sys
import tempfile

_PR_SET_PDEATHSIG = 1

# What every step imports, and what JAX imports late in some of them: once here, instead of in each child.
_WARM = "numpy jax jax.export jax.experimental.pallas.tpu jax.experimental.topologies jax._src.pallas.mosaic.tpu_info"
_EXPORT = """
    jax.extend jaxlib.mlir.dialects.builtin jaxlib.mlir.dialects.gpu jaxlib.mlir.dialects.llvm
    jaxlib.mlir.dialects.mhlo jaxlib.mlir.dialects.nvvm
"""
_RUN = (
    "jax.experimental.multihost_utils jaxlib.lapack jaxlib.mlir.dialects.builtin jaxlib.mlir.dialects.mhlo scipy.linalg"
)
_WARM_FOR = {
    "check": _RUN,
    "contract": "jaxlib.mlir.dialects.builtin jaxlib.mlir.dialects.mhlo",
    "expect": _RUN,
    "interpret": f"{_EXPORT} jax._src.pallas.mosaic.interpret.interpret_pallas_call jax.experimental.multihost_utils",
    "lower": _EXPORT,
    "measure": _RUN,
}


def _die_with_parent(parent: int) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def _warm_up() -> None:
    """Imports what every step would import first."""
    os.environ["JAX_PLATFORMS"] = "cpu"
    for name in _WARM.split():
        importlib.import_module(name)


def _warm_up_for(step: str) -> None:
    """Imports what a step of this name would import."""
    for name in _WARM_FOR.get(os.path.splitext(os.path.basename(step))[0], "").split():
        importlib.import_module(name)


def _run_step(arguments: list[str], log: int) -> None:
    """The life of a request's child: runs the step's main and ends with its exit code."""
    for fd in (1, 2):
        os.dup2(log, fd)
    step = arguments[0]
    sys.path.insert(0, os.path.dirname(os.path.abspath(step)))
    sys.argv = arguments
    code = 1
    try:
        module = importlib.import_module(os.path.splitext(os.path.basename(step))[0])
        code = module.main(arguments[1:])
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 2
    except BaseException as error:  # noqa: BLE001 - a fault is told, not shown as a stack trace
        print(f"{os.path.basename(step)}: {type(error).__name__}: {error}", file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _serve(arguments: list[str]) -> tuple[int, str]:
    """The exit code and output of one request."""
    parent = os.getpid()
    _warm_up_for(arguments[0])
    with tempfile.TemporaryFile() as log:
        pid = os.fork()
        if pid == 0:
            _die_with_parent(parent)
            os.setpgid(0, 0)
            _run_step(arguments, log.fileno())
        _, status = os.waitpid(pid, 0)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        log.seek(0)
        output = log.read().decode(errors="replace")
    code = os.waitstatus_to_exitcode(status)
    return (code if code >= 0 else 128 - code), output


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
    for line in sys.stdin:
        request = json.loads(line)
        code, output = _serve(request["arguments"])
        response = {"exitCode": code, "output": output, "requestId": request.get("requestId", 0)}
        responses.write(json.dumps(response) + "\n")
        responses.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
