"""The rules by which each operation of JAX is computed at a region of its results, from regions of its operands.

An operation that has no rule here is computed whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from interpreter.regions import Axis, Region, indices_of, of_axis, size_of, take, whole

# Operations that compute each element of their results from the elements at the same place.
_ELEMENTWISE = frozenset(
    """
    abs acos acosh add add_any and asin asinh atan atan2 atanh bitcast_convert_type cbrt ceil clamp clz
    convert_element_type copy copy_p cos cosh digamma div eq erf erf_inv erfc exp exp2 expm1 floor ge gt imag
    integer_pow is_finite le lgamma log log1p logistic lt max min mul ne neg nextafter not optimization_barrier or
    population_count pow real reduce_precision rem round rsqrt select_n shift_left shift_right_arithmetic
    shift_right_logical sign sin sinh sqrt square stop_gradient sub tan tanh xor
    """.split()
)
_REDUCTIONS = frozenset(
    "argmax argmin reduce_and reduce_max reduce_min reduce_or reduce_prod reduce_sum reduce_xor".split()
)


@dataclass(frozen=True)
class Rule:
    """The rule by which an operation is computed at a region of its results.

    `needs` gives each operand's region for the results' regions; None: the operand is not needed. `run` gives the
    results' regions, as arrays, from the operands' regions.
    """

    needs: Callable[[Any, list[Region | None]], list[Region | None]]
    run: Callable[[Any, list[Region | None], list[Any]], Sequence[Any]]


def bound(equation: Any, operands: Sequence[Any], **changed: Any) -> Sequence[Any]:
    """Returns the results of an operation with some of its parameters changed."""
    with equation.ctx.manager:
        params = equation.primitive.get_bind_params({**equation.params, **changed})
        results = equation.primitive.bind(*operands, **params)
    return results if equation.primitive.multiple_results else [results]


def taken(values: Sequence[Any], equation: Any, results: Sequence[Region | None]) -> list[Any]:
    """Cuts the results' regions out of whole results; None: nothing of a result is requested."""
    return [
        None if region is None else take(value, whole(v.aval.shape), region, v.aval.shape)
        for value, region, v in zip(values, results, equation.outvars, strict=True)
    ]


def _only(results: Sequence[Region | None]) -> Region:
    region = results[0]
    assert region is not None
    return region


# Operations that need all of their operands.


def _needs_all(equation: Any, _: list[Region | None]) -> list[Region | None]:
    return [whole(atom.aval.shape) for atom in equation.invars]


def _run_all(equation: Any, results: list[Region | None], operands: list[Any]) -> Sequence[Any]:
    return taken(bound(equation, operands), equation, results)


_WHOLE = Rule(_needs_all, _run_all)


# Operations on elements at the same place.


def _needs_same(equation: Any, results: list[Region | None]) -> list[Region | None]:
    region, shape = next(each for each in results if each is not None), equation.outvars[0].aval.shape
    # Bare numbers, and axes of one element, are needed as a whole for every place.
    return [
        tuple(axis if n == size else None for axis, n, size in zip(region, atom.aval.shape, shape, strict=True))
        if atom.aval.shape
        else ()
        for atom in equation.invars
    ]


def _run_same(equation: Any, _: list[Region | None], operands: list[Any]) -> Sequence[Any]:
    return bound(equation, operands)


# Operations that move, add or cut axes.


def _needs_broadcast(equation: Any, results: list[Region | None]) -> list[Region | None]:
    region, operand = _only(results), equation.invars[0].aval
    axes = equation.params["broadcast_dimensions"]
    shape = equation.outvars[0].aval.shape
    of_operand = tuple(region[axis] if operand.shape[i] == shape[axis] else None for i, axis in enumerate(axes))
    return [of_operand, *([None] * (len(equation.invars) - 1))]


def _run_broadcast(equation: Any, results: list[Region | None], operands: list[Any]) -> Sequence[Any]:
    region = _only(results)
    shape = size_of(region, equation.outvars[0].aval.shape)
    return [jax.lax.broadcast_in_dim(operands[0], shape, equation.params["broadcast_dimensions"])]


def _needs_transpose(equation: Any, results: list[Region | None]) -> list[Region | None]:
    region, permutation = _only(results), equation.params["permutation"]
    return [tuple(region[permutation.index(axis)] for axis in range(len(permutation)))]


def _run_transpose(equation: Any, _: list[Region | None], operands: list[Any]) -> Sequence[Any]:
    return [jax.lax.transpose(operands[0], equation.params["permutation"])]


def _needs_squeeze(equation: Any, results: list[Region | None]) -> list[Region | None]:
    left = iter(_only(results))
    gone = equation.params["dimensions"]
    return [tuple(None if axis in gone else next(left) for axis in range(equation.invars[0].aval.ndim))]


def _run_shaped(equation: Any, results: list[Region | None], operands: list[Any]) -> Sequence[Any]:
    return [jnp.reshape(operands[0], size_of(_only(results), equation.outvars[0].aval.shape))]


