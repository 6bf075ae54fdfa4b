"""What a candidate's kernels are given that their control flow can hang on: whole numbers, from the public inputs.

Prefetched tables, the bounds of dynamic grids, scalars. The model of a TPU runs a kernel's schedule with them. Nothing
else is computed: what comes of floating-point inputs, or of a kernel, is not known, and neither is what hangs on it.

The document: {"kernels": {NAME: [{"times": RUNS, "operands": {NUMBER: VALUES}}, …]}}, runs in their order, those that
are alike together; VALUES row by row. A program's only kernel has no name, whatever it is compiled as; of several each
run has "shapes", those of its operands as HLO has them, for by these a compiled kernel is told. `reason`, where there
is one, says why not all are there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jax._src import core

import judge_inputs
import outer
import program
import wire
from outer import UNKNOWN

# No scalar memory holds more, nor others.
_MOST_VALUES = 1 << 18
_TYPES = frozenset({"bool", "int8", "int16", "int32", "uint8", "uint16", "uint32"})
# What HLO calls others is not known here, and told as any.
_HLO_TYPES = {"bfloat16": "bf16", "float32": "f32", "int32": "s32", "uint32": "u32", "int8": "s8", "uint8": "u8"}


def is_asked_for(jaxpr: core.Jaxpr) -> bool:
    """Whether a kernel in it is given whole numbers."""
    for equation in jaxpr.eqns:
        if equation.primitive.name == "pallas_call":
            if any(_is_whole(atom.aval.dtype) for atom in equation.invars):
                return True
        elif any(is_asked_for(inner) for inner in core.jaxprs_in_params(equation.params)):
            return True
    return False


def _is_whole(dtype: Any) -> bool:
    return str(dtype) in _TYPES


def _shape(aval: Any) -> str | None:
    """ "s32[9]"."""
    dtype = _HLO_TYPES.get(str(aval.dtype))
    return dtype and f"{dtype}[{','.join(str(extent) for extent in aval.shape)}]"


def operands_of(packed: bytes, signature: dict[str, Any]) -> dict[str, Any]:
    """The document, of a program on the wire."""
    closed = wire.unpack(packed)
    if not is_asked_for(closed.jaxpr):
        return {"kernels": {}}
    runs: dict[int, list[dict[str, Any]]] = {}  # by the equation
    shapes: dict[int, list[str | None]] = {}

    def note(equation: Any, operands: list[Any]) -> list[Any]:
        given = {
            str(number): np.asarray(operand).reshape(-1).astype(np.int64).tolist()
            for number, operand in enumerate(operands)
            if operand is not UNKNOWN and _is_whole(operand.dtype) and np.size(operand) <= _MOST_VALUES
        }
        shapes[id(equation)] = [_shape(atom.aval) for atom in equation.invars]
        of_kernel = runs.setdefault(id(equation), [])
        if of_kernel and of_kernel[-1]["operands"] == given:
            of_kernel[-1]["times"] += 1
        else:
            of_kernel.append({"times": 1, "operands": given})
        return [UNKNOWN] * len(equation.outvars)

    program.configure_jax()
    whole = judge_inputs.draw_whole(signature)
    inputs = [one if one is not None and _is_whole(one.dtype) else UNKNOWN for one in whole]
    try:
        outer.evaluate(closed, inputs, note)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever is around a candidate's kernels
        return {"kernels": {}, "reason": f"{type(error).__name__}: {error}"}
    if len(runs) == 1:
        return {"kernels": {"": next(iter(runs.values()))}}
    return {
        "kernels": {
            f"kernel_{number}": [{**run, "shapes": shapes[equation]} for run in each]
            for number, (equation, each) in enumerate(runs.items())
        }
    }
