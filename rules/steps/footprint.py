"""Which blocks of its operands a kernel touches.

So that one that is only timed does not leave out what others read, and that steps which are said to be in no order do
not write the same.

The blocks of an operand are those that its index map comes to over the whole grid. An array that is handed to a kernel
twice is one operand. A map is not followed over the points of the grid, of which there are millions, but over those of
the axes that each of its numbers depends on.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax._src import core
from jax._src.interpreters import partial_eval
from jax._src.pallas import core as pallas_core

# Points of some of a grid's axes, or blocks of an operand, that are gone through together.
_MOST_POINTS = 1 << 24

# By kernel and operand, the share of the operand's blocks that are touched; of kernels in one place, the least.
Footprints = dict[str, float]
Array = np.ndarray[Any, Any]
Grid = tuple[int, ...]


class Overlap(Exception):
    """Steps of a grid write the same block, and are in no order, or not one after another."""


@dataclass(frozen=True)
class _Part:
    """Some of an index map's numbers, and the axes of the grid that no others depend on."""

    numbers: list[int]
    axes: list[int]
    closed: core.ClosedJaxpr  # gives the numbers, of the axes

    def at(self, grid: Grid) -> Array:
        """The numbers at each of the axes' points, in the grid's order: a row a point."""
        sizes = [grid[axis] for axis in self.axes]
        points = [axis.ravel() for axis in np.indices(sizes, dtype=np.int32)]
        made = jax.vmap(core.jaxpr_as_fun(self.closed))(*points) if points else core.jaxpr_as_fun(self.closed)()
        return np.stack([np.broadcast_to(np.asarray(one), math.prod(sizes)) for one in made], axis=1)

    def points(self, grid: Grid) -> int:
        """How many those are."""
        return math.prod(grid[axis] for axis in self.axes)


def footprints(jaxpr: core.Jaxpr) -> Footprints:
    """Of all kernels in a program. What depends on memory (prefetched scalars, a dynamic grid) is left out."""
    out: Footprints = {}
    for where, equation, _ in _kernels(jaxpr, ""):
        mapping = equation.params["grid_mapping"]
        if not _is_static(mapping):
            continue
        # Dynamic bounds are missing; prefetched scalars come first.
        operands = [*equation.invars[mapping.num_index_operands :], *equation.outvars]
        for number, operand in enumerate(operands):
            blocks = [b for o, b in zip(operands, mapping.block_mappings, strict=False) if o is operand]
            share = _share(blocks, mapping.grid)
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
    An output that nobody reads is memory to work in.
    """
    for _, equation, used in _kernels(jaxpr, ""):
        mapping = equation.params["grid_mapping"]
        if not mapping.grid or not _is_static(mapping):
            continue
        parallel = [axis for axis in parallel_axes(equation.params) if mapping.grid[axis] > 1]
        for block, output in zip(mapping.block_mappings[mapping.num_inputs :], equation.outvars, strict=True):
            if output not in used or block.has_trivial_window() or _counts(block) is None:
                continue
            parts = _parts(block, mapping.grid)
            if parts is not None:
                _Writes(parts, mapping.grid).check(parallel)


class _Writes:
    """When an output's blocks are written."""

    def __init__(self, parts: list[_Part], grid: Grid) -> None:
        if any(part.points(grid) > _MOST_POINTS for part in parts):
            raise Overlap("which block of an output is written when is not to be seen: its index map is too long")
        self._parts, self._grid = parts, grid
        self._at = [part.at(grid) for part in parts]
        # Of each part's points, the number of what it gives there.
        self._which = [np.unique(at, axis=0, return_inverse=True)[1].reshape(-1) for at in self._at]
        self._used = {axis for part in parts for axis in part.axes if grid[axis] > 1}

    def check(self, parallel: list[int]) -> None:
        """Raises Overlap."""
        self._check_parallel(parallel)
        # Two turns of an axis that the map does not use say what more would; within a block's turn they say nothing.
        inner = max(self._used, default=-1)
        turns = tuple(
            size if axis in self._used else min(size, 2 if axis < inner else 1) for axis, size in enumerate(self._grid)
        )
        repeated = [axis for axis, size in enumerate(turns) if size > 1 and axis not in self._used]
        if all(len(np.unique(which)) == len(which) for which in self._which):
            if repeated:
                raise self._left((0,) * len(turns))
            return
        if math.prod(turns) > _MOST_POINTS:
            raise Overlap("which block of an output is written when is not to be seen: its grid is too large")
        order = self._order(turns)
        starts = np.flatnonzero(np.diff(order, prepend=-1))
        _, first = np.unique(order[starts], return_index=True)
        if len(first) < len(starts):
            again = np.setdiff1d(np.arange(len(starts)), first)[0]
            raise self._left(np.unravel_index(starts[again], turns))

    def _check_parallel(self, parallel: list[int]) -> None:
        message = "of an output is written by steps that are said to be parallel"
        if any(axis not in self._used for axis in parallel):
            raise Overlap(f"block {self._block((0,) * len(self._grid))} {message}")
        for part, which in zip(self._parts, self._which, strict=True):
            axes = [axis for axis in part.axes if axis in parallel]
            if not axes:
                continue
            sizes = tuple(self._grid[axis] for axis in part.axes)
            kept = np.unravel_index(np.arange(len(which)), sizes)
            place = np.zeros(len(which), np.int64)
            for axis in axes:
                place = place * self._grid[axis] + kept[part.axes.index(axis)]
            _, first = np.unique(which, return_index=True)
            other = np.flatnonzero(place != place[first][which])
            if other.size:
                at = dict(zip(part.axes, np.unravel_index(other[0], sizes), strict=True))
                raise Overlap(f"block {self._block([at.get(axis, 0) for axis in range(len(self._grid))])} {message}")

    def _order(self, turns: Grid) -> Array:
        """The number of the block at each point of a grid, in its order."""
        order = np.zeros(turns, np.int64)
        for part, which in zip(self._parts, self._which, strict=True):
            shape = [turns[axis] if axis in part.axes else 1 for axis in range(len(turns))]
            order = order * (int(which.max()) + 1) + which.reshape(shape)
        return order.ravel()

    def _left(self, point: Any) -> Overlap:
        return Overlap(f"block {self._block(point)} of an output is left and come back to")

    def _block(self, point: Any) -> tuple[int, ...]:
        """The block at a point of the grid."""
        numbers: dict[int, int] = {}
        for part, at in zip(self._parts, self._at, strict=True):
            row = 0
            for axis in part.axes:
                row = row * self._grid[axis] + int(point[axis])
            numbers |= zip(part.numbers, at[row].tolist(), strict=True)
        return tuple(numbers[number] for number in sorted(numbers))


