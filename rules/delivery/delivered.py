"""The check of a file that is given out: its programs must be those that were recorded for it.

evolve runs this file; it is not a step. The checked file is as its author wrote it. It is traced once more, in an
interpreter with another hash seed and in other surroundings. It is also called without a trace, with arrays, on the
smallest case that was checked. The outputs of this call are compared with the reference, too. Differences go to stdout
as JSON, by case: {"square": "why"}.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import numpy as np

from judge import comparison, judge_inputs, lower
from judge.comparison import Refusal
from process import sandbox
from process.child import ChildFault, Limits
from programs import candidate, elsewhere, program
from programs.candidate import DEFAULT_TARGET, Rejection, Signature, Target
from reports import verdict

_LIMITS = Limits(cpu_seconds=60, wall_seconds=240, memory_bytes=3 * 2**30, answer_bytes=64 * 2**20)


# The names of a variant's programs in reports of earlier versions.
_OLD_NAMES = {"device": "tpu", "judge": "cpu"}


def _target_of(recorded: dict[str, Any]) -> Target:
    """Returns the target of a report of lower."""
    return Target(**recorded["target"]) if "target" in recorded else DEFAULT_TARGET


def difference(source: bytes, entry: str, signature: Signature, recorded: dict[str, Any], limits: Limits) -> str:
    """Returns how a file's programs for a case differ from those of a report of lower; empty: they are the same."""
    target = _target_of(recorded)
    try:
        traced = sandbox.run(
            lambda: elsewhere.traced(source, entry, [signature], elsewhere.HERE_TOO, target),
            limits,
            is_trusted=False,
            place=elsewhere.place_of(elsewhere.HERE_TOO, os.urandom(8)),
        )
        report, _ = lower.exported(elsewhere.open_answer(traced, limits)[1], signature, limits, target)
    except Rejection as rejection:
        return str(rejection)
    programs = recorded.get("programs", {})
    other = [
        name for name, made in report["programs"].items() if programs.get(name, programs.get(_OLD_NAMES[name])) != made
    ]
    return f"its program for the {' and the '.join(other)} differs from the one that was judged" if other else ""


# A delivered file is called with inputs from this set, which is secret and is compared as a whole.
_SET = judge_inputs.HIDDEN


def wrong_when_called(source: bytes, entry: str, case: Path, limits: Limits, target: Target = DEFAULT_TARGET) -> str:
    """Returns how a file's outputs for arrays differ from the reference; empty: they do not, or there are none.

    Not all kernels can be interpreted outside of the judge. A file that raises an error misleads nobody.
    """
    signature, tolerance = (verdict.read_json(str(case / f"{name}.json")) for name in ("signature", "tolerance"))
    inputs = judge_inputs.draw(signature, _SET, (case.parent.parent / "secret").read_text(encoding="ascii"))

    def work() -> bytes:
        program.configure_jax()
        candidate.known_tpu_on_cpu(target)
        return b"".join(np.asarray(one).tobytes() for one in candidate.called(source, entry, signature, inputs))

    ending = sandbox.run(work, limits, is_trusted=False, place=elsewhere.place_of(elsewhere.HERE_TOO, os.urandom(8)))
    if ending.how != "answered":
        return ""
    expected = comparison.read_expected((case / "expected.npz").read_bytes())
    try:
        arrays, rest = comparison.arrays_of(ending.answer, signature["outputs"])
        if rest:
            raise ValueError("more than the outputs")
        for number, (got, declared) in enumerate(zip(arrays, signature["outputs"], strict=True)):
            comparison.check_output(comparison.output_of(got, expected, _SET, number, declared), tolerance)
    except (Refusal, ValueError) as refusal:
        return f"called with arrays, without jax.jit, its output is wrong: {refusal}"
    return ""


def _smallest_checked(work: Path, variant: str) -> Path | None:
    """Returns the checked case whose inputs have the fewest bytes, among those that were compared on `_SET`."""

    def size(case: Path) -> int:
        signature = verdict.read_json(str(case / "signature.json"))
        return sum(
            int(np.prod(one["shape"], dtype=np.int64)) * program.dtype_of(one["dtype"]).itemsize
            for one in signature["inputs"]
        )

    checked = []
    for path in work.glob(f"{variant}/*/check.json"):
        report = verdict.read_json(str(path))
        if report["verdict"] == "ok" and _SET.name in report.get("sets", []):
            checked.append(work / "cases" / path.parent.name)
    return min(checked, key=size, default=None)


def differences(work: Path, variant: str, source: bytes, limits: Limits) -> dict[str, str]:
    """Returns the differences by case, for a variant below a campaign's folder."""
    entry = verdict.read_json(str(work / "spec.json"))["entry"]
    told = {}
    for path in sorted(work.glob(f"{variant}/*/lower.json")):
        signature = verdict.read_json(str(work / "cases" / path.parent.name / "signature.json"))
        told[path.parent.name] = difference(source, entry, signature, verdict.read_json(str(path)), limits)
    if not told:
        raise ChildFault(f"{variant} was not lowered")
    case = _smallest_checked(work, variant)
    if case is not None and not told.get(case.name):
        target = _target_of(verdict.read_json(str(work / variant / case.name / "lower.json")))
        told[case.name] = wrong_when_called(source, entry, case, limits, target)
    return {name: why for name, why in told.items() if why}


def main(argv: list[str]) -> int:
    """Prints the differences; the exit code is non-zero for a fault only."""
    parser = argparse.ArgumentParser(prog="delivered")
    parser.add_argument("--work", type=Path, required=True, help="the campaign's folder")
    parser.add_argument("--variant", required=True, help="the variant's folder in the campaign's folder")
    parser.add_argument("--source", type=Path, required=True, help="the source to deliver")
    parser.add_argument("--unsafe-no-sandbox", action="store_true")
    args = parser.parse_args(argv)
    limits = Limits(**{**vars(_LIMITS), "is_sandboxed": not args.unsafe_no_sandbox})
    try:
        told = differences(args.work, args.variant, args.source.read_bytes(), limits)
    except ChildFault as fault:
        print(f"delivered: {fault}", file=sys.stderr)
        return 3
    print(json.dumps(told))
    return 0
