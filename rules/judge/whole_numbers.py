"""Whole numbers as a spec describes them: in a range, and along their last axis sorted, distinct, or of one sum.

A spec may also give a formula over the inputs before them: `concatenate(0, cumsum(sizes))` gives the first row of each
group.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Generator = np.random.Generator

# The share of values that are the least possible, such as groups without rows, if the values have a given sum: without
# gaps, and with gaps.
_LEAST, _LEAST_OF_GAPS = 0.25, 0.6
# The maximum number of different values if there is a gap: as a number, and as a share of the range.
_MOST_KEPT, _KEPT = 8, 0.4
# A range or a line shorter than this has no gap: nothing lies between its ends.
_LEAST_SPAN = 3


@dataclass(frozen=True)
class Terms:
    """The terms of the values."""

    low: int
    high: int
    sum: int | None = None
    is_sorted: bool = False
    is_distinct: bool = False

    @staticmethod
    def of(entry: dict[str, Any], low: int, high: int) -> Terms:
        """Reads the terms of a signature's input."""
        words = entry.get("are", ())
        return Terms(low, high, entry.get("sum"), "sorted" in words, "distinct" in words)


def drawn(
    generator: Generator,
    shape: tuple[int, ...],
    terms: Terms,
    of_ends: Callable[[int, int], int] | None = None,
    has_gaps: bool = False,
) -> Array:
    """Draws uniform values, both ends among two or more of them; `of_ends`, min or max: only values at one end.

    Values of one sum, or distinct ones, are as close to that end as they can be. The spec's reader has checked that
    there are such values. `has_gaps`: only a few values of the range occur, with unused values between them. With one
    sum, more values are the least possible, and some of these are between others.
    """
    if terms.is_distinct:
        values = _distinct(generator, shape, terms, of_ends)
    elif terms.sum is not None:
        values = _of_one_sum(generator, shape, terms, terms.sum, of_ends, has_gaps)
    elif of_ends is not None:
        values = np.full(shape, of_ends(terms.low, terms.high))
    else:
        low, high, span = terms.low, terms.high, terms.high - terms.low + 1
        if has_gaps and span >= _LEAST_SPAN:
            kept = low + _with_a_gap(generator, span)
            low, high = kept[[0, -1]]
            values = kept[generator.integers(0, kept.size, shape)]
        else:
            values = generator.integers(low, high + 1, shape)
        if values.size > 1:
            # The lowest and the highest value always occur, such as a length of zero and a full one. If the values have
            # a gap, one of the two is on each side of it.
            values.reshape(-1)[generator.choice(values.size, 2, replace=False)] = low, high
    return np.sort(values, axis=-1) if terms.is_sorted else values


def _with_a_gap(generator: Generator, span: int) -> Array:
    """Draws a few of the whole numbers below `span`, in order: two with a missing one between them, and some more."""
    gap = int(generator.integers(1, span - 1))
    below, above = int(generator.integers(gap)), int(generator.integers(gap + 1, span))
    more = generator.integers(0, span, max(0, min(_MOST_KEPT, int(_KEPT * span)) - 2))
    return np.unique([below, above, *more[more != gap]])


def _distinct(generator: Generator, shape: tuple[int, ...], terms: Terms, of_ends: Any) -> Array:
    count = shape[-1] if shape else 1
    span = terms.high - terms.low + 1

    def line() -> Array:
        if of_ends is None:
            return terms.low + generator.choice(span, count, replace=False)
        return generator.permutation(count) + (terms.low if of_ends is min else terms.high - count + 1)

    return _of_lines(shape, line)


def _of_one_sum(
    generator: Generator, shape: tuple[int, ...], terms: Terms, total: int, of_ends: Any, has_gaps: bool
) -> Array:
    count = shape[-1] if shape else 1
    most = terms.high - terms.low

    def line() -> Array:
        left = total - terms.low * count
        above = np.zeros(count, np.int64)
        # With of_ends, values are filled from the front or from the back, each as far as possible. The rest stay empty.
        order = np.arange(count) if of_ends is min else np.arange(count)[::-1]
        if of_ends is None:
            weights = generator.exponential(size=count)
            is_least = generator.random(count) < (_LEAST_OF_GAPS if has_gaps else _LEAST)
            if has_gaps and count >= _LEAST_SPAN:
                kept = _with_a_gap(generator, count)
                is_least[kept[0] : kept[-1] + 1] = True
                is_least[kept] = False
            weights[is_least] = 0
            if weights.sum() > 0:
                above = np.minimum((left * (weights / weights.sum())).astype(np.int64), most)
            order = generator.permutation(count)
            order = order[np.argsort(weights[order] == 0, kind="stable")]
        left -= int(above.sum())
        for place in order:
            more = min(left, most - int(above[place]))
            above[place] += more
            left -= more
        return terms.low + above

    return _of_lines(shape, line)


def _of_lines(shape: tuple[int, ...], line: Callable[[], Array]) -> Array:
    """Returns an array of lines along its last axis."""
    lines = [line() for _ in range(int(np.prod(shape[:-1], dtype=np.int64)))]
    return np.asarray(lines, np.int64).reshape(shape)


class Unsound(Exception):
    """A formula has no value, or one of another shape than its input's."""


def _concatenated(*parts: Any) -> Array:
    """Concatenates along the last axis; a number is one element of it."""
    first = max((np.shape(part)[:-1] for part in parts), key=len)
    return np.concatenate([np.broadcast_to(part, (*first, *(np.shape(part)[-1:] or (1,)))) for part in parts], axis=-1)


# The functions of a formula. Those along an axis use the last one. engine/campaign/spec_values.cc has the same names.
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": np.abs,
    "arange": np.arange,
    "argsort": lambda a: np.argsort(a, axis=-1, kind="stable"),
    "concatenate": _concatenated,
    "cumsum": lambda a: np.cumsum(a, axis=-1),
    "max": lambda a: np.max(a, axis=-1, keepdims=True),
    "maximum": np.maximum,
    "min": lambda a: np.min(a, axis=-1, keepdims=True),
    "minimum": np.minimum,
    "repeat": np.repeat,
    "sort": lambda a: np.sort(a, axis=-1),
    "sum": lambda a: np.sum(a, axis=-1, keepdims=True),
    "take": lambda a, i: np.take_along_axis(a, i, axis=-1),
    "where": np.where,
}
_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.USub: operator.neg,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


def by_formula(text: str, shape: tuple[int, ...], value: Callable[[str], Any]) -> Array:
    """Returns the values that a formula gives; `value`: that of a dimension or of an input. Raises Unsound."""

    def of(node: ast.AST) -> Any:
        match node:
            case ast.Constant(value=int() as number):
                return np.int64(number)
            case ast.Name(id=name):
                return value(name)
            case ast.BinOp(left=left, op=op, right=right) | ast.Compare(left=left, ops=[op], comparators=[right]):
                return _OPERATORS[type(op)](of(left), of(right))
            case ast.UnaryOp(op=op, operand=operand):
                return _OPERATORS[type(op)](of(operand))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return _FUNCTIONS[name](*map(of, args))
        raise Unsound(f"'{ast.unparse(node)}' is not allowed in a formula")

    try:
        found = np.asarray(of(ast.parse(text.strip(), mode="eval").body))
    except Unsound:
        raise
    except (KeyError, SyntaxError, TypeError, ValueError, IndexError, ZeroDivisionError) as error:
        raise Unsound(f"it has no value: {type(error).__name__}: {error}") from error
    if found.shape != shape:
        raise Unsound(f"its values have the shape {list(found.shape)}, not {list(shape)}")
    return found
