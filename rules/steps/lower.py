"""Step lower: from a candidate's source to its programs (judge/lower.py)."""

from __future__ import annotations

import argparse
import dataclasses
import os
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")

from judge import lower
from process.child import Limits
from programs.candidate import Target
from reports import verdict
from reports.step import Step
from reports.verdict import Report


def main(argv: list[str]) -> int:
    """Runs the step; the exit code is non-zero for a fault only."""
    flags = ("source", "entry", "signature", "platform", "device-kind")
    files = ("device-out", "judge-out", "jaxpr-out", "operands-out")
    step = Step("lower", (*flags, *files), cpu_seconds=15, memory_mib=3072)
    step.parser.add_argument("--other", action="append", default=[], help="the signature of another case")

    def work(args: argparse.Namespace, limits: Limits) -> Report:
        source = Path(args.source).read_bytes()
        limits = dataclasses.replace(limits, answer_bytes=lower.ANSWER_BYTES)
        others = [verdict.read_json(path) for path in args.other]
        target = Target(args.platform, args.device_kind)
        report, lowered = lower.lower(source, args.entry, verdict.read_json(args.signature), limits, others, target)
        verdict.write_file(args.device_out, lowered.device)
        verdict.write_file(args.judge_out, lowered.judge)
        verdict.write_file(args.jaxpr_out, lowered.jaxpr)
        verdict.write_file(args.operands_out, lowered.operands)
        return report

    return step.run(argv, work)
