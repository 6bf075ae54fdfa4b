"""The blocks that a first kernel cuts a task into.

A kernel cuts along the dimensions for which each part of the outputs needs only its own part of the inputs. A trial on
the CPU finds these dimensions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.extend
import numpy as np

from init.dimensions import Axis, Shape, Task, Tensor, shapes_given, size_of, structs

# The maximum number of bytes of VMEM for the seed's blocks, and for the blocks of any variant. The rest of VMEM is for
# the arrays that the function makes.
SEED_BYTES = 12 * 2**20
MOST_BYTES = 32 * 2**20
# Blocks are double-buffered, as in Pallas. If the seed's blocks do not fit in this way, its inputs are not
# double-buffered.
BUFFERS = 2
# The bytes of VMEM that a kernel may use, of the 64 MiB that a TPU v7x has (kernel.py's template).
VMEM_BYTES = 56 * 2**20
# Sizes at which a dimension is tried on the CPU: for a dimension in the last two axes of an array, and for other
# dimensions. The second pair has ragged sizes.
_SMALL, _FEW = 512, 4
_RAGGED, _FEW_RAGGED = 392, 3
# The largest size is halved until no array has more elements than the first number. Sizes up to the second stay.
_MOST_ELEMENTS, _LEAST_HALVED = 1 << 18, 128
_BLOCKS = {"lanes": (128, 256, 512, 1024, 2048), "rows": (8, 16, 32, 64, 128, 256, 512, 1024), "outer": (1, 2, 4, 8)}
_SEED = {"lanes": 256, "rows": 256, "outer": 1}
# Values that differ by no more than this share of the outputs' root mean square differ only by rounding.
_ALIKE = 2e-2
# Factors of the inputs, tried one after another, until a function's values are finite.
_SCALES = (1.0, 1 / 16)

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Block:
    """A dimension that the grid walks, in blocks of `values`; the seed has blocks of `seed`."""

    dimension: str
    values: tuple[int, ...]
    seed: int

    @property
    def parameter(self) -> str:
        """The name in the spec."""
        return f"BLOCK_{self.dimension.upper()}"


@dataclass(frozen=True)
class Cut:
    """The way the seed walks a task: its grid's dimensions, and how many blocks of an input it holds at a time."""

    blocks: tuple[Block, ...] = ()
    buffers: int = BUFFERS

    @property
    def seeds(self) -> dict[str, int]:
        """The seed's block size for each of the grid's dimensions."""
        return {one.dimension: one.seed for one in self.blocks}


def place_of(task: Task, dimension: str) -> str:
    """Returns a dimension's innermost place in any of the arrays: "lanes", "rows", or "outer"."""
    last = [len(one.axes) - 1 - at for one in task.tensors for at, axis in enumerate(one.axes) if axis == dimension]
    return {0: "lanes", 1: "rows"}.get(min(last, default=2), "outer")


def small_sizes(function: Callable[..., Any], task: Task, ragged: bool) -> dict[str, int]:
    """Returns sizes for a CPU: small ones, if the function takes them, else the largest that divide the task's own."""
    sizes = dict(task.sizes)
    for name, size in task.sizes.items():
        wide, few = (_RAGGED, _FEW_RAGGED) if ragged else (_SMALL, _FEW)
        most = few if place_of(task, name) == "outer" else wide
        for small in (most, *(part for part in range(min(most, size), 0, -1) if size % part == 0)):
            if small <= size and shapes_given(function, structs(task.inputs, sizes | {name: small})) is not None:
                sizes[name] = small
                break
    return sizes


def halved_sizes(task: Task) -> dict[str, int]:
    """Returns sizes for a CPU: the largest size is halved again and again. Most divisors of sizes stay divisors."""
    sizes = dict(task.sizes)
    while True:
        arrays = [math.prod(shape_of(one.axes, sizes)) for one in task.tensors]
        largest = max(sizes, key=lambda name: sizes[name])
        if max(arrays) <= _MOST_ELEMENTS or sizes[largest] <= _LEAST_HALVED or sizes[largest] % 2:
            return sizes
        sizes[largest] //= 2


