"""The blocks of its operands that a kernel touches.

The blocks show whether a kernel that is only timed leaves out blocks that checked kernels read. They also show whether
steps that are declared to be in no order write the same block.

The blocks of an operand are those that its index map gives over the whole grid. An array that is handed to a kernel
twice is one operand. A map is not evaluated at all points of the grid, which may be millions. Each of its numbers is
evaluated only at the points of the axes that it depends on.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import core
from jax._src.interpreters import partial_eval
from jax._src.pallas import core as pallas_core

from interpreter.regions import Axis, Region, indices_of, of_axis

# The maximum number of a grid's points, of an operand's blocks, or of cells of blocks, that one array may hold.
_MOST_POINTS = 1 << 24

# Maps "kernel and operand" to the share of the operand's blocks that are touched. Of kernels with the same key, the
# smallest share counts.
Footprints = dict[str, float]
Array = np.ndarray[Any, Any]
Grid = tuple[int, ...]


# The number of buffers of a block in VMEM, if none is given.
_BUFFERS = 2
# The maximum number of points of a grid whose blocks are checked one by one.
_MOST_STEPS = 1 << 22


class Overlap(Exception):
    """Steps of a grid write the same block in no order or not one after another, or a step reads what another wrote."""


class Beyond(Exception):
    """A block lies beyond the end of its array."""


class TooLarge(Exception):
    """The kernel has too many steps to be checked one by one."""


@dataclass(frozen=True)
class _Part:
    """Numbers of an index map that depend on the same axes of the grid; no other numbers depend on these axes."""

    numbers: list[int]
    axes: list[int]
    closed: core.ClosedJaxpr  # from the axes' indices to the numbers

    def at(self, grid: Grid) -> Array:
        """Returns the numbers at each of the axes' points, in the grid's order: a row per point."""
        sizes = [grid[axis] for axis in self.axes]
        points = [axis.ravel() for axis in np.indices(sizes, dtype=np.int32)]
        made = jax.vmap(core.jaxpr_as_fun(self.closed))(*points) if points else core.jaxpr_as_fun(self.closed)()
        return np.stack([np.broadcast_to(np.asarray(one), math.prod(sizes)) for one in made], axis=1)

    def points(self, grid: Grid) -> int:
        """Returns the number of the axes' points."""
        return math.prod(grid[axis] for axis in self.axes)


def footprints(jaxpr: core.Jaxpr) -> Footprints:
    """Returns the footprints of a program's kernels, except where they depend on memory (scalars, a dynamic grid)."""
    out: Footprints = {}
    for where, equation, _ in _kernels(jaxpr, ""):
        mapping = equation.params["grid_mapping"]
        if not _is_static(mapping):
            continue
        # The prefetched scalars come first: a static grid has no bounds among the operands.
        operands = [*equation.invars[mapping.num_index_operands :], *equation.outvars]
        for number, operand in enumerate(operands):
            blocks = [b for o, b in zip(operands, mapping.block_mappings, strict=False) if o is operand]
            share = _share(blocks, mapping.grid)
            if share is not None:
                key = f"{where} {number}"
                out[key] = min(share, out.get(key, 1.0))
    return out


def reads_what_it_wrote(jaxpr: core.Jaxpr) -> bool:
    """Whether a kernel is seen to read, in blocks and through an alias, values that an earlier step has written."""
    return any(_reads_what_it_wrote(equation.params) for _, equation, _ in _kernels(jaxpr, ""))


def _reads_what_it_wrote(kernel: dict[str, Any]) -> bool:
    mapping = kernel["grid_mapping"]
    if not kernel["input_output_aliases"] or not _is_static(mapping) or mapping.num_index_operands:
        return False
    try:
        blocks = Blocks(kernel, tuple(mapping.grid), [])
        blocks.check_order([False] * mapping.num_outputs)
    except TooLarge:
        return False
    except Overlap:
        return True
    return blocks.reads_what_it_wrote


def parallel_axes(kernel: dict[str, Any]) -> list[int]:
    """Returns the axes of a kernel's grid that are in no order: its parallel axes, and the axes of vmap."""
    mapping = kernel["grid_mapping"]
    said = iter(getattr(kernel["compiler_params"], "dimension_semantics", None) or ())
    kinds = ["parallel" if axis in mapping.vmapped_dims else next(said, None) for axis in range(len(mapping.grid))]
    return [axis for axis, kind in enumerate(kinds) if getattr(kind, "value", kind) in ("parallel", "core_parallel")]


