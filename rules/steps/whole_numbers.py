"""Whole numbers as a spec says them: within a range, and along their last axis sorted, distinct, or of one sum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Generator = np.random.Generator

# Of values with one sum, the share that are the least that they may be: groups without rows.
_LEAST = 0.25


@dataclass(frozen=True)
class Terms:
    """What the values may be."""

    low: int
    high: int
    sum: int | None = None
    is_sorted: bool = False
    is_distinct: bool = False

    @staticmethod
    def of(entry: dict[str, Any], low: int, high: int) -> Terms:
        """Of a signature's input."""
        words = entry.get("are", ())
        return Terms(low, high, entry.get("sum"), "sorted" in words, "distinct" in words)


def drawn(
    generator: Generator, shape: tuple[int, ...], terms: Terms, of_ends: Callable[[int, int], int] | None = None
) -> Array:
    """Uniform, and both ends are among them where there are two values or more; `of_ends`, min or max: one end alone.

    With one sum, or distinct, values are as much at that end as these can be. The spec's reader saw to it that there
    are such values.
    """
    if terms.is_distinct:
        values = _distinct(generator, shape, terms, of_ends)
    elif terms.sum is not None:
        values = _of_one_sum(generator, shape, terms, terms.sum, of_ends)
    elif of_ends is not None:
        values = np.full(shape, of_ends(terms.low, terms.high))
    else:
        values = generator.integers(terms.low, terms.high + 1, shape)
        if values.size > 1:
            # A length that is none, and one that is all.
            values.reshape(-1)[generator.choice(values.size, 2, replace=False)] = terms.low, terms.high
    return np.sort(values, axis=-1) if terms.is_sorted else values


def _distinct(generator: Generator, shape: tuple[int, ...], terms: Terms, of_ends: Any) -> Array:
    count = shape[-1] if shape else 1
    span = terms.high - terms.low + 1

    def line() -> Array:
        if of_ends is None:
            return terms.low + generator.choice(span, count, replace=False)
        return generator.permutation(count) + (terms.low if of_ends is min else terms.high - count + 1)

    return _of_lines(shape, line)


def _of_one_sum(generator: Generator, shape: tuple[int, ...], terms: Terms, total: int, of_ends: Any) -> Array:
    count = shape[-1] if shape else 1
    most = terms.high - terms.low

    def line() -> Array:
        left = total - terms.low * count
        above = np.zeros(count, np.int64)
        # As full as can be, from the front or from the back: all others are as empty as can be.
        order = np.arange(count) if of_ends is min else np.arange(count)[::-1]
        if of_ends is None:
            weights = generator.exponential(size=count) * (generator.random(count) >= _LEAST)
            if weights.sum() > 0:
                above = np.minimum((left * (weights / weights.sum())).astype(np.int64), most)
            order = generator.permutation(count)
        left -= int(above.sum())
        for place in order:
            more = min(left, most - int(above[place]))
            above[place] += more
            left -= more
        return terms.low + above

    return _of_lines(shape, line)


def _of_lines(shape: tuple[int, ...], line: Callable[[], Array]) -> Array:
    """An array of lines along its last axis."""
    lines = [line() for _ in range(int(np.prod(shape[:-1], dtype=np.int64)))]
    return np.asarray(lines, np.int64).reshape(shape)
