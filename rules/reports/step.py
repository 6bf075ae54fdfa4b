"""The frame that all steps share: their flags, their limits, and how they end."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from process.child import ChildFault, Limits
from reports import verdict
from reports.depfile import write_depfile
from reports.verdict import Report


class Step:
    """A step's command line: each of `flags` with a text, the report's file `--out`, a depfile, and limits."""

    def __init__(self, name: str, flags: Sequence[str], cpu_seconds: int, memory_mib: int) -> None:
        self.name = name
        self.parser = argparse.ArgumentParser(prog=name)
        for flag in (*flags, "out"):
            self.parser.add_argument(f"--{flag}", required=True)
        self.parser.add_argument("--cpu-seconds", type=int, default=cpu_seconds)
        self.parser.add_argument("--memory-mib", type=int, default=memory_mib)
        self.parser.add_argument("--unsafe-no-sandbox", action="store_true")
        self.parser.add_argument("--depfile")

    def run(self, argv: list[str], work: Callable[[argparse.Namespace, Limits], Report]) -> int:
        """Writes the report that `work` returns. Returns the exit code: non-zero for a fault only."""
        args = self.parser.parse_args(argv)
        limits = Limits(
            args.cpu_seconds,
            4 * args.cpu_seconds,
            args.memory_mib * 2**20,
            is_sandboxed=not args.unsafe_no_sandbox,
        )
        try:
            report = work(args, limits)
        except ChildFault as fault:
            print(f"{self.name}: {fault}", file=sys.stderr)
            return 3
        verdict.write_report(args.out, report)
        write_depfile(args.depfile, args.out)
        return 0
