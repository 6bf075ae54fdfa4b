"""The outputs of a candidate's program for a large timed case, at places that nobody knows beforehand.

A case that is too large to be run as a whole on a CPU is compared at a few blocks of its outputs (places.py).
Operations around the kernels are computed only for these (parts.py). The TPU interpreter runs only the steps of the
kernels' grids that decide them (kernel_steps.py). Some blocks are compared on normally distributed inputs, which show
whether a program leaves out a part of a long sum. Others have inputs with needles (judge_inputs.py), which show whether
it leaves out a part of a softmax.
"""

from __future__ import annotations

import gc
import json
import math
import os
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import numpy as np
from jax._src import core

from interpreter import footprint, interpreted, kernel_steps, parts
from interpreter.regions import Region, indices_of, of_axis, size_of, take
from judge import comparison, judge_inputs, places
from judge.comparison import Refusal
from judge.judge_inputs import AGAIN, TIMED, Array, InputSet
from process import sandbox
from process.child import Limits
from programs import program, promises, wire
from reports import verdict
from reports.verdict import Report

# The maximum number of blocks of a group at which a program is compared, and the maximum cost of all of them together
# (kernel_steps.cost_of), which only the first block may exceed. A cost of 1e9 takes about 7 s.
_MOST_BLOCKS, _MOST_COST = 4, 1e9

# For each group of places, the blocks at which a program is compared, one after another: a block of each output.
Asked = list[list[list[Region]]]


def asked_of(signature: dict[str, Any], secret: str, packed: bytes) -> Asked:
    """Returns the blocks at which this program is compared."""
    shapes = [one["shape"] for one in signature["outputs"]]
    of_program = program.digest(packed)

    def blocks(number: int, group: list[places.Runs], *turn: int) -> list[Region]:
        named = (number, of_program, secret, *turn)
        return [places.block_of(runs, shape, *named) for runs, shape in zip(group, shapes, strict=True)]

    return [
        [blocks(number, group), *(blocks(number, group, turn) for turn in range(1, _MOST_BLOCKS))]
        for number, group in enumerate(places.groups_of(shapes, secret))
    ]


def known_groups(expected: comparison.Expected) -> list[tuple[int, InputSet]]:
    """Returns the groups that the oracle has values for, and the inputs of each."""
    return [
        (group, drawn)
        for group, first in enumerate(TIMED)
        for drawn in (first, AGAIN)
        if f"{drawn.name}.0.{group}.oracle" in expected
    ]


def _at_blocks(
    closed: core.ClosedJaxpr, inputs: list[Array], asked: list[list[Region]], kernels: kernel_steps.SomeSteps
) -> list[list[Any]]:
    """Returns the outputs at a group's blocks: at the first block at any cost, at others if they cost little."""
    around = kernel_steps.cost_of(closed.jaxpr)
    kernels.cost, kernels.most = around, math.inf
    found = [kernel_steps.evaluate(closed, inputs, asked[0], kernels)]
    first, kernels.most = kernels.cost, _MOST_COST
    for blocks in asked[1:]:
        # Other blocks are expected to cost about as much as the first block. `kernels` limits their real cost.
        if kernels.cost + first > _MOST_COST:
            break
        kernels.cost += around
        try:
            found.append(kernel_steps.evaluate(closed, inputs, blocks, kernels))
        except kernel_steps.Enough:
            break
    return found


def _run(
    packed: bytes,
    signature: dict[str, Any],
    secret: str,
    asked: Asked,
    groups: list[tuple[int, InputSet]],
) -> bytes:
    """The child's work: a line of JSON, then the outputs' bytes at the blocks, group by group."""
    program.configure_jax()
    answer: list[bytes] = []
    counts: list[int] = []
    header: dict[str, Any] = {}
    try:
        # The program is prepared once, so that the compiled kernels of one group serve the other group.
        closed = parts.flattened(interpreted.prepared(wire.unpack(packed)))
        kernels = kernel_steps.SomeSteps(int(judge_inputs.generator_of("memory", secret).integers(1 << 30)))
        for group, drawn in groups:
            kernels.is_second_way = group % 2 == 1
            inputs = judge_inputs.draw(signature, drawn, secret)
            found = _at_blocks(closed, inputs, asked[group], kernels)
            counts.append(len(found))
            answer += [np.asarray(one).tobytes() for outputs in found for one in outputs]
            del inputs
            gc.collect()
        header = {"steps": kernels.steps, "of": kernels.all_steps, "blocks": counts}
    except MemoryError:
        raise
    except promises.Broken as error:
        header = {"broken": str(error)}
    except (footprint.Overlap, kernel_steps.Left) as error:
        header = {"kind": "race", "broken": str(error)}
    except footprint.Beyond as error:
        header = {"kind": "out-of-bounds", "broken": str(error)}
    except (NotImplementedError, footprint.TooLarge) as error:
        header = {"gap": verdict.one_line(str(error))}
    except Exception as error:  # noqa: BLE001 - whatever the program or the interpreter does
        last = next((line for line in reversed(str(error).splitlines()) if line.strip()), "")
        header = {"gap": verdict.one_line(f"{type(error).__name__}: {last}")}
    return json.dumps(header).encode() + b"\n" + b"".join(answer)


