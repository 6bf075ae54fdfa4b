"""Step contract: whether a program is of the requested kind (judge/contract.py)."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")

from judge import contract
from process.child import Limits
from reports import verdict
from reports.step import Step
from reports.verdict import Report


def main(argv: list[str]) -> int:
    """Runs the step; the exit code is non-zero for a fault only."""
    flags = ("device-program", "judge-program", "jaxpr", "signature", "terms")
    step = Step("contract", flags, cpu_seconds=60, memory_mib=4096)
    # The checked cases, for a case that is only timed.
    step.parser.add_argument("--checked", nargs=2, action="append", metavar=("JAXPR", "SIGNATURE"), default=[])

    def work(args: argparse.Namespace, limits: Limits) -> Report:
        device, judge = (Path(path).read_bytes() for path in (args.device_program, args.judge_program))
        checked = (contract.Checked(Path(jaxpr).read_bytes(), verdict.read_json(of)) for jaxpr, of in args.checked)
        traced = contract.Traced(Path(args.jaxpr).read_bytes(), tuple(checked))
        return contract.examine(
            device, judge, traced, verdict.read_json(args.signature), verdict.read_json(args.terms), limits
        )

    return step.run(argv, work)
