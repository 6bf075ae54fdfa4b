"""How much of its operands a kernel touches: so that one that is only timed does not leave out what the others read.

Of every operand, in the order of its kernel's blocks (inputs, then outputs): the blocks that its index map comes to
over the whole grid, as a share of all that it has.
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

# By kernel and operand. Of operands that one call after another touches in part, the least.
Footprints = dict[str, float]


def footprints(jaxpr: core.Jaxpr) -> Footprints:
    """Of all kernels in a program. What hangs on memory (prefetched scalars, a dynamic grid) is left out."""
    out: Footprints = {}
    for where, mapping in _kernels(jaxpr, ""):
        if not _is_known(mapping):
            continue
        points = [axis.ravel() for axis in np.indices(mapping.grid, dtype=np.int32)]
        for number, block in enumerate(mapping.block_mappings):
            share = _share(block, points)
            if share is not None:
                key = f"{where} {number}"
                out[key] = min(share, out.get(key, 1.0))
    return out


def _kernels(jaxpr: core.Jaxpr, where: str) -> Iterator[tuple[str, Any]]:
    for equation in jaxpr.eqns:
        at = f"{where}/{equation.primitive.name}"
        if equation.primitive.name == "pallas_call":
            yield at, equation.params["grid_mapping"]
            continue
        for inner in core.jaxprs_in_params(equation.params):
            yield from _kernels(inner, at)


def _is_known(mapping: Any) -> bool:
    is_static = mapping.num_index_operands == 0 and all(isinstance(bound, int) for bound in mapping.grid)
    return is_static and math.prod(mapping.grid) <= _MOST_POINTS


def _share(block: Any, points: list[Any]) -> float | None:
    """Of an operand's blocks; None where they are no blocks, or the operand is handed over as a whole."""
    sizes = []
    for size in block.block_shape:
        if not isinstance(size, int | pallas_core.Blocked | pallas_core.Squeezed):
            return None
        sizes.append(size if isinstance(size, int) else getattr(size, "block_size", 1))
    shape = block.array_aval.shape
    blocks = math.prod(math.ceil(length / size) for length, size in zip(shape, sizes, strict=True))
    if blocks == 0 or block.has_trivial_window():
        return None
    touched = set(zip(*(np.broadcast_to(i, points[0].shape).tolist() for i in _indices(block, points)), strict=True))
    return len(touched) / blocks


def _indices(block: Any, points: list[Any]) -> list[Any]:
    """For each axis the indices of the blocks at the points, or one index for all."""
    closed = block.index_map_jaxpr
    if not closed.jaxpr.eqns:
        given = dict(zip(closed.jaxpr.invars, points, strict=True))
        return [v.val if isinstance(v, core.Literal) else given[v] for v in closed.jaxpr.outvars]
    return [np.asarray(index) for index in jax.vmap(core.jaxpr_as_fun(closed))(*points)]
