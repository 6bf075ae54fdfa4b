"""The whole numbers that a candidate's kernels are given, and that their control flow may depend on.

They are prefetched tables, the bounds of dynamic grids, and scalars, for the public inputs. The model of a TPU runs a
kernel's schedule with them. Nothing else is computed. Values that come from floating-point inputs or from a kernel are
not known, and neither are values that depend on them.

The document: {"kernels": {NAME: [{"times": RUNS, "operands": {NUMBER: VALUES}}, …]}}. Runs are in their order, and
equal neighbours are joined. VALUES are row by row. A program's only kernel has an empty name, under whatever name it is
compiled. With several kernels each run has "shapes", those of its operands as HLO writes them, by which a compiled
kernel is recognised. `reason`, if it is present, says why some values are missing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jax._src import core

from judge import judge_inputs, outer
from judge.outer import UNKNOWN
from programs import program, wire

# No scalar memory holds more values, or values of other types.
_MOST_VALUES = 1 << 18
_TYPES = frozenset({"bool", "int8", "int16", "int32", "uint8", "uint16", "uint32"})
# The names of types in HLO. The shape of an array of another type is not given, so it matches any shape.
_HLO_TYPES = {"bfloat16": "bf16", "float32": "f32", "int32": "s32", "uint32": "u32", "int8": "s8", "uint8": "u8"}


def is_asked_for(jaxpr: core.Jaxpr) -> bool:
    """Whether a kernel in a program is given whole numbers."""
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
    """Returns a shape as HLO writes it, as "s32[9]"; None: the type has no name here."""
    dtype = _HLO_TYPES.get(str(aval.dtype))
    return dtype and f"{dtype}[{','.join(str(extent) for extent in aval.shape)}]"


def operands_of(packed: bytes, signature: dict[str, Any]) -> dict[str, Any]:
    """Returns the document for a program on the wire."""
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