def _needs_reversed(equation: Any, results: list[Region | None]) -> list[Region | None]:
    shape, turned = equation.invars[0].aval.shape, equation.params["dimensions"]
    return [
        tuple(
            shape[i] - 1 - axis[::-1] if axis is not None and i in turned else axis
            for i, axis in enumerate(_only(results))
        )
    ]


def _needs_slice(equation: Any, results: list[Region | None]) -> list[Region | None]:
    aval, params = equation.invars[0].aval, equation.params
    strides = params["strides"] or (1,) * aval.ndim
    shape = equation.outvars[0].aval.shape
    parts = zip(_only(results), params["start_indices"], strides, shape, aval.shape, strict=True)
    return [tuple(of_axis(start + stride * indices_of(axis, n), size) for axis, start, stride, n, size in parts)]


def _run_kept(_: Any, __: list[Region | None], operands: list[Any]) -> Sequence[Any]:
    return [operands[0]]


# Reshapes, which join axes, or split them.


def _groups(before: Sequence[int], after: Sequence[int]) -> list[tuple[range, range]]:
    """Returns the axes of two shapes of one array, in the smallest groups that have the same size on both sides."""
    groups, i, j = [], 0, 0
    while i < len(before) or j < len(after):
        first = i, j
        i, j = min(i + 1, len(before)), min(j + 1, len(after))
        while (have := math.prod(before[first[0] : i])) != (want := math.prod(after[first[1] : j])):
            if have < want:
                i += 1
            else:
                j += 1
        groups.append((range(first[0], i), range(first[1], j)))
    return groups


def _flat_indices(region: Region, shape: Sequence[int], axes: range) -> np.ndarray[Any, Any]:
    """Returns the places of a region within some axes, as flat indices, row by row."""
    grids = np.meshgrid(*(indices_of(region[axis], shape[axis]) for axis in axes), indexing="ij")
    if not grids:
        return np.zeros(1, np.int64)
    return np.ravel_multi_index([grid.ravel() for grid in grids], [shape[axis] for axis in axes])


def _needs_reshape(equation: Any, results: list[Region | None]) -> list[Region | None]:
    before, after = equation.invars[0].aval.shape, equation.outvars[0].aval.shape
    if 0 in before or equation.params.get("dimensions") is not None:
        return [whole(before)]
    out: list[Axis] = []
    region = _only(results)
    for old, new in _groups(before, after):
        if all(region[axis] is None for axis in new):
            out += [None] * len(old)
            continue
        flat = _flat_indices(region, after, new)
        places = np.unravel_index(flat, [before[axis] for axis in old]) if len(old) else ()
        out += [of_axis(np.unique(place), before[axis]) for place, axis in zip(places, old, strict=True)]
    return [tuple(out)]


def _run_reshape(equation: Any, results: list[Region | None], operands: list[Any]) -> Sequence[Any]:
    before, after = equation.invars[0].aval.shape, equation.outvars[0].aval.shape
    region = _only(results)
    (within,) = _needs_reshape(equation, results)
    array = operands[0]
    if 0 in before or equation.params.get("dimensions") is not None:
        return _run_all(equation, results, operands)
    assert within is not None
    # The last group comes first, so that the axes before a group keep their places.
    for old, new in reversed(_groups(before, after)):
        have, want = _flat_indices(within, before, old), _flat_indices(region, after, new)
        first = old.start
        lead, tail = array.shape[:first], array.shape[first + len(old) :]
        array = jnp.reshape(array, (*lead, len(have), *tail))
        if not np.array_equal(have, want):
            array = jnp.take(array, np.searchsorted(have, want), axis=first)
        array = jnp.reshape(array, (*lead, *size_of(region[new.start : new.stop], after[new.start : new.stop]), *tail))
    return [array]


# Concatenations: several operands along one axis.


def _needs_concatenate(equation: Any, results: list[Region | None]) -> list[Region | None]:
    region, axis = _only(results), equation.params["dimension"]
    out: list[Region | None] = []
    first = 0
    for atom in equation.invars:
        size = atom.aval.shape[axis]
        wanted = indices_of(region[axis], equation.outvars[0].aval.shape[axis])
        own = wanted[(wanted >= first) & (wanted < first + size)] - first
        out.append((*region[:axis], of_axis(own, size), *region[axis + 1 :]) if len(own) else None)
        first += size
    return out


def _run_concatenate(equation: Any, _: list[Region | None], operands: list[Any]) -> Sequence[Any]:
    some = [operand for operand in operands if operand is not None]
    return [some[0] if len(some) == 1 else jnp.concatenate(some, axis=equation.params["dimension"])]


# Sums, reductions and products.


def _needs_reduction(equation: Any, results: list[Region | None]) -> list[Region | None]:
    region = iter(next(each for each in results if each is not None))
    axes, aval = equation.params["axes"], equation.invars[0].aval
    of_operand = tuple(None if axis in axes else next(region) for axis in range(aval.ndim))
    return [of_operand]