def grid_of(mapping: Any, bounds: Sequence[Any]) -> Grid:
    """Returns a kernel's grid; `bounds`: the bounds that are known only at run time."""
    dynamic = iter(bounds)
    return tuple(bound if isinstance(bound, int) else int(next(dynamic)) for bound in mapping.grid)


class Blocks:
    """The places of the blocks of a kernel's operands, step by step, whatever they depend on.

    `points`: [steps, axes of the grid], in the grid's order. `reads_what_it_wrote`: `check_order` sets it if a step
    reads through an alias a block that an earlier step has written. Raises TooLarge.
    """

    def __init__(self, kernel: dict[str, Any], grid: Grid, scalars: list[Any]) -> None:
        total = int(np.prod(grid, dtype=np.int64))
        if total > _MOST_STEPS:
            raise TooLarge(f"a kernel with {total} steps")
        indices = np.indices(grid, dtype=np.int32).reshape(len(grid), total) if grid else np.zeros((0, 1), np.int32)
        self.points: Array = indices.T
        self.reads_what_it_wrote = False
        self._kernel, self._mapping = kernel, kernel["grid_mapping"]
        self._scalars = scalars
        self._found: dict[int, Array] = {}

    def check_ends(self) -> None:
        """Raises Beyond where a block begins outside of its array."""
        count = self._mapping.num_inputs
        for number, block in enumerate(self._mapping.block_mappings):
            if not block.has_trivial_window():
                self._check_ends(block, f"output {number - count}" if number >= count else f"input {number}")

    def check_order(self, is_used: Sequence[bool]) -> None:
        """Raises Overlap if blocks are written or read in a wrong order; `is_used`: whether each output is read."""
        count = self._mapping.num_inputs
        for number, (block, used) in enumerate(zip(self._mapping.block_mappings[count:], is_used, strict=True)):
            if used and not block.has_trivial_window():
                self._check_written(block, f"output {number}")
        for operand, output in self._kernel["input_output_aliases"]:
            read = self._mapping.block_mappings[operand - self._mapping.num_index_operands]
            written = self._mapping.block_mappings[count + output]
            if not read.has_trivial_window() and not written.has_trivial_window():
                self._check_read(read, written, f"output {output}")
            elif not read.has_trivial_window() and len(self.points) > 1:
                raise Overlap(
                    f"a kernel reads blocks of the memory of output {output}, to which it copies by itself: a block "
                    "may have been fetched before; read it by copies, too"
                )

    def _check_ends(self, block: Any, called: str) -> None:
        if any(getattr(size, "padding", (0, 0)) != (0, 0) for size in block.block_shape):
            return
        starts = self._starts(block)
        beyond = ((starts < 0) | (starts >= np.asarray(block.array_aval.shape))).any(axis=1)
        if beyond.any():
            step = int(np.argmax(beyond))
            shape = list(block.array_aval.shape)
            raise Beyond(
                f"a block of {called} begins at {starts[step].tolist()}, beyond the array's shape {shape}, "
                f"at step {self.points[step].tolist()} of the grid"
            )

    def _check_written(self, block: Any, called: str) -> None:
        """Checks that each block is written without a break, by one core, and overlaps no other block."""
        at = self._starts(block).astype(np.int64)
        spans = at.max(axis=0) - at.min(axis=0) + 1
        numbers = (at - at.min(axis=0)) @ _strides(spans)
        _, first, of_step = np.unique(numbers, return_index=True, return_inverse=True)
        starts = at[first]
        turns = of_step[np.flatnonzero(np.diff(of_step, prepend=-1))]
        again = np.flatnonzero(np.bincount(turns) > 1)
        if again.size:
            raise Overlap(
                f"the block of {called} at {starts[again[0]].tolist()} is left and written again: "
                "its steps must follow one another"
            )
        for axis in parallel_axes(self._kernel):
            # If each index has a core of its own, a block that is written at two indices is written by two cores.
            pairs = np.unique(of_step.astype(np.int64) * (1 << 31) + self.points[:, axis])
            shared = np.flatnonzero(np.bincount(pairs >> 31) > 1)
            if shared.size:
                where = starts[shared[0]].tolist()
                raise Overlap(f"steps that differ in the parallel axis {axis} write the block of {called} at {where}")
        cells, _ = _cells(starts, block, _grain(starts, block))
        if len(np.unique(cells)) != cells.size:
            raise Overlap(f"two blocks of {called} overlap")

    def _check_read(self, read: Any, written: Any, called: str) -> None:
        """Checks that no read through an alias may get an old copy of a block that an earlier step has written.

        Two facts hold for any pipeline: a block is not fetched before a buffer is free, and a buffer is not reused
        before its old content is copied back. So with n buffers, a block is fetched at the earliest in the first step
        after the block of n fetches before was used. A written block is sure to be in the array once the output has
        gone on to n other blocks.
        """
        ours, theirs = self._starts(read), self._starts(written)
        grain = np.gcd(_grain(ours, read), _grain(theirs, written))
        fetched = np.flatnonzero(np.any(np.diff(ours, axis=0, prepend=ours[:1] - 1), axis=1))
        begun = np.flatnonzero(np.any(np.diff(theirs, axis=0, prepend=theirs[:1] - 1), axis=1))
        before, of_written = _cells(theirs[begun], written, grain)
        order = np.argsort(before, kind="stable")
        known, first = np.unique(before[order], return_index=True)
        first_turn = of_written[order][first]
        wanted, of_read = _cells(ours[fetched], read, grain)
        at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        is_later = (known[at] == wanted) & (begun[first_turn[at]] < fetched[of_read])
        self.reads_what_it_wrote |= bool(is_later.any())
        # For each fetched block, the first step in which it may be fetched. For each written block, the first step in
        # which it is sure to be in the array.
        earliest = np.concatenate([np.full(_buffers(read) - 1, -1), fetched])[: len(fetched)]
        arrived = np.concatenate([begun, np.full(_buffers(written), len(self.points))])[_buffers(written) :]
        late = is_later & (earliest[of_read] <= arrived[first_turn[at]])
        if any(len(np.unique(self.points[:, axis])) > 1 for axis in parallel_axes(self._kernel)):
            late = is_later
        if late.any():
            step = int(fetched[of_read[np.argmax(late)]])
            raise Overlap(
                f"step {self.points[step].tolist()} of the grid reads what an earlier step has written to {called}, "
                "with which it shares its memory: the block may have been fetched before. This is safe only where "
                f"no axis is parallel, {called} has moved on by {_buffers(written)} blocks, and then "
                f"the input by {_buffers(read)}; or read it by copies"
            )

    def touching(self, block: Any, region: Region) -> Array:
        """Returns, for each step, whether its block has an element of a region of the array."""
        found = np.ones(len(self.points), bool)
        sizes = pallas_core._get_block_shape(block.block_shape)
        starts = self._starts(block)
        for axis, (wanted, size, length) in enumerate(zip(region, sizes, block.array_aval.shape, strict=True)):
            indices = indices_of(wanted, length)
            first = np.searchsorted(indices, starts[:, axis])
            found &= (first < len(indices)) & (indices[np.minimum(first, len(indices) - 1)] < starts[:, axis] + size)
        return found

    def region(self, block: Any, points: Array) -> Region:
        """Returns the region of an array that some steps read."""
        sizes = pallas_core._get_block_shape(block.block_shape)
        shape = block.array_aval.shape
        rows = np.ravel_multi_index(tuple(points.T), tuple(self.points.max(axis=0) + 1)) if points.shape[1] else [0]
        starts = self._starts(block)[rows]
        out: list[Axis] = []
        for axis, (size, length) in enumerate(zip(sizes, shape, strict=True)):
            firsts = np.unique(starts[:, axis])
            indices = np.unique(firsts[:, None] + np.arange(size)[None, :])
            indices = indices[(indices >= 0) & (indices < length)]
            out.append(of_axis(indices, length))
        return tuple(out)

    def _starts(self, block: Any) -> Array:
        """Returns the first element of each step's block: [steps, axes]."""
        if id(block) not in self._found:

            def start(point: Any) -> Any:
                indices = block.compute_start_indices_interpret(tuple(point), *self._scalars)
                return jnp.stack([jnp.asarray(one, jnp.int32) for one in indices])

            self._found[id(block)] = np.asarray(jax.jit(jax.vmap(start))(self.points))
        return self._found[id(block)]


