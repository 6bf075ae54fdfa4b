"""Step interpret: a candidate's kernels in Pallas' TPU interpreter (judge/interpret.py)."""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")

from judge import comparison, interpret
from process.child import Limits
from reports import verdict
from reports.step import Step
from reports.verdict import Report


def main(argv: list[str]) -> int:
    """Runs the step; the exit code is non-zero for a fault only."""
    flags = ("jaxpr", "gate", "expected", "signature", "tolerance", "secret")
    step = Step("interpret", flags, cpu_seconds=120, memory_mib=8192)
    step.parser.add_argument("--is-timed", choices=("0", "1"), default="0", help="1: the case is timed, too")

    def work(args: argparse.Namespace, limits: Limits) -> Report:
        packed = verdict.passed(args.gate, args.jaxpr)
        if not packed:
            return verdict.not_reached()
        return interpret.interpret(packed, *comparison.read_case(args), limits, is_timed=args.is_timed == "1")

    return step.run(argv, work)
