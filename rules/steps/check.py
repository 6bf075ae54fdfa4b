"""Step check: the judge's program of a candidate on the judge's inputs, element-wise against the oracle.

The program runs in a child that has the inputs but not the expected values; its outputs are compared here. It runs on
every input set, some of them drawn from a secret, and on the first set again at the end.
"""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import numpy as np

from judge import comparison, interpret, judge_inputs
from judge.comparison import Expected, Refusal
from judge.judge_inputs import PUBLIC, SETS, Array, InputSet
from process import sandbox
from process.child import Limits
from programs import program
from reports import verdict
from reports.step import Step
from reports.verdict import Report


def _run(content: bytes, signature: dict[str, Any], secret: str, expected: list[tuple[InputSet, list[Any]]]) -> bytes:
    """The child's work: runs the program on each set, and answers with its outputs' shapes, dtypes and bytes.

    `expected` has for each set the places of each output that are compared; None: all places.
    """
    program.configure_jax()
    answer: list[bytes] = []
    header: dict[str, Any] = {"runs": []}
    is_traced = program.is_traced(content)
    try:
        run = (
            interpret.as_function(content, signature, secret)
            if is_traced
            else jax.jit(program.load_program(content).call)
        )
        # The first set runs again at the end: the same call has to give the same bits.
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
        said = interpret.said_by(error) if is_traced else {}
        header = said or {"error": f"{type(error).__name__}: {error}"}
    return json.dumps(header).encode() + b"\n" + b"".join(answer)


def figures_of(output: comparison.Output) -> dict[str, Any]:
    """Returns a report's figures for an output."""
    difference = output.difference
    relative = difference / np.maximum(np.abs(output.oracle), np.finfo(np.float32).tiny)
    return {
        "name": output.declared["name"],
        "max_abs_error": float(difference.max(initial=0.0)),
        "mean_abs_error": float(difference.mean()) if difference.size else 0.0,
        "max_rel_error": float(relative.max(initial=0.0)),
        "mean_rel_error": float(relative.mean()) if difference.size else 0.0,
        "rms_error": output.error,
        "reference_rms_error": output.own_error,
        "elements": int(difference.size),
    }


def judge(
    runs: list[tuple[InputSet, list[Array]]],
    expected: Expected,
    signature: dict[str, Any],
    tolerance: dict[str, float],
) -> Report:
    """Returns the report on a program's outputs for each set; `runs` ends with a second run of the first set."""
    figures: list[dict[str, Any]] = []
    sets: list[str] = []
    try:
        for drawn, arrays in runs[:-1]:
            for i, (got, declared) in enumerate(zip(arrays, signature["outputs"], strict=True)):
                output = comparison.output_of(got, expected, drawn, i, declared)
                comparison.check_output(output, tolerance)
                # A report has no figures for secret inputs, so that it does not depend on the secret.
                if drawn is PUBLIC:
                    figures.append(figures_of(output))
            sets.append(drawn.name)
        comparison.check_again(runs[0][1], runs[-1][1], signature)
    except Refusal as refusal:
        return verdict.rejected(refusal.kind, str(refusal), evidence=refusal.evidence)
    skipped = [drawn.name for drawn in judge_inputs.sets_of(signature) if drawn.name not in sets]
    return verdict.ok(outputs=figures, sets=sets, **({"skipped_sets": skipped} if skipped else {}))


def _split(answer: bytes, expected: Expected, signature: dict[str, Any]) -> list[tuple[InputSet, list[Array]]]:
    """Decodes a child's answer into arrays. Raises Refusal."""
    header_text, _, rest = answer.partition(b"\n")
    header = json.loads(header_text)
    if "error" in header:
        raise Refusal("crash", header["error"])
    if "kind" in header:
        raise Refusal(header["kind"], header["reason"])
    by_name = {drawn.name: drawn for drawn in SETS}
    runs = []
    for run in header["runs"]:
        comparison.check_shapes(run["outputs"], signature)
        if run["changed"]:
            changed = signature["inputs"][run["changed"][0]]["name"]
            raise Refusal("incorrect", f"the input '{changed}' was changed")
        sent = []
        for number, entry in enumerate(run["outputs"]):
            places = expected.get(f"{run['set']}.{number}.places")
            sent.append(entry if places is None else {**entry, "shape": [len(places)]})
        arrays, rest = comparison.arrays_of(rest, sent)
        runs.append((by_name[run["set"]], arrays))
    return runs


def check_program(
    content: bytes,
    expected: Expected,
    signature: dict[str, Any],
    tolerance: dict[str, float],
    secret: str,
    limits: Limits,
    is_timed: bool = False,
) -> Report:
    """Returns the report on a judge's program. An empty program was rejected before.

    A case that `is_timed` may be too large for a CPU: a program that does not end in time is then not done, and not
    wrong.
    """
    if not content:
        return verdict.not_reached()
    count = range(len(signature["outputs"]))
    asked = [
        (drawn, [expected.get(f"{drawn.name}.{i}.places") for i in count]) for drawn in comparison.known_sets(expected)
    ]
    ending = sandbox.run(lambda: _run(content, signature, secret, asked), limits)
    if ending.how == "timeout" and is_timed:
        return verdict.not_done(f"the program {ending.reason(limits)}; {comparison.IN_PARTS}")
    if ending.how != "answered":
        return verdict.of_ending(ending, limits)
    gap = json.loads(ending.answer.partition(b"\n")[0]).get("gap")
    if gap:
        return verdict.not_done(
            f"the program cannot run on a CPU, neither compiled by JAX nor in the TPU interpreter: {gap}"
        )
    try:
        runs = _split(ending.answer, expected, signature)
    except Refusal as refusal:
        return verdict.rejected(refusal.kind, str(refusal))
    return judge(runs, expected, signature, tolerance)


def main(argv: list[str]) -> int:
    """Runs the step; the exit code is non-zero for a fault only."""
    flags = ("program", "gate", "expected", "signature", "tolerance", "secret")
    step = Step("check", flags, cpu_seconds=120, memory_mib=8192)
    step.parser.add_argument("--is-timed", choices=("0", "1"), default="0", help="1: the case is timed, too")

    def work(args: argparse.Namespace, limits: Limits) -> Report:
        content = verdict.passed(args.gate, args.program)
        if not content:
            return verdict.not_reached()
        return check_program(content, *comparison.read_case(args), limits, is_timed=args.is_timed == "1")

    return step.run(argv, work)