def used_in(jaxpr: core.Jaxpr) -> set[core.Var]:
    """The values of which something comes."""
    used = {atom for atom in jaxpr.outvars if isinstance(atom, core.Var)}
    for equation in reversed(jaxpr.eqns):
        if equation.effects or any(var in used for var in equation.outvars):
            used |= {atom for atom in equation.invars if isinstance(atom, core.Var)}
    return used


def _share(blocks: list[Any], grid: Grid) -> float | None:
    """Of an operand that is given in these blocks; None: not to be seen."""
    if not blocks or any(block.has_trivial_window() for block in blocks):
        return 1.0 if blocks else None
    counts = _counts(blocks[0])
    if counts is None or any(_counts(block) != counts for block in blocks):
        return None
    touched = [_touched(block, counts, grid) for block in blocks]
    known = [masks for masks in touched if masks is not None]
    if len(known) < len(touched):
        return None
    if len(known) == 1:
        return math.prod(float(mask.mean()) for mask in known[0])
    if math.prod(counts) > _MOST_POINTS:
        return None
    return float(functools.reduce(np.logical_or, (functools.reduce(np.logical_and, masks) for masks in known)).mean())


def _touched(block: Any, counts: list[int], grid: Grid) -> list[Array] | None:
    """For each part of its index map, which of the operand's blocks that comes to; None: not to be seen."""
    parts = _parts(block, grid)
    if parts is None:
        return None
    masks = []
    for part in parts:
        sizes = [counts[number] for number in part.numbers]
        if max(part.points(grid), math.prod(sizes)) > _MOST_POINTS:
            return None
        at = part.at(grid)
        mask = np.zeros(sizes, bool)
        mask[tuple(at[((at >= 0) & (at < sizes)).all(axis=1)].T)] = True
        masks.append(mask.reshape([size if number in part.numbers else 1 for number, size in enumerate(counts)]))
    return masks


def _kernels(jaxpr: core.Jaxpr, where: str) -> Iterator[tuple[str, Any, set[Any]]]:
    """Each with where it stands, and all values there that are used."""
    used = used_in(jaxpr)
    for equation in jaxpr.eqns:
        at = f"{where}/{equation.primitive.name}"
        if equation.primitive.name == "pallas_call":
            yield at, equation, used
            continue
        for inner in core.jaxprs_in_params(equation.params):
            yield from _kernels(inner, at)


def _is_static(mapping: Any) -> bool:
    return all(isinstance(bound, int) and bound > 0 for bound in mapping.grid)


def _counts(block: Any) -> list[int] | None:
    """How many blocks an operand has, by axis; None where its parts are no blocks."""
    sizes = []
    for size in block.block_shape:
        if not isinstance(size, int | pallas_core.Blocked | pallas_core.Squeezed):
            return None
        sizes.append(size if isinstance(size, int) else getattr(size, "block_size", 1))
    counts = [math.ceil(length / size) for length, size in zip(block.array_aval.shape, sizes, strict=True)]
    return None if 0 in counts else counts


def _parts(block: Any, grid: Grid) -> list[_Part] | None:
    """An index map, taken apart where its numbers depend on different axes; None where one depends on memory."""
    closed = block.index_map_jaxpr
    count = len(closed.jaxpr.outvars)
    together: list[tuple[set[int], set[int]]] = []  # numbers and axes
    for number in range(count):
        _, used = partial_eval.dce_jaxpr(closed.jaxpr, [other == number for other in range(count)])
        numbers, axes = {number}, {position for position, is_used in enumerate(used) if is_used}
        if any(axis >= len(grid) for axis in axes):
            return None
        for one in [one for one in together if one[1] & axes]:
            together.remove(one)
            numbers, axes = numbers | one[0], axes | one[1]
        together.append((numbers, axes))
    return [_part(closed, numbers, axes) for numbers, axes in together]


def _part(closed: core.ClosedJaxpr, numbers: set[int], axes: set[int]) -> _Part:
    jaxpr, _ = partial_eval.dce_jaxpr(
        closed.jaxpr,
        [number in numbers for number in range(len(closed.jaxpr.outvars))],
        [position in axes for position in range(len(closed.jaxpr.invars))],
    )
    return _Part(sorted(numbers), sorted(axes), core.ClosedJaxpr(jaxpr, closed.consts))
