"""The gradients of a large function at some places, without the memory that the whole function takes.

A gradient by a key of attention needs every query, so to compute only some places saves nothing. But gradients that JAX
derives are linear in the outputs' cotangents. So the contribution of each piece of the outputs is computed by itself,
from that piece of the function. A function with a derivative of its own need not be linear, and is not cut
(`has_own_rule`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax._src import core

from interpreter import parts
from interpreter.regions import Axis, Region, take, whole

Function = Callable[..., Any]
Arrays = Sequence[Any]

# Pieces are made smaller until no value takes more bytes than this. All pieces together must not compute many more
# bytes than the whole does, because each piece computes again the values that every piece needs.
_LARGEST = 2**29
_MOST_AGAIN = 1.5
_MOST_PIECES = 64

_JAX = str(Path(jax.__file__).parent)


def has_own_rule(jaxpr: core.Jaxpr) -> bool:
    """Whether a function has, anywhere in it, a derivative of its own. JAX's own rules do not count as such."""
    for equation in jaxpr.eqns:
        if equation.primitive.name in ("custom_jvp_call", "custom_vjp_call"):
            told_in = str(equation.params["call_jaxpr"].jaxpr.debug_info.func_filename or "")
            if not told_in.startswith(_JAX):
                return True
        if any(map(has_own_rule, core.jaxprs_in_params(equation.params))):
            return True
    return False


def gradients_at(
    function: Function,
    arguments: Sequence[Any],
    by: Sequence[int],
    cotangents: Sequence[Any],
    regions: Sequence[Region],
) -> list[Any]:
    """Returns the gradients by the arguments at positions `by`, each at a region.

    REQUIRES: the function has no derivative of its own. Raises NotImplementedError for a function that calls kernels.
    """
    closed = jax.make_jaxpr(function)(*arguments)
    given = (*arguments, *cotangents)

    def traced(count: int, number: int) -> core.ClosedJaxpr:
        return jax.make_jaxpr(_of_piece(closed, by, count, number))(*given)

    count = count_of_pieces(lambda count: parts.sizes(traced(count, 0), regions))
    total: list[Any] = []
    for number in range(count):
        piece = traced(count, number)
        added = jax.jit(lambda *some, piece=piece: parts.evaluate(piece, some, regions))(*given)
        total = [a + b for a, b in zip(total, added, strict=True)] if total else added
    return [one.astype(arguments[position].dtype) for one, position in zip(total, by, strict=True)]


def count_of_pieces(sizes: Callable[[int], tuple[int, int]]) -> int:
    """Returns how many pieces to make. `sizes` (parts.py): those of one piece, for a number of pieces."""
    count = 1
    largest, all_in_one = sizes(1)
    while largest > _LARGEST and count < _MOST_PIECES:
        largest, together = sizes(2 * count)
        if 2 * count * together > _MOST_AGAIN * all_in_one:
            break
        count *= 2
    return count


def _of_piece(closed: core.ClosedJaxpr, by: Sequence[int], count: int, number: int) -> Function:
    """Returns a function for the share of one of `count` pieces of the outputs in the gradients.

    The shares are at least float32.
    """
    shapes = [v.aval.shape for v in closed.jaxpr.outvars]
    regions = [_piece(shape, count, number) for shape in shapes]
    own = len(closed.jaxpr.invars)

    def added(*given: Any) -> list[Any]:
        arguments, cotangents = given[:own], given[own:]

        def of_some(*some: Any) -> list[Any]:
            every = list(arguments)
            for position, value in zip(by, some, strict=True):
                every[position] = value
            return parts.evaluate(closed, every, regions)

        _, pull_back = jax.vjp(of_some, *(arguments[position] for position in by))
        each = zip(cotangents, regions, shapes, strict=True)
        shares = [take(one, whole(shape), region, shape) for one, region, shape in each]
        # Every piece computes an output without axes, and only the first adds its gradients.
        shares = [jax.numpy.zeros_like(one) if number > 0 and one.ndim == 0 else one for one in shares]
        found = pull_back(shares)
        return [one.astype(jax.numpy.promote_types(one.dtype, np.float32)) for one in found]

    return added


def _piece(shape: Sequence[int], count: int, number: int) -> Region:
    """Returns a share of an output's longest axis, the last one aside; an output without axes is in every piece."""
    axes = range(len(shape) - 1) if len(shape) > 1 else range(len(shape))
    axis = max(axes, key=lambda one: shape[one], default=None)
    if axis is None:
        return whole(shape)
    cuts = [shape[axis] * n // count for n in (number, number + 1)]
    indices: Axis = None if count == 1 else np.arange(*cuts)
    return tuple(indices if one == axis else None for one in range(len(shape)))