def at_all_places(expected: comparison.Expected, signature: dict[str, Any]) -> comparison.Expected:
    """Returns the oracle's values for whole outputs (check.py) as those of groups that have all places."""
    out: comparison.Expected = {}
    for group, drawn in enumerate(TIMED):
        # The set of the same name in `expected` has other whole numbers.
        if drawn.has_public_whole and judge_inputs.has_whole(signature):
            continue
        for number, declared in enumerate(signature["outputs"]):
            known, name = f"{drawn.name}.{number}", f"{drawn.name}.{number}.{group}"
            if f"{known}.oracle" not in expected:
                continue
            out |= {f"{name}.{word}": expected[f"{known}.{word}"] for word in ("oracle", "error", "worst")}
            out |= {f"{name}.axis{axis}": np.arange(size) for axis, size in enumerate(declared["shape"])}
    return out


def output_at(
    got: Array,
    expected: comparison.Expected,
    signature: dict[str, Any],
    number: int,
    group: tuple[int, InputSet],
    block: Region,
) -> comparison.Output:
    """Joins a program's output at a block with the oracle's values.

    Its unit is that of the block. Needles may leave only rounding errors of large terms that cancel out in a block, so
    with needles the unit is that of all places.
    """
    declared, name = signature["outputs"][number], f"{group[1].name}.{number}.{group[0]}"
    shape = declared["shape"]
    region = tuple(of_axis(expected[f"{name}.axis{axis}"], size) for axis, size in enumerate(shape))
    at = [indices_of(axis, size) for axis, size in zip(block, shape, strict=True)]
    indices = np.meshgrid(*at, indexing="ij")
    oracle = expected[f"{name}.oracle"].astype(np.float64)
    return comparison.Output(
        declared,
        group[1],
        got.astype(np.float64),
        np.asarray(take(oracle, region, block, shape)),
        np.ravel_multi_index(indices, shape).reshape(-1) if shape else None,
        float(expected[f"{name}.error"]),
        expected[f"{name}.worst"],
        oracle if group[1].has_few_large else None,
    )


def judge(
    answer: bytes,
    asked: Asked,
    expected: comparison.Expected,
    signature: dict[str, Any],
    tolerance: dict[str, float],
) -> Report:
    """Returns the report on the child's answer."""
    text, _, content = answer.partition(b"\n")
    header = json.loads(text)
    if "gap" in header:
        return verdict.not_done(f"its values cannot be computed here: {header['gap']}")
    if "broken" in header:
        return verdict.rejected(header.get("kind", "incorrect"), header["broken"])
    compared = 0
    groups = known_groups(expected)
    looked_at = [
        (group, blocks)
        for group, count in zip(groups, header["blocks"], strict=True)
        for blocks in asked[group[0]][:count]
    ]
    for group, blocks in looked_at:
        shaped = [
            {**one, "shape": list(size_of(block, one["shape"]))}
            for one, block in zip(signature["outputs"], blocks, strict=True)
        ]
        arrays, content = comparison.arrays_of(content, shaped)
        for number, (got, block) in enumerate(zip(arrays, blocks, strict=True)):
            try:
                comparison.check_output(output_at(got, expected, signature, number, group, block), tolerance)
            except Refusal as refusal:
                return verdict.rejected(refusal.kind, str(refusal), evidence=refusal.evidence)
            compared += got.size
    sets = [drawn.name for _, drawn in groups]
    return verdict.ok(
        sets=sets, elements=compared, steps=header["steps"], all_steps=header["of"], blocks=header["blocks"]
    )


def values_of(
    packed: bytes,
    expected: comparison.Expected,
    signature: dict[str, Any],
    tolerance: dict[str, float],
    secret: str,
    limits: Limits,
) -> Report:
    """Returns the report on a candidate's jaxpr. An empty jaxpr was rejected before."""
    if not packed:
        return verdict.not_reached()
    groups = known_groups(expected)
    if not groups:
        return verdict.not_done("the reference's values are not finite, so there is nothing to compare with")
    asked = asked_of(signature, secret, packed)
    ending = sandbox.run(lambda: _run(packed, signature, secret, asked, groups), limits)
    if ending.how in ("timeout", "memory"):
        why = f"its values cannot be computed here: the program {ending.reason(limits)}"
        return verdict.not_done(
            f"{why}; make the bench case smaller, raise limits: {{ values: SECONDS }} in the pipeline, "
            "or excuse the step with contract: { excused: [values] } in the spec"
        )
    if ending.how != "answered":
        return verdict.of_ending(ending, limits)
    return judge(ending.answer, asked, expected, signature, tolerance)