def _needs_dot(equation: Any, results: list[Region | None]) -> list[Region | None]:
    region = _only(results)
    (left_sums, right_sums), (left_batch, right_batch) = equation.params["dimension_numbers"]
    left, right = (atom.aval for atom in equation.invars)
    batch = region[: len(left_batch)]
    free = iter(region[len(left_batch) :])
    out = []
    for aval, sums, same in ((left, left_sums, left_batch), (right, right_sums, right_batch)):
        out.append(
            tuple(
                batch[same.index(axis)] if axis in same else None if axis in sums else next(free)
                for axis in range(aval.ndim)
            )
        )
    return list(out)


def _run_iota(equation: Any, results: list[Region | None], _: list[Any]) -> Sequence[Any]:
    region, params = _only(results), equation.params
    shape, axis = params["shape"], params["dimension"]
    line = jnp.asarray(indices_of(region[axis], shape[axis])).astype(params["dtype"])
    return [jax.lax.broadcast_in_dim(line, size_of(region, shape), (axis,))]


def _needs_along(equation: Any, results: list[Region | None]) -> list[Region | None]:
    """Returns the region for a cumulative operation, which needs all of its axis."""
    region, axis = _only(results), equation.params["axis"]
    return [(*region[:axis], None, *region[axis + 1 :])]


def _run_along(equation: Any, results: list[Region | None], operands: list[Any]) -> Sequence[Any]:
    region, axis = _only(results), equation.params["axis"]
    (value,) = bound(equation, operands)
    if region[axis] is None:
        return [value]
    return [jnp.take(value, region[axis], axis=axis)]


# Gathers that take one row from each of several tables, and the scatters that differentiating them gives.


def _needs_batched(equation: Any, results: list[Region | None]) -> list[Region | None]:
    numbers = equation.params["dimension_numbers"]
    operand, indices = equation.invars[0].aval, equation.invars[1].aval
    region = _only(results)
    if equation.primitive.name == "gather":
        is_window = set(numbers.offset_dims)
        batch = [axis for axis in range(equation.outvars[0].aval.ndim) if axis not in is_window]
        of_indices = tuple(region[axis] for axis in batch)
        of_operand: list[Axis] = [None] * operand.ndim
        for i, j in zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True):
            of_operand[i] = of_indices[j]
        return [tuple(of_operand), (*of_indices, None)]
    held: list[Axis] = [None] * operand.ndim
    of_scatter: list[Axis] = [None] * (indices.ndim - 1)
    for i, j in zip(numbers.operand_batching_dims, numbers.scatter_indices_batching_dims, strict=True):
        held[i] = of_scatter[j] = region[i]
    window = set(numbers.update_window_dims)
    rest = iter(of_scatter)
    updates = tuple(None if axis in window else next(rest) for axis in range(equation.invars[2].aval.ndim))
    return [tuple(held), (*of_scatter, None), updates]


def _run_gather(equation: Any, results: list[Region | None], operands: list[Any]) -> Sequence[Any]:
    numbers, sizes = equation.params["dimension_numbers"], equation.params["slice_sizes"]
    region = _only(results)
    (value,) = bound(equation, operands, slice_sizes=sizes)
    # The windows are still whole.
    shape = equation.outvars[0].aval.shape
    within = tuple(None if axis in numbers.offset_dims else region[axis] for axis in range(len(shape)))
    return [take(value, within, region, shape)]


def _run_scatter(equation: Any, results: list[Region | None], operands: list[Any]) -> Sequence[Any]:
    region, shape = _only(results), equation.outvars[0].aval.shape
    batched = equation.params["dimension_numbers"].operand_batching_dims
    (value,) = bound(equation, operands)
    within = tuple(region[axis] if axis in batched else None for axis in range(len(shape)))
    return [take(value, within, region, shape)]


_SAME = Rule(_needs_same, _run_same)
_RULES: dict[str, Rule] = {
    **dict.fromkeys(_ELEMENTWISE, _SAME),
    **dict.fromkeys(_REDUCTIONS, Rule(_needs_reduction, _run_same)),
    **dict.fromkeys(("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"), Rule(_needs_along, _run_along)),
    "broadcast_in_dim": Rule(_needs_broadcast, _run_broadcast),
    "concatenate": Rule(_needs_concatenate, _run_concatenate),
    "dot_general": Rule(_needs_dot, _run_same),
    "gather": Rule(_needs_batched, _run_gather),
    "iota": Rule(lambda *_: [], _run_iota),
    "reshape": Rule(_needs_reshape, _run_reshape),
    "rev": Rule(_needs_reversed, _run_same),
    **dict.fromkeys(
        ("scatter", "scatter-add", "scatter-max", "scatter-min", "scatter-mul"), Rule(_needs_batched, _run_scatter)
    ),
    "slice": Rule(_needs_slice, _run_kept),
    "squeeze": Rule(_needs_squeeze, _run_shaped),
    "transpose": Rule(_needs_transpose, _run_transpose),
}


def rule_of(equation: Any) -> Rule:
    """Returns the operation's rule."""
    name = equation.primitive.name
    if name in _ELEMENTWISE:
        # A bitcast to a narrower type adds an axis, so it is not elementwise.
        rank = equation.outvars[0].aval.ndim
        return _SAME if all(atom.aval.ndim in (rank, 0) for atom in equation.invars) else _WHOLE
    return _RULES.get(name, _WHOLE)
