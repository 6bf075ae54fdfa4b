"""Which of its inputs a kernel writes.

An input's memory is the caller's. A kernel may write to it where it shares that memory with one of its outputs; no
interpreter and no compiler asks what happens elsewhere: a TPU keeps what is written, and a CPU's copy drops it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax._src import core
from jax._src.pallas import core as pallas_core
from jax._src.pallas.mosaic import core as tpu_core
from jax._src.state import types as state_types

# A wait says that it writes what was copied; the copy has done so.
_WAITS = frozenset({"dma_wait"})

# Where an operand is the array itself, and no copy of a part of it.
_WHOLE = (pallas_core.MemorySpace.ANY, tpu_core.MemorySpace.HBM)


class Written(Exception):
    """A kernel writes to memory that is not its own."""


def check_inputs(jaxpr: core.Jaxpr) -> None:
    """Raises Written where a kernel of a program, or an index map of one's block, writes to an input."""
    for equation in jaxpr.eqns:
        if equation.primitive.name == "pallas_call":
            _check_kernel(equation.params)
        else:
            for inner in core.jaxprs_in_params(equation.params):
                check_inputs(inner)


def _check_kernel(kernel: dict[str, Any]) -> None:
    mapping = kernel["grid_mapping"]
    for number, block in enumerate(mapping.block_mappings):
        if any(isinstance(v.aval, state_types.AbstractRef) for v in _written(block.index_map_jaxpr.jaxpr)):
            raise Written(f"the index map of block {number} writes to a prefetched scalar")
    body = kernel["jaxpr"]
    written = _written(body)
    shared = {operand for operand, _ in kernel["input_output_aliases"]}
    for number, reference in enumerate(body.invars[: mapping.num_index_operands + mapping.num_inputs]):
        if number in shared or reference not in written:
            continue
        if number < mapping.num_index_operands:
            what = f"prefetched scalar {number}"
        else:
            at = number - mapping.num_index_operands
            is_block = getattr(reference.aval, "memory_space", None) not in _WHOLE
            what = f"the block of input {at}" if is_block else f"input {at}"
        raise Written(
            f"a kernel writes to {what}, which no output shares its memory with: write to an output or to scratch, "
            "or name the input in input_output_aliases"
        )


def _written(jaxpr: core.Jaxpr) -> set[core.Var]:
    """The references among a jaxpr's inputs that it writes to."""
    written: set[core.Var] = set()
    for equation in jaxpr.eqns:
        inner = list(core.jaxprs_in_params(equation.params))
        if inner:
            for body in inner:
                inside = _written(body)
                given = _given(equation, body)
                written |= {atom for taken, atom in given if taken in inside and isinstance(atom, core.Var)}
        elif equation.primitive.name not in _WAITS:
            written |= set(_written_by(equation))
    return written


def _written_by(equation: core.JaxprEqn) -> list[core.Var]:
    """What an operation writes to, by its effects, which were inferred from what it is."""
    kinds = (state_types.WriteEffect, state_types.AccumEffect)
    found = [effect.input for effect in equation.effects if isinstance(effect, kinds)]
    return [equation.invars[at] if isinstance(at, int) else at for at in found]


def _given(equation: core.JaxprEqn, body: core.Jaxpr) -> Sequence[tuple[core.Var, Any]]:
    """What a body of an operation takes, and what that is outside of it: of a loop and a branch, the last operands."""
    if equation.primitive.name == "run_scoped":
        return list(zip(body.constvars, equation.invars, strict=True))
    params, operands = equation.params, list(equation.invars)
    if equation.primitive.name == "while":
        asked = params["cond_nconsts"]
        carry = operands[asked + params["body_nconsts"] :]
        is_condition = body is params["cond_jaxpr"].jaxpr
        operands = [*operands[:asked], *carry] if is_condition else operands[asked:]
    return list(zip(body.invars, operands[len(operands) - len(body.invars) :], strict=True))
