"""Step check: a candidate's CPU program on the judge's inputs, element-wise against the oracle.

The program runs in a child that has the inputs but not the expected values; what it gives is compared here. It is run
on every input set, some of them drawn from a secret, and on the first one again at the end.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import numpy as np

import judge_inputs
import program
import sandbox
import verdict
from child import Limits
from judge_inputs import PUBLIC, SETS, Array, InputSet
from step import Step
from verdict import Report

# What is smaller counts as zero: how denormal numbers are rounded is the machine's affair.
_FLOOR = 1e-30
# Of a reference whose own error is less than this share of a unit in the last place, nobody is asked to be as lucky.
_LUCK = 0.3

Expected = dict[str, Array]


class Refusal(Exception):
    """The program is turned down: `kind` of verdict.KINDS, why, and the evidence."""

    def __init__(self, kind: str, reason: str, **evidence: Any) -> None:
        super().__init__(reason)
        self.kind = kind
        self.evidence = evidence


def known_sets(expected: Expected) -> list[InputSet]:
    """The sets that the oracle has values for."""
    return [drawn for drawn in SETS if f"{drawn.name}.0.oracle" in expected]


def _run(content: bytes, signature: dict[str, Any], secret: str, expected: list[tuple[InputSet, list[Any]]]) -> bytes:
    """The child's work: runs the program on each set, and answers with its outputs' shapes, dtypes and bytes.

    Of each set it is told the places of each output that are asked for, all or some.
    """
    import jax

    program.configure_jax()
    answer: list[bytes] = []
    header: dict[str, Any] = {"runs": []}
    try:
        run = jax.jit(program.load_program(content).call)
        # The first one again at the end: the same call gives the same bits.
        for drawn, places in [*expected, expected[0]]:
            inputs = judge_inputs.draw(signature, drawn, secret)
            arguments = [jax.device_put(array) for array in inputs]
            arrays = [np.asarray(leaf) for leaf in jax.tree_util.tree_leaves(run(*arguments))]
            changed = [i for i, (a, b) in enumerate(zip(arguments, inputs, strict=True)) if a.tobytes() != b.tobytes()]
            outputs = [{"shape": list(array.shape), "dtype": array.dtype.name} for array in arrays]
            header["runs"].append({"set": drawn.name, "outputs": outputs, "changed": changed})
            for array, declared, which in zip(arrays, signature["outputs"], places, strict=False):
                if list(array.shape) == declared["shape"]:
                    answer.append(judge_inputs.picked(array, which).tobytes())
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever the program does at run time
        header = {"error": f"{type(error).__name__}: {error}"}
    return json.dumps(header).encode() + b"\n" + b"".join(answer)


def check_shapes(outputs: list[dict[str, Any]], signature: dict[str, Any]) -> None:
    """Raises Refusal where outputs' shapes and dtypes are not those declared."""
    declared = signature["outputs"]
    if len(outputs) != len(declared):
        raise Refusal("contract", f"{len(outputs)} outputs, the spec declares {len(declared)}")
    for got, entry in zip(outputs, declared, strict=True):
        if got["shape"] != entry["shape"]:
            raise Refusal("contract", f"'{entry['name']}': {got['shape']}, not {entry['shape']}")
        if program.dtype_of(got["dtype"]) != program.dtype_of(entry["dtype"]):
            raise Refusal("contract", f"'{entry['name']}': {got['dtype']}, not {entry['dtype']}")


def compare(
    got: Array, expected: Expected, drawn: InputSet, number: int, declared: dict[str, Any], tolerance: dict[str, float]
) -> dict[str, Any]:
    """The figures of one output for one set. Raises Refusal.

    An element is right within atol, in units of the oracle's root mean square where that is below 1, and rtol; or
    within max_error_ratio times the reference's own largest error. On the sets that are compared whole, the root of
    the mean square error may be max_error_ratio times that of the reference.
    """
    of_set = f"{drawn.name}.{number}"
    oracle, places = expected[f"{of_set}.oracle"].astype(np.float64), expected.get(f"{of_set}.places")
    name, values = f"'{declared['name']}'", got.astype(np.float64)
    on = "" if drawn is PUBLIC else f", inputs '{drawn.name}'"

    def where(place: int) -> list[int]:
        flat = place if places is None else int(places[place])
        return [int(axis) for axis in np.unravel_index(flat, declared["shape"])]

    def refuse(kind: str, reason: str, worst: int) -> Refusal:
        element = {"at": where(worst), "got": repr(float(values.flat[worst])), "expected": float(oracle.flat[worst])}
        return Refusal(kind, f"{name}: {reason}{on}", inputs=drawn.name, output=declared["name"], element=element)

    finite = np.isfinite(values)
    if not finite.all():
        bad = int(values.size - finite.sum())
        raise refuse("non-finite", f"{bad} of {values.size} elements are not finite", int(np.argmin(finite)))
    difference = np.abs(values - oracle)
    size = float(np.sqrt(np.mean(oracle * oracle))) if oracle.size else 0.0
    bound = tolerance["atol"] * min(1.0, size) + tolerance["rtol"] * np.abs(oracle)
    bound = np.maximum(bound, max(_FLOOR, tolerance["max_error_ratio"] * float(expected[f"{of_set}.worst"])))
    bad = int(np.count_nonzero(~(difference <= bound)))
    if bad:
        worst = int(np.argmax(difference - bound))
        text = ", ".join(map(str, where(worst)))
        told = f"{values.flat[worst]:.6g}, not {oracle.flat[worst]:.6g}"
        raise refuse("incorrect", f"{bad} of {values.size} elements are off; the worst at [{text}]: {told}", worst)
    error = float(np.sqrt(np.mean(difference * difference))) if difference.size else 0.0
    own = float(expected[f"{of_set}.error"])
    if drawn.is_whole:
        _check_error(error, own, size, declared, tolerance, refuse, int(np.argmax(difference)) if error else 0)
    scale = np.maximum(np.abs(oracle), np.finfo(np.float32).tiny)
    return {
        "max_abs_error": float(difference.max(initial=0.0)),
        "mean_abs_error": float(difference.mean()) if difference.size else 0.0,
        "max_rel_error": float((difference / scale).max(initial=0.0)),
        "mean_rel_error": float((difference / scale).mean()) if difference.size else 0.0,
        "rms_error": error,
        "reference_rms_error": own,
        "elements": int(values.size),
    }