def drawn(task: Task, sizes: dict[str, int]) -> list[Array]:
    """Draws inputs of these sizes: normal values, and whole numbers up to 7."""
    generator = np.random.default_rng(0)
    found = []
    for struct in structs(task.inputs, sizes):
        is_whole = jax.numpy.issubdtype(struct.dtype, np.integer) or struct.dtype == np.bool_
        values = generator.integers(0, 8, struct.shape) if is_whole else generator.standard_normal(struct.shape)
        found.append(np.asarray(values).astype(struct.dtype))
    return found


def tried(function: Callable[..., Any], inputs: list[Array]) -> tuple[list[Array], list[Array]]:
    """Returns the inputs, made smaller if the function's outputs are not finite, and the outputs as float64."""
    for scale in _SCALES:
        scaled = [(x * scale).astype(x.dtype) if jax.numpy.issubdtype(x.dtype, np.floating) else x for x in inputs]
        outputs = [np.asarray(leaf, np.float64) for leaf in jax.tree.leaves(jax.jit(function)(*scaled))]
        if all(np.isfinite(one).all() for one in outputs):
            break
    return scaled, outputs


def are_alike(got: Any, wanted: Any) -> bool:
    """Whether outputs differ only by rounding, which may be a share of their own size."""
    for one, other in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
        a, b = np.asarray(one, np.float64), np.asarray(other, np.float64)
        unit = float(np.sqrt(np.mean(b * b, where=np.isfinite(b)))) if np.isfinite(b).any() else 0.0
        if a.shape != b.shape or not np.allclose(a, b, _ALIKE, _ALIKE * unit, equal_nan=True):
            return False
    return True


def is_cut_along(function: Callable[..., Any], task: Task, dimension: str, sizes: dict[str, int]) -> bool:
    """Whether the outputs of halves of the inputs are the halves of the outputs."""
    half = sizes[dimension] // 2
    axes = [[at for at, axis in enumerate(one.axes) if axis == dimension] for one in task.inputs]
    out_axes = [[at for at, axis in enumerate(one.axes) if axis == dimension] for one in task.outputs]
    is_once = all(len(at) == 1 for at in out_axes) and all(len(at) <= 1 for at in axes) and any(axes)
    is_plain = all(dimension not in str(axis).split() or axis == dimension for one in task.outputs for axis in one.axes)
    if half == 0 or not is_once or not is_plain:
        return False
    # The halves must differ, because a mean or a norm of one of two similar halves is almost that of the whole.
    uneven = [_uneven(x, at, half) for x, at in zip(drawn(task, sizes), axes, strict=True)]
    inputs, whole = tried(function, uneven)
    parts = []
    for part in (slice(0, half), slice(half, sizes[dimension])):
        cut = [x[(slice(None),) * at[0] + (part,)] if at else x for x, at in zip(inputs, axes, strict=True)]
        if shapes_given(function, cut) is None:
            return False
        parts.append([np.asarray(leaf, np.float64) for leaf in jax.tree.leaves(jax.jit(function)(*cut))])
    joined = [np.concatenate(both, at[0]) for at, *both in zip(out_axes, *parts, strict=True)]
    return are_alike(joined, whole)


def _uneven(x: Array, axes: list[int], half: int) -> Array:
    if not axes or not jax.numpy.issubdtype(x.dtype, np.floating):
        return x
    behind = (slice(None),) * axes[0] + (slice(half, None),)
    changed = x.copy()
    changed[behind] = 4 * changed[behind] + 3
    return changed


def bytes_of(task: Task, sizes: dict[str, int], extents: dict[str, int], buffers: int = BUFFERS) -> int:
    """Returns the bytes of the blocks of all arrays. Dimensions in `extents` have that extent, and others are whole."""

    def of(one: Tensor) -> int:
        item = int(jax.numpy.dtype(one.dtype).itemsize)
        return math.prod((_extent(axis, sizes, extents) for axis in one.axes), start=item)

    return buffers * sum(map(of, task.inputs)) + BUFFERS * sum(map(of, task.outputs))


