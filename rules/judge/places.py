"""The places at which the outputs of a large timed case are compared: blocks that are drawn from the secret.

Along each long axis of an output, some short runs of neighbours are drawn, which always include the first and the last
ones. Along its short axes, some indices are drawn. The oracle is computed at all of these places. A variant's program
is run for a few of the blocks, drawn from the secret and the program. So nobody who proposes a program can know which
blocks they are, and another program has other blocks. Half of the blocks lie at no end of any long axis.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from interpreter.regions import Region, of_axis
from judge.judge_inputs import TIMED, generator_of

# For each axis of an output, runs of neighbouring indices. A block is one run of each axis.
Runs = list[list[np.ndarray[Any, Any]]]

# The number of runs of a long axis.
_RUNS = 4
# The share of blocks that lie at no end of a long axis.
_INNER = 0.5
# The number of neighbours in a run: along an output's last axis, and along its other long axes.
_LAST, _LONG = 128, 16
# If the last axis is shorter than this, the axis before it counts as last, too.
_COLUMN = 8
_LONG_AXIS = 256


# The random streams of this module. Runs and the blocks of a program have different streams.
_generator = functools.partial(generator_of, salt="evolve places 1")


def groups_of(shapes: list[list[int]], secret: str) -> list[list[Runs]]:
    """Returns, for each group of places, the runs of each output of these shapes. Each group has other inputs.

    Axes of one size have the same runs in all outputs, so that outputs that belong together, such as those of one head,
    are computed together. Groups differ in the short axes' indices.
    """
    return [
        [[_runs(axis, shape, number, secret) for axis in range(len(shape))] for shape in shapes]
        for number in range(len(TIMED))
    ]


def _runs(axis: int, shape: list[int], group: int, secret: str) -> list[np.ndarray[Any, Any]]:
    """Returns the runs along an axis, in order and without overlaps; they include the ends of long axes."""
    size = shape[axis]
    # In an output of one or few columns, rows lie side by side, so their axis counts as last, too.
    is_last = axis == len(shape) - 1 or (axis == len(shape) - 2 and shape[-1] < _COLUMN)
    if not is_last and size < _LONG_AXIS:
        # All indices are equally likely, so a fault at some indices is found as often as it occurs. The longest of
        # these axes has two indices in each group.
        generator = _generator("short", size, group, secret)
        short = [other for other in shape[:-1] if other < _LONG_AXIS]
        count = min(size, 2) if size == max(short) and shape.index(size) == axis else 1
        return [np.array([index]) for index in sorted(map(int, generator.choice(size, count, replace=False)))]
    width = _LAST if is_last else _LONG
    if _RUNS * width >= size:
        return [np.arange(start, min(start + width, size)) for start in range(0, size, width)]
    generator = _generator("long", size, width, group, secret)
    gaps = np.sort(generator.integers(0, size - _RUNS * width + 1, _RUNS - 2))
    starts = [0, *(gaps + width * np.arange(1, _RUNS - 1)), size - width]
    return [np.arange(start, start + width) for start in starts]


def region_of(runs: Runs, shape: list[int]) -> Region:
    """Returns the region of all blocks of a group."""
    joined = (np.unique(np.concatenate(axis)) for axis in runs)
    return tuple(of_axis(axis, size) for axis, size in zip(joined, shape, strict=True))


def block_of(runs: Runs, shape: list[int], *named: Any) -> Region:
    """Returns the block of a group at which a program is compared, drawn from the random stream `named`."""
    generator = _generator("blocks", *named)
    is_inner = generator.random() < _INNER
    drawn_of = [axis[1:-1] or axis if is_inner else axis for axis in runs]
    chosen = (axis[int(generator.integers(len(axis)))] for axis in drawn_of)
    return tuple(of_axis(axis, size) for axis, size in zip(chosen, shape, strict=True))
