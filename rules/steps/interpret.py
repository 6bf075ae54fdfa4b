"""Step interpret: a candidate's kernels in Pallas' TPU interpreter, which sees what a plain run does not.

Memory that nobody wrote is not a number, blocks and slices outside of their arrays are errors, unordered accesses of
DMAs and of two cores are races, and the order of grid dimensions that are said to be parallel is drawn. The interpreter
is not trusted to say that a kernel is right: this step can only turn one down. What the interpreter cannot run is
told, and left to the other steps.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import numpy as np
from jax._src import core
from jax._src.pallas.mosaic.interpret import interpret_pallas_call as interpreter
from jax.experimental.pallas import tpu as pltpu

import check
import judge_inputs
import program
import sandbox
import verdict
import wire
from check import Refusal
from child import Limits
from judge_inputs import PUBLIC
from step import Step
from verdict import Report

_OUT_OF_BOUNDS = re.compile(r"Error: ([^\n]*out.of.bounds[^\n]*)", re.I)
_REVISITED = re.compile(r"Error: (Revisited block[^\n]*)")


def _interpretable(params: dict[str, Any], how: pltpu.InterpretParams) -> dict[str, Any]:
    """A kernel's parameters: the interpreter takes parallel dimensions before all others alone."""
    options = params["compiler_params"]
    semantics = list(getattr(options, "dimension_semantics", None) or ())
    kinds = [getattr(kind, "value", kind) == "parallel" for kind in semantics]
    if kinds != sorted(kinds, reverse=True):
        options = dataclasses.replace(options, dimension_semantics=None)
    return dict(params, interpret=how, compiler_params=options)


def _said_by(error: Exception) -> dict[str, str]:
    """What an answer says of an error: what it found, or that it could not go on."""
    text = str(error)
    for kind, found in (("out-of-bounds", _OUT_OF_BOUNDS.search(text)), ("race", _REVISITED.search(text))):
        if found:
            return {"kind": kind, "reason": found[1]}
    # A callback's error begins with where it was called from, and ends with what it was.
    last = next((line for line in reversed(text.splitlines()) if line.strip()), "")
    return {"gap": verdict.one_line(f"{type(error).__name__}: {last}")}


def _interpreted(packed: bytes, signature: dict[str, Any]) -> bytes:
    """The child's work: a line of JSON, then the outputs' bytes."""
    program.configure_jax()
    how = pltpu.InterpretParams(detect_races=True, num_cores_or_threads=2, random_seed=1)
    answer = b""
    try:
        closed = wire.unpack(packed)
        jaxpr = program.with_calls(closed.jaxpr, lambda params: _interpretable(params, how))
        run = jax.jit(core.jaxpr_as_fun(closed.replace(jaxpr=jaxpr)))
        outputs = [np.asarray(leaf) for leaf in run(*judge_inputs.draw(signature))]
        header: dict[str, Any] = {"races": interpreter.races is not None and interpreter.races.races_found}
        answer = b"".join(output.tobytes() for output in outputs)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever the kernel or the interpreter does
        header = _said_by(error)
    return json.dumps(header).encode() + b"\n" + answer


def _look(
    answer: bytes, expected: check.Expected, signature: dict[str, Any], tolerance: dict[str, float]
) -> dict[str, Any]:
    """What a report says of an answer. Raises Refusal."""
    text, _, content = answer.partition(b"\n")
    header = json.loads(text)
    if "gap" in header:
        return {"not_interpreted": header["gap"]}
    if "kind" in header:
        raise Refusal(header["kind"], header["reason"])
    if header["races"]:
        raise Refusal("race", "two accesses of the same memory, at least one of them a write, have no order")
    arrays, _ = check.arrays_of(content, signature["outputs"])
    for i, (got, declared) in enumerate(zip(arrays, signature["outputs"], strict=True)):
        output = check.output_of(got, expected, PUBLIC, i, declared)
        try:
            check.check_finite(output)
            check.check_elements(output, tolerance)
        except Refusal as refusal:
            why = "where memory that nobody wrote is not a number, and parallel dimensions have no order"
            raise Refusal(refusal.kind, f"{refusal}, {why}", **refusal.evidence) from refusal
    return {}


def interpret(
    packed: bytes, expected: check.Expected, signature: dict[str, Any], tolerance: dict[str, float], limits: Limits
) -> Report:
    """The report on a candidate's jaxpr."""
    ending = sandbox.run(lambda: _interpreted(packed, signature), limits)
    if ending.how == "timeout":
        # Its time is the interpreter's, a hundred times the program's: what never ends, the step check finds.
        return verdict.ok(not_interpreted=ending.reason(limits))
    if ending.how != "answered":
        return verdict.of_ending(ending, limits)
    try:
        return verdict.ok(**_look(ending.answer, expected, signature, tolerance))
    except Refusal as refusal:
        return verdict.rejected(refusal.kind, str(refusal), evidence=refusal.evidence)


def main(argv: list[str]) -> int:
    """Runs the step; non-zero for a fault alone."""
    flags = ("jaxpr", "contract", "expected", "signature", "tolerance")
    step = Step("interpret", flags, cpu_seconds=120, memory_mib=8192)

    def work(args: argparse.Namespace, limits: Limits) -> Report:
        packed = verdict.passed(args.contract, args.jaxpr)
        if not packed:
            return verdict.not_reached()
        expected = check.read_expected(Path(args.expected).read_bytes())
        return interpret(packed, expected, verdict.read_json(args.signature), verdict.read_json(args.tolerance), limits)

    return step.run(argv, work)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