def _check_error(
    error: float,
    own: float,
    size: float,
    declared: dict[str, Any],
    tolerance: dict[str, float],
    refuse: Any,
    worst: int,
) -> None:
    """Raises Refusal where the error is too large beside the reference's own."""
    dtype = program.dtype_of(declared["dtype"])
    if not np.issubdtype(dtype, np.floating) and dtype.kind != "V":
        return
    least = _LUCK * float(program.float_info(dtype).eps) * size
    limit = tolerance["max_error_ratio"]
    if error > limit * max(own, least):
        ratio = error / max(own, least)
        raise refuse("precision", f"error {ratio:.2f}x the reference's own, limit {limit}x", worst)


def judge(
    runs: list[tuple[InputSet, list[Array]]],
    expected: Expected,
    signature: dict[str, Any],
    tolerance: dict[str, float],
) -> Report:
    """The report on what a program gave for each set; `runs` ends with the first set's again."""
    outputs: list[dict[str, Any]] = []
    sets: dict[str, Any] = {}
    try:
        for drawn, arrays in runs[:-1]:
            for i, (got, declared) in enumerate(zip(arrays, signature["outputs"], strict=True)):
                figures = compare(got, expected, drawn, i, declared, tolerance)
                sets.setdefault(drawn.name, []).append(figures["rms_error"])
                if drawn is PUBLIC:
                    outputs.append({"name": declared["name"], **figures})
        for first, again, declared in zip(runs[0][1], runs[-1][1], signature["outputs"], strict=True):
            if first.tobytes() != again.tobytes():
                raise Refusal("nondeterministic", f"'{declared['name']}': the same call gave other bits")
    except Refusal as refusal:
        return verdict.rejected(refusal.kind, str(refusal), evidence=refusal.evidence)
    skipped = [drawn.name for drawn in SETS if drawn.name not in sets]
    return verdict.ok(outputs=outputs, sets=sets, **({"skipped_sets": skipped} if skipped else {}))


def _split(answer: bytes, expected: Expected, signature: dict[str, Any]) -> list[tuple[InputSet, list[Array]]]:
    """What a child answered, as arrays. Raises Refusal."""
    header_text, _, rest = answer.partition(b"\n")
    header = json.loads(header_text)
    if "error" in header:
        raise Refusal("crash", header["error"])
    by_name = {drawn.name: drawn for drawn in SETS}
    runs = []
    for run in header["runs"]:
        check_shapes(run["outputs"], signature)
        if run["changed"]:
            changed = signature["inputs"][run["changed"][0]]["name"]
            raise Refusal("incorrect", f"the input '{changed}' was changed")
        arrays = []
        for number, entry in enumerate(run["outputs"]):
            places = expected.get(f"{run['set']}.{number}.places")
            shape = entry["shape"] if places is None else [len(places)]
            dtype = program.dtype_of(entry["dtype"])
            size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
            arrays.append(np.frombuffer(rest[:size], dtype=dtype).reshape(shape))
            rest = rest[size:]
        runs.append((by_name[run["set"]], arrays))
    return runs


def check_program(
    content: bytes,
    expected: Expected,
    signature: dict[str, Any],
    tolerance: dict[str, float],
    secret: str,
    limits: Limits,
) -> Report:
    """The report on a CPU program; an empty program was turned down before."""
    if not content:
        return verdict.not_reached()
    count = range(len(signature["outputs"]))
    asked = [(drawn, [expected.get(f"{drawn.name}.{i}.places") for i in count]) for drawn in known_sets(expected)]
    ending = sandbox.run(lambda: _run(content, signature, secret, asked), limits)
    if ending.how != "answered":
        return verdict.of_ending(ending, limits)
    try:
        runs = _split(ending.answer, expected, signature)
    except Refusal as refusal:
        return verdict.rejected(refusal.kind, str(refusal))
    return judge(runs, expected, signature, tolerance)


def read_expected(content: bytes) -> Expected:
    """The arrays that the step expect wrote."""
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def main(argv: list[str]) -> int:
    """Runs the step; non-zero for a fault alone."""
    flags = ("program", "contract", "expected", "signature", "tolerance", "secret")
    step = Step("check", flags, cpu_seconds=120, memory_mib=8192)

    def work(args: argparse.Namespace, limits: Limits) -> Report:
        content = verdict.passed(args.contract, args.program)
        if not content:
            return verdict.not_reached()
        return check_program(
            content,
            read_expected(Path(args.expected).read_bytes()),
            verdict.read_json(args.signature),
            verdict.read_json(args.tolerance),
            Path(args.secret).read_text(encoding="ascii"),
            limits,
        )

    return step.run(argv, work)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