def _buffers(block: Any) -> int:
    """Returns how many blocks of an operand are in VMEM."""
    return getattr(block.pipeline_mode, "buffer_count", None) or _BUFFERS


def _strides(lengths: Array) -> Array:
    """Returns the strides of an array of this shape, in elements."""
    return np.cumprod([1, *lengths[::-1][:-1]])[::-1]


def _grain(starts: Array, block: Any) -> Array:
    """Returns the largest cells, along each axis, that all blocks are made of."""
    sizes = np.asarray(pallas_core._get_block_shape(block.block_shape), np.int64)
    return np.gcd(sizes, np.gcd.reduce(starts.astype(np.int64), axis=0))


def _cells(starts: Array, block: Any, grain: Array) -> tuple[Array, Array]:
    """Returns the numbers of the cells of all blocks, and the block of each cell. Raises TooLarge."""
    sizes = np.asarray(pallas_core._get_block_shape(block.block_shape), np.int64) // grain
    if len(starts) * math.prod(sizes.tolist()) > _MOST_POINTS:
        raise TooLarge("a kernel whose blocks may overlap, in too many ways")
    lengths = np.asarray(block.array_aval.shape, np.int64) // grain + sizes + 1
    strides = _strides(lengths)
    within = np.indices(sizes.tolist(), dtype=np.int64).reshape(len(sizes), -1).T @ strides
    numbers = (starts.astype(np.int64) // grain) @ strides
    return (numbers[:, None] + within[None, :]).reshape(-1), np.repeat(np.arange(len(starts)), len(within))


def check_order(jaxpr: core.Jaxpr) -> None:
    """Raises Overlap where a block of an output is left and written again, or written at points that are in no order.

    Points that differ in a parallel dimension are in no order. A block that is left goes back to HBM, and is not
    fetched again. An output that nobody reads is only working memory.
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
    """The order in which an output's blocks are written."""

    def __init__(self, parts: list[_Part], grid: Grid) -> None:
        if any(part.points(grid) > _MOST_POINTS for part in parts):
            raise Overlap(
                "the order in which an output's blocks are written is not known: the index map has too many points"
            )
        self._parts, self._grid = parts, grid
        self._at = [part.at(grid) for part in parts]
        # For each point of a part, a number for the map's value at the point: equal values have equal numbers.
        self._which = [np.unique(at, axis=0, return_inverse=True)[1].reshape(-1) for at in self._at]
        self._used = {axis for part in parts for axis in part.axes if grid[axis] > 1}

    def check(self, parallel: list[int]) -> None:
        """Raises Overlap where a block is left and written again, or written by parallel steps."""
        self._check_parallel(parallel)
        # If the map does not use an axis, two turns along it show as much as all turns. If the axis is inside of all
        # used axes, one turn is enough.
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
            raise Overlap("the order in which an output's blocks are written is not known: the grid is too large")
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
        """Returns the number of the block at each point of a grid, in the grid's order."""
        order = np.zeros(turns, np.int64)
        for part, which in zip(self._parts, self._which, strict=True):
            shape = [turns[axis] if axis in part.axes else 1 for axis in range(len(turns))]
            order = order * (int(which.max()) + 1) + which.reshape(shape)
        return order.ravel()

    def _left(self, point: Any) -> Overlap:
        return Overlap(
            f"block {self._block(point)} of an output is left and written again: its steps must follow one another"
        )

    def _block(self, point: Any) -> tuple[int, ...]:
        """Returns the block at a point of the grid."""
        numbers: dict[int, int] = {}
        for part, at in zip(self._parts, self._at, strict=True):
            row = 0
            for axis in part.axes:
                row = row * self._grid[axis] + int(point[axis])
            numbers |= zip(part.numbers, at[row].tolist(), strict=True)
        return tuple(numbers[number] for number in sorted(numbers))


def used_in(jaxpr: core.Jaxpr) -> set[core.Var]:
    """Returns the values that an output or an effect depends on."""
    used = {atom for atom in jaxpr.outvars if isinstance(atom, core.Var)}
    for equation in reversed(jaxpr.eqns):
        if equation.effects or any(var in used for var in equation.outvars):
            used |= {atom for atom in equation.invars if isinstance(atom, core.Var)}
    return used


def _share(blocks: list[Any], grid: Grid) -> float | None:
    """Returns the share of an operand that is touched in these blocks; None: not known."""
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
    """Returns, for each part of an index map, which of the operand's blocks it touches; None: not known."""
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
    """Yields each kernel with its place in the program, and all values there that are used."""
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
    """Returns how many blocks an operand has, by axis; None: it is not cut into blocks."""
    sizes = []
    for size in block.block_shape:
        if not isinstance(size, int | pallas_core.Blocked | pallas_core.Squeezed):
            return None
        sizes.append(size if isinstance(size, int) else getattr(size, "block_size", 1))
    counts = [math.ceil(length / size) for length, size in zip(block.array_aval.shape, sizes, strict=True)]
    return None if 0 in counts else counts


def _parts(block: Any, grid: Grid) -> list[_Part] | None:
    """Splits an index map into parts whose numbers depend on different axes; None: a number depends on memory."""
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