def uncut(task: Task, cut: Cut) -> list[str]:
    """Returns the dimensions that are not cut into blocks."""
    return [name for name in task.sizes if name not in cut.seeds]


def excess_of(task: Task, cut: Cut) -> str:
    """Returns a message if not even the seed's blocks fit into VMEM at the given sizes; empty: they fit."""
    least = bytes_of(task, task.sizes, cut.seeds, cut.buffers)
    if least <= VMEM_BYTES:
        return ""
    names = uncut(task, cut)
    said = f"a block of its arrays takes {least / 2**20:.0f} MiB at the given sizes; VMEM has {VMEM_BYTES >> 20} MiB"
    return f"{said}; the function cannot be computed in parts along {', '.join(names)}" if names else said


def made_bytes(function: Callable[..., Any], task: Task, sizes: dict[str, int]) -> int:
    """Returns the bytes of the two largest intermediate arrays of the function, which is about what Mosaic keeps."""
    made = jax.make_jaxpr(function)(*structs(task.inputs, sizes))
    return sum(sorted(_sizes_made(made.jaxpr))[-2:])


def _sizes_made(jaxpr: Any) -> Iterator[int]:
    for eqn in jaxpr.eqns:
        yield from (math.prod(one.aval.shape) * one.aval.dtype.itemsize for one in eqn.outvars)
        for inner in jax.extend.core.jaxprs_in_params(eqn.params):
            yield from _sizes_made(inner)


def _extent(axis: Axis, sizes: dict[str, int], extents: dict[str, int]) -> int:
    if isinstance(axis, str) and axis in extents:
        return min(extents[axis], sizes[axis])
    return axis if isinstance(axis, int) else _value(axis, sizes)


def _value(formula: str, sizes: dict[str, int]) -> int:
    """Returns the value of an output's formula, which has only products and sums."""
    return sum(
        math.prod(int(word) if word.isdigit() else sizes[word] for word in term.split(" * "))
        for term in formula.split(" + ")
    )


def shape_of(axes: Iterable[Axis], sizes: dict[str, int]) -> Shape:
    """Returns the lengths of axes."""
    return tuple(size_of(axis, sizes) if isinstance(axis, int) else _value(axis, sizes) for axis in axes)


def cut_of(function: Callable[..., Any], task: Task) -> Cut:
    """Returns the dimensions that the seed's grid walks, and their blocks; the seed's blocks fit VMEM if any do."""
    sizes = small_sizes(function, task, ragged=False)
    cut = [name for name in task.sizes if is_cut_along(function, task, name, sizes)]
    found = []
    for name in cut:
        place = place_of(task, name)
        values = [value for value in _BLOCKS[place] if value <= task.sizes[name]] or [task.sizes[name]]
        found.append(Block(name, tuple(values), max([v for v in values if v <= _SEED[place]] or values[:1])))
    points = itertools.product(*([v for v in block.values if v <= block.seed] for block in reversed(found)))
    fitting = [
        point[::-1]
        for point in points
        if bytes_of(task, task.sizes, dict(zip(cut, point[::-1], strict=True))) <= SEED_BYTES
    ]
    best = max(fitting, key=math.prod, default=tuple(block.values[0] for block in found))
    doubled = Cut(tuple(replace(block, seed=seed) for block, seed in zip(found, best, strict=True)))
    block_sizes = task.sizes | doubled.seeds
    # A function that does not take the seed's blocks is reported later, when the seed is lowered.
    is_tried = shapes_given(function, structs(task.inputs, block_sizes)) is not None
    made = made_bytes(function, task, block_sizes) if is_tried else 0
    fits = bytes_of(task, task.sizes, doubled.seeds) + made <= VMEM_BYTES
    return doubled if fits else replace(doubled, buffers=1)
