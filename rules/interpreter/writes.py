"""The inputs that a kernel writes to.

An input's memory is the caller's. A kernel may write to it if an output shares that memory. Any other write has no
defined result: a TPU keeps it, and a CPU's copy drops it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax._src import core
from jax._src.pallas import core as pallas_core
from jax._src.pallas.mosaic import core as tpu_core
from jax._src.state import types as state_types

from programs import jaxprs

# JAX gives a wait the effect of writing the copied data, but the copy itself has done that write.
_WAITS = frozenset({"dma_wait"})

# Memory spaces in which an operand is the array itself, and not a copy of a part of it.
_WHOLE = (pallas_core.MemorySpace.ANY, tpu_core.MemorySpace.HBM)


class Written(Exception):
    """A kernel writes to memory that is not its own."""


def check_inputs(jaxpr: core.Jaxpr) -> None:
    """Raises Written where a kernel of a program, or an index map of one of its blocks, writes to an input."""
    for equation in jaxprs.kernels_in(jaxpr):
        _check_kernel(equation.params)


def _check_kernel(kernel: dict[str, Any]) -> None:
    mapping = kernel["grid_mapping"]
    for number, block in enumerate(mapping.block_mappings):
        if any(isinstance(v.aval, state_types.AbstractRef) for v in _written(block.index_map_jaxpr.jaxpr)):
            raise Written(f"the index map of block {number} writes to a prefetched scalar")
    body = kernel["jaxpr"]
    written = _written(body)
    # An output may share an input's memory. Even then the input's block is a copy of its own, to which the kernel may
    # not write.
    blocks = [operand for operand, _ in kernel["input_output_aliases"] if _is_block(body.invars[operand])]
    for number in (*guarded(kernel), *blocks):
        if body.invars[number] in written:
            raise Written(_reason(number, body.invars[number], mapping.num_index_operands))


def guarded(kernel: dict[str, Any]) -> list[int]:
    """Returns the numbers of the operands that a kernel may not write to; dynamic bounds of the grid do not count.

    A prefetched scalar is the kernel's own copy, in which many kernels keep values from one step for the next. But if
    an index map reads the scalar, a TPU fetches blocks by the written value, and no interpreter does.
    """
    mapping = kernel["grid_mapping"]
    scalars = mapping.num_index_operands
    shared = {operand for operand, _ in kernel["input_output_aliases"]}
    steering = {
        number
        for block in mapping.block_mappings
        for number, taken in enumerate(block.index_map_jaxpr.jaxpr.invars[len(mapping.grid) :])
        if any(taken in equation.invars for equation in block.index_map_jaxpr.jaxpr.eqns)
    }
    arrays = range(scalars, scalars + mapping.num_inputs)
    return sorted({*steering, *arrays} - shared)


def _is_block(reference: core.Var) -> bool:
    return getattr(reference.aval, "memory_space", None) not in _WHOLE


def written_scalars(kernel: dict[str, Any]) -> list[int]:
    """Returns the numbers of the prefetched scalars that a kernel writes to."""
    body = kernel["jaxpr"]
    written = _written(body)
    return [n for n, v in enumerate(body.invars[: kernel["grid_mapping"].num_index_operands]) if v in written]


def _reason(number: int, reference: core.Var, scalars: int) -> str:
    if number < scalars:
        return f"a kernel writes to prefetched scalar {number}, which an index map reads: keep it as it is given"
    if _is_block(reference):
        return f"a kernel writes to the block of input {number - scalars}: write to an output or to scratch"
    return (
        f"a kernel writes to input {number - scalars}, which no output shares its memory with: write to an output or "
        "to scratch, or name the input in input_output_aliases"
    )


def _written(jaxpr: core.Jaxpr) -> set[core.Var]:
    """Returns the references among a jaxpr's inputs that the jaxpr writes to."""
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
    """Returns the references that an operation writes to, by its effects, which were inferred from its operands."""
    kinds = (state_types.WriteEffect, state_types.AccumEffect)
    found = [effect.input for effect in equation.effects if isinstance(effect, kinds)]
    return [equation.invars[at] if isinstance(at, int) else at for at in found]


def _given(equation: core.JaxprEqn, body: core.Jaxpr) -> Sequence[tuple[core.Var, Any]]:
    """Pairs the inputs of an operation's body with the operands; a loop or a branch passes its last operands."""
    if equation.primitive.name == "run_scoped":
        return list(zip(body.constvars, equation.invars, strict=True))
    params, operands = equation.params, list(equation.invars)
    if equation.primitive.name == "while":
        asked = params["cond_nconsts"]
        carry = operands[asked + params["body_nconsts"] :]
        is_condition = body is params["cond_jaxpr"].jaxpr
        operands = [*operands[:asked], *carry] if is_condition else operands[asked:]
    return list(zip(body.invars, operands[len(operands) - len(body.invars) :], strict=True))
