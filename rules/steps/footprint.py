"""Which blocks of its operands a kernel touches.

So that one that is only timed does not leave out what others read, and that steps which are said to be in no order do
not write the same.

Of every operand, the blocks that its index map comes to over the whole grid. An array that is handed to a kernel
twice is one operand.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
from jax._src import core
from jax._src.pallas import core as pallas_core

# Points of a grid that are gone through; of what a larger one touches nothing is known.
_MOST_POINTS = 1 << 20

# By kernel and operand, the share of the operand's blocks that are touched; of kernels in one place, the least.
Footprints = dict[str, float]
Indices = list[tuple[int, ...]]


class Overlap(Exception):
    """Steps of a grid write the same block, and are in no order, or not one after another."""


def footprints(jaxpr: core.Jaxpr) -> Footprints:
    """Of all kernels in a program. What hangs on memory (prefetched scalars, a dynamic grid) is left out."""
    out: Footprints = {}
    for where, equation in _kernels(jaxpr, ""):
        mapping = equation.params["grid_mapping"]
        if not _is_known(mapping):
            continue
        points = _points(mapping)
        # Dynamic bounds and prefetched scalars, which come first, there are none of.
        operands = [*equation.invars, *equation.outvars]
        for number, operand in enumerate(operands):
            blocks = [b for o, b in zip(operands, mapping.block_mappings, strict=False) if o is operand]
            share = _share(blocks, points)
            if share is not None:
                key = f"{where} {number}"
                out[key] = min(share, out.get(key, 1.0))
    return out


def parallel_axes(kernel: dict[str, Any]) -> list[int]:
    """The axes of a kernel's grid that are in no order, by its parameters: what vmap adds is none of the user's."""
    mapping = kernel["grid_mapping"]
    said = iter(getattr(kernel["compiler_params"], "dimension_semantics", None) or ())
    kinds = ["parallel" if axis in mapping.vmapped_dims else next(said, None) for axis in range(len(mapping.grid))]
    return [axis for axis, kind in enumerate(kinds) if getattr(kind, "value", kind) in ("parallel", "core_parallel")]


def check_order(jaxpr: core.Jaxpr) -> None:
    """Raises Overlap where an output's block is left and come back to, or written at points that are in no order.

    In no order are points that differ in a parallel dimension. What is left goes back to HBM, and is not fetched again.
    """
    for _, equation in _kernels(jaxpr, ""):
        mapping = equation.params["grid_mapping"]
        if not mapping.grid or not _is_known(mapping):
            continue
        points = _points(mapping)
        parallel = parallel_axes(equation.params)
        places = list(zip(*(points[axis].tolist() for axis in parallel), strict=True)) or [()] * math.prod(mapping.grid)
        for block in mapping.block_mappings[mapping.num_inputs :]:
            if block.has_trivial_window() or _counts(block) is None:
                continue
            first: dict[tuple[int, ...], tuple[int, ...]] = {}
            last = None
            for at, place in zip(_indices(block, points), places, strict=True):
                if first.get(at, place) != place:
                    raise Overlap(f"block {at} of an output is written by steps that are said to be parallel")
                if at in first and at != last:
                    raise Overlap(f"block {at} of an output is left and come back to")
                first[at], last = place, at


def _share(blocks: list[Any], points: list[Any]) -> float | None:
    """Of an operand that is given in these blocks; None: not to be seen."""
    if not blocks or any(block.has_trivial_window() for block in blocks):
        return 1.0 if blocks else None
    counts = _counts(blocks[0])
    if counts is None or any(_counts(block) != counts for block in blocks):
        return None
    touched = {at for block in blocks for at in _indices(block, points)}
    inside = [at for at in touched if all(0 <= i < n for i, n in zip(at, counts, strict=True))]
    return len(inside) / math.prod(counts)


def _kernels(jaxpr: core.Jaxpr, where: str) -> Iterator[tuple[str, Any]]:
    for equation in jaxpr.eqns:
        at = f"{where}/{equation.primitive.name}"
        if equation.primitive.name == "pallas_call":
            yield at, equation
            continue
        for inner in core.jaxprs_in_params(equation.params):
            yield from _kernels(inner, at)


def _is_known(mapping: Any) -> bool:
    is_static = mapping.num_index_operands == 0 and all(isinstance(bound, int) for bound in mapping.grid)
    return is_static and math.prod(mapping.grid) <= _MOST_POINTS


def _points(mapping: Any) -> list[Any]:
    """The grid's points, in its order: of each axis an array."""
    return [axis.ravel() for axis in np.indices(mapping.grid, dtype=np.int32)]


def _counts(block: Any) -> list[int] | None:
    """How many blocks an operand has, by axis; None where its parts are no blocks."""
    sizes = []
    for size in block.block_shape:
        if not isinstance(size, int | pallas_core.Blocked | pallas_core.Squeezed):
            return None
        sizes.append(size if isinstance(size, int) else getattr(size, "block_size", 1))
    counts = [math.ceil(length / size) for length, size in zip(block.array_aval.shape, sizes, strict=True)]
    return None if 0 in counts else counts


def _indices(block: Any, points: list[Any]) -> Indices:
    """The block at each point."""
    closed = block.index_map_jaxpr
    if closed.jaxpr.eqns:
        found = [np.asarray(index) for index in jax.vmap(core.jaxpr_as_fun(closed))(*points)]
    else:
        given = dict(zip(closed.jaxpr.invars, points, strict=True))
        found = [v.val if isinstance(v, core.Literal) else given[v] for v in closed.jaxpr.outvars]
    return list(zip(*(np.broadcast_to(index, points[0].shape).tolist() for index in found), strict=True))
