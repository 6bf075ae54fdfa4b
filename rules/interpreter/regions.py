"""Regions: the requested parts of arrays.

For each axis, a region has the sorted indices that are requested, or None for all indices. The region is all
combinations of these indices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

# The requested indices along an axis, sorted and distinct; None: all indices.
Axis = np.ndarray[Any, Any] | None
Region = tuple[Axis, ...]


def whole(shape: Sequence[int]) -> Region:
    """Returns the region that is all of an array of this shape."""
    return (None,) * len(shape)


def size_of(region: Region, shape: Sequence[int]) -> tuple[int, ...]:
    """Returns how many indices a region has along each axis of an array of this shape."""
    return tuple(n if axis is None else len(axis) for axis, n in zip(region, shape, strict=True))


def union(one: Region | None, other: Region | None, shape: Sequence[int]) -> Region | None:
    """Returns the smallest region that contains both; None: an empty region."""
    if one is None or other is None:
        return other if one is None else one
    return tuple(
        None if a is None or b is None else of_axis(np.union1d(a, b), n)
        for a, b, n in zip(one, other, shape, strict=True)
    )


def of_axis(indices: Any, size: int) -> Axis:
    """Returns indices as those of an axis of this size; None: all indices."""
    return None if len(indices) == size else np.asarray(indices)


def indices_of(axis: Axis, size: int) -> np.ndarray[Any, Any]:
    """Returns an axis' indices, spelled out."""
    return np.arange(size) if axis is None else axis


def take(array: Any, within: Region, wanted: Region, shape: Sequence[int]) -> Any:
    """Returns the values at `wanted` of an array that holds the region `within` of an array of this shape."""
    for number, (have, want, size) in enumerate(zip(within, wanted, shape, strict=True)):
        if have is want or (have is not None and want is not None and np.array_equal(have, want)):
            continue
        places = np.searchsorted(indices_of(have, size), indices_of(want, size))
        if len(places) and places[-1] - places[0] == len(places) - 1:
            # Neighbours are taken by a slice, because its gradient is a pad, and not a scatter.
            array = array[(slice(None),) * number + (slice(int(places[0]), int(places[-1]) + 1),)]
        else:
            array = array.take(places, axis=number)
    return array
