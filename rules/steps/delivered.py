"""Whether a file that is given out is what was judged: its programs are those that were recorded for it.

Run by evolve, as no step: the file stands as its author wrote it, and is traced once more, in an interpreter with
hashes of its own, and where nothing is as it was. What differs is told as JSON on stdout, by case: {"square": "why"}.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import elsewhere
import lower
import sandbox
import verdict
from candidate import Rejection, Signature
from child import ChildFault, Limits

_LIMITS = Limits(cpu_seconds=60, wall_seconds=240, memory_bytes=3 * 2**30, answer_bytes=64 * 2**20)


def difference(source: bytes, entry: str, signature: Signature, recorded: dict[str, Any], limits: Limits) -> str:
    """What a file's programs for a case are other than those of a report of lower; empty where they are the same."""
    try:
        traced = sandbox.run(
            lambda: elsewhere.traced(source, entry, [signature], elsewhere.HERE_TOO),
            limits,
            is_trusted=False,
            place=elsewhere.place_of(elsewhere.HERE_TOO, os.urandom(8)),
        )
        report, _ = lower.exported(elsewhere.open_answer(traced, limits)[1], signature, limits)
    except Rejection as rejection:
        return str(rejection)
    other = [name for name, made in report["programs"].items() if recorded.get("programs", {}).get(name) != made]
    return f"its program for the {' and the '.join(name.upper() for name in other)} is another one" if other else ""


def differences(work: Path, variant: str, source: bytes, limits: Limits) -> dict[str, str]:
    """Of each case of a variant below a campaign's folder."""
    entry = verdict.read_json(str(work / "spec.json"))["entry"]
    told = {}
    for path in sorted(work.glob(f"{variant}/*/lower.json")):
        signature = verdict.read_json(str(work / "cases" / path.parent.name / "signature.json"))
        told[path.parent.name] = difference(source, entry, signature, verdict.read_json(str(path)), limits)
    if not told:
        raise ChildFault(f"{variant} was not lowered")
    return {name: why for name, why in told.items() if why}


def main(argv: list[str]) -> int:
    """Prints what differs; non-zero for a fault alone."""
    parser = argparse.ArgumentParser(prog="delivered")
    parser.add_argument("--work", type=Path, required=True, help="a campaign's folder")
    parser.add_argument("--variant", required=True, help="a variant's folder below it")
    parser.add_argument("--source", type=Path, required=True, help="what is to be given out")
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
