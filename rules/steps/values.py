"""Step values: the outputs of a candidate's program for a large timed case, at places (judge/values.py)."""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")

from judge import comparison, values
from process.child import Limits
from reports import verdict
from reports.step import Step
from reports.verdict import Report


def main(argv: list[str]) -> int:
    """Runs the step; the exit code is non-zero for a fault only."""
    flags = ("jaxpr", "gate", "expected", "signature", "tolerance", "secret")
    # On a slow machine, the values of 16384 positions of attention took 251 s. A program that never ends is rejected by
    # `check` before, so this limit may be wide.
    step = Step("values", flags, cpu_seconds=600, memory_mib=12288)
    step.parser.add_argument(
        "--admission", help="the report that says whether the variant may survive; if not, nothing is checked"
    )

    def work(args: argparse.Namespace, limits: Limits) -> Report:
        packed = verdict.passed(args.gate, args.jaxpr)
        if args.admission and not verdict.read_json(args.admission)["is_in"]:
            packed = b""
        if not packed:
            return verdict.not_reached()
        return values.values_of(packed, *comparison.read_case(args), limits)

    return step.run(argv, work)
