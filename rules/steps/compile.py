"""Step compile: from a TPU program to the real compiler's schedule, on a machine without a TPU.

libtpu compiles ahead of time for a topology that is only named (compiler.py). A process that dies may have
been left in a bad state by the program before, so the program is tried once more, alone, and what happens
then is its verdict.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from importlib.metadata import version
from pathlib import Path

sys.dont_write_bytecode = True  # a step writes its outputs alone
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import compiler  # noqa: E402
import verdict  # noqa: E402
from compiler import Budget, Compiled, Compiler  # noqa: E402
from depfile import write_depfile  # noqa: E402
from verdict import Report  # noqa: E402

_WALL_FACTOR = 4

# The compiler process that the worker keeps for its requests, if there is a worker.
resident: Compiler | None = None


def _ask(content: bytes, target: str, budget: Budget) -> tuple[Compiled, str]:
    """How a compile ended, and for a death why: by the resident process, or alone where that died."""
    if resident is not None:
        compiled = resident.ask(content, target, budget)
        if compiled.how != "answered":
            resident.end()
        if compiled.how != "died":
            return compiled, ""
    for _ in range(1 if resident is not None else 2):
        alone = compiler.start()
        compiled = alone.ask(content, target, budget)
        alone.end()
        status = alone.reap()
        if compiled.how != "died":
            return compiled, ""
    return compiled, _cause(status, alone.last_words())


def _cause(status: int, last_words: str) -> str:
    if os.WIFSIGNALED(status):
        cause = f"died of {signal.Signals(os.WTERMSIG(status)).name}"
    else:
        cause = f"ended with exit code {os.WEXITSTATUS(status)}"
    return f"{cause}: {last_words}" if last_words else cause


def compile_program(content: bytes, target: str, budget: Budget) -> tuple[Report, bytes]:
    """The report and the packed dumps of a program; an empty program was turned down before."""
    if not content:
        return verdict.not_reached(), b""
    compiled, cause = _ask(content, target, budget)
    if compiled.how == "answered":
        report = compiled.report
    elif compiled.how == "timeout":
        reason = f"libtpu did not end within {budget.cpu_seconds} s of CPU time"
        report = verdict.rejected("compiler_timeout", reason)
    elif compiled.how == "memory":
        report = verdict.rejected(
            "memory", f"libtpu needed more than {budget.memory_bytes // 2**20} MiB of memory"
        )
    else:
        report = verdict.rejected("compiler_crashed", f"libtpu {cause}")
    report.setdefault("fingerprint", None)
    report.setdefault("kernels", [])
    report["libtpu"] = version("libtpu")
    return report, compiled.packed


def main(argv: list[str]) -> int:
    """Runs the step; non-zero for a fault alone."""
    parser = argparse.ArgumentParser(prog="compile")
    for name in ("program", "out", "dumps"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--target", required=True, choices=sorted(compiler.TOPOLOGIES))
    parser.add_argument("--cpu-seconds", type=int, default=300)
    parser.add_argument("--memory-mib", type=int, default=8192)
    parser.add_argument("--depfile")
    args = parser.parse_args(argv)
    budget = Budget(args.cpu_seconds, _WALL_FACTOR * args.cpu_seconds, args.memory_mib * 2**20)
    report, packed = compile_program(Path(args.program).read_bytes(), args.target, budget)
    verdict.write_file(args.dumps, packed)
    verdict.write_report(args.out, report)
    write_depfile(args.depfile, args.out)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
