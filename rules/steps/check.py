"""Step check: a candidate's CPU program on the judge's inputs, element-wise against the oracle.

The program runs in a child that has the inputs but not the expected values; what it gives is compared here.
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
import verdict
from child import ChildFault, Limits, run_in_child
from depfile import write_depfile
from verdict import Report


def _run(content: bytes, signature: dict[str, Any]) -> bytes:
    """The child's work: runs the program and answers with its outputs' shapes, dtypes and bytes."""
    import jax  # noqa: PLC0415

    program.configure_jax()
    try:
        exported = program.load_program(content)
        results = jax.jit(exported.call)(*judge_inputs.draw(signature))
        arrays = [np.asarray(leaf) for leaf in jax.tree_util.tree_leaves(results)]
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever the program does at run time
        return json.dumps({"error": f"{type(error).__name__}: {error}"}).encode() + b"\n"
    header = [{"shape": list(a.shape), "dtype": a.dtype.name} for a in arrays]
    return json.dumps({"outputs": header}).encode() + b"\n" + b"".join(a.tobytes() for a in arrays)


def _split(answer: bytes) -> tuple[dict[str, Any], list[np.ndarray[Any, Any]]]:
    header_text, _, rest = answer.partition(b"\n")
    header = json.loads(header_text)
    arrays = []
    for entry in header.get("outputs", []):
        dtype = program.dtype_of(entry["dtype"])
        size = int(np.prod(entry["shape"], dtype=np.int64)) * dtype.itemsize
        arrays.append(np.frombuffer(rest[:size], dtype=dtype).reshape(entry["shape"]))
        rest = rest[size:]
    return header, arrays


def _compare(
    got: np.ndarray[Any, Any], oracle: np.ndarray[Any, Any], own_error: float, tolerance: dict[str, float]
) -> tuple[dict[str, Any], str | None, str]:
    """The figures of one output, and the kind and reason of its rejection, if any."""
    values = got.astype(np.float64)
    finite = np.isfinite(values)
    if not finite.all():
        bad = int(values.size - finite.sum())
        return {"bad_elements": bad}, "non-finite", f"{bad} of {values.size} elements are not finite"
    right = oracle.astype(np.float64)
    difference = np.abs(values - right)
    bound = tolerance["atol"] + tolerance["rtol"] * np.abs(right)
    bad = int(np.count_nonzero(~(difference <= bound)))
    scale = np.maximum(np.abs(right), np.finfo(np.float32).tiny)
    rms = float(np.sqrt(np.mean(difference * difference)))
    figures = {
        "max_abs_error": float(difference.max(initial=0.0)),
        "mean_abs_error": float(difference.mean()) if difference.size else 0.0,
        "max_rel_error": float((difference / scale).max(initial=0.0)),
        "mean_rel_error": float((difference / scale).mean()) if difference.size else 0.0,
        "rms_error": rms,
        "reference_rms_error": own_error,
        "elements": int(values.size),
        "bad_elements": bad,
    }
    if bad:
        worst = np.unravel_index(int(np.argmax(difference - bound)), difference.shape)
        where = ", ".join(str(int(i)) for i in worst)
        return (
            figures,
            "incorrect",
            (
                f"{bad} of {values.size} elements are off; the worst at [{where}]: "
                f"{values[worst]:.6g}, not {right[worst]:.6g}"
            ),
        )
    limit = tolerance["max_error_ratio"]
    if own_error > 0 and rms > limit * own_error:
        return figures, "precision", f"error {rms / own_error:.2f}x the reference's own, limit {limit}x"
    return figures, None, ""


def judge(
    arrays: list[np.ndarray[Any, Any]],
    expected: dict[str, np.ndarray[Any, Any]],
    signature: dict[str, Any],
    tolerance: dict[str, float],
) -> Report:
    """The report on a program's outputs."""
    outputs: list[dict[str, Any]] = []
    rejection: tuple[str, str] | None = None
    declared = signature["outputs"]
    if len(arrays) != len(declared):
        reason = f"{len(arrays)} outputs, the spec declares {len(declared)}"
        return verdict.rejected("contract", reason)
    for i, (got, entry) in enumerate(zip(arrays, declared, strict=True)):
        if list(got.shape) != entry["shape"]:
            reason = f"'{entry['name']}': {list(got.shape)}, not {entry['shape']}"
            return verdict.rejected("contract", reason)
        if got.dtype != program.dtype_of(entry["dtype"]):
            return verdict.rejected("contract", f"'{entry['name']}': {got.dtype}, not {entry['dtype']}")
        figures, kind, reason = _compare(got, expected[f"oracle_{i}"], float(expected[f"error_{i}"]), tolerance)
        outputs.append({"name": entry["name"], **figures})
        if kind is not None and rejection is None:
            rejection = (kind, f"'{entry['name']}': {reason}")
    if rejection is not None:
        return verdict.rejected(*rejection, outputs=outputs)
    return verdict.ok(outputs=outputs)


def check_program(
    content: bytes,
    expected_file: bytes,
    signature: dict[str, Any],
    tolerance: dict[str, float],
    limits: Limits,
) -> Report:
    """The report on a CPU program; an empty program was turned down before."""
    if not content:
        return verdict.not_reached()
    ending = run_in_child(lambda: _run(content, signature), limits)
    if ending.how != "answered":
        return verdict.of_ending(ending, limits)
    header, arrays = _split(ending.answer)
    if "error" in header:
        return verdict.rejected("crash", header["error"])
    with np.load(io.BytesIO(expected_file), allow_pickle=False) as stored:
        expected = {name: stored[name] for name in stored.files}
    return judge(arrays, expected, signature, tolerance)


def main(argv: list[str]) -> int:
    """Runs the step; non-zero for a fault alone."""
    parser = argparse.ArgumentParser(prog="check")
    for name in ("program", "expected", "signature", "tolerance", "out"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--cpu-seconds", type=int, default=120)
    parser.add_argument("--memory-mib", type=int, default=8192)
    parser.add_argument("--depfile")
    args = parser.parse_args(argv)
    limits = Limits(args.cpu_seconds, 4 * args.cpu_seconds, args.memory_mib * 2**20)
    try:
        report = check_program(
            Path(args.program).read_bytes(),
            Path(args.expected).read_bytes(),
            verdict.read_json(args.signature),
            verdict.read_json(args.tolerance),
            limits,
        )
    except ChildFault as fault:
        print(f"check: {fault}", file=sys.stderr)
        return 3
    verdict.write_report(args.out, report)
    write_depfile(args.depfile, args.out)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
