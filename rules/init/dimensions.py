"""The dimensions of a function: which axes of its inputs go together, and how its outputs' axes follow from them.

JAX is asked for the shapes that other sizes would give (`jax.eval_shape`). Nothing is computed, and nothing is read
from the function's text.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

Shape = tuple[int, ...]
# A dimension's name, a formula over dimensions, or a fixed size.
Axis = str | int
# The multiples of a size that are tried in its place.
_OTHERS = (2, 3)
# Sets of axes of one size are changed together. The maximum number of axes in a set besides the first axis, and of sets
# that are tried one by one. If there are more sets, all axes are tried at once.
_MOST_TIED = 4
_MOST_TRIED = 64


class Unclear(Exception):
    """A spec cannot express the function's shapes; the message says which shapes."""


@dataclass(frozen=True)
class Tensor:
    """An input, whose axes name dimensions or are sizes, or an output, whose axes are formulas over dimensions."""

    name: str
    dtype: str
    axes: tuple[Axis, ...]
    range: str = ""  # of an input's values, "0, 1"; empty: any


@dataclass(frozen=True)
class Task:
    """The function's inputs and outputs over its dimensions, with the sizes of the example."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    sizes: dict[str, int]

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The inputs, then the outputs."""
        return self.inputs + self.outputs


def size_of(axis: Axis, sizes: dict[str, int]) -> int:
    """Returns the axis' length."""
    return axis if isinstance(axis, int) else sizes[axis]


def structs(inputs: Sequence[Tensor], sizes: dict[str, int]) -> list[jax.ShapeDtypeStruct]:
    """Returns the inputs' shapes for these sizes."""
    return [
        jax.ShapeDtypeStruct(tuple(size_of(axis, sizes) for axis in one.axes), jax.numpy.dtype(one.dtype))
        for one in inputs
    ]


def shapes_given(function: Callable[..., Any], arguments: Sequence[Any]) -> list[Shape] | None:
    """Returns the shapes of the outputs; None: the function does not take the arguments."""
    try:
        return [tuple(leaf.shape) for leaf in jax.tree.leaves(jax.eval_shape(function, *arguments))]
    except Exception:  # noqa: BLE001 - it is the user's, and may fail in any way
        return None


def named(function: Callable[..., Any], inputs: Sequence[Tensor]) -> tuple[tuple[Tensor, ...], dict[str, int]]:
    """Names each size of the inputs for which the function takes other sizes, too: D0, D1, … in order.

    Equal sizes are one dimension if the function needs them to be equal. Sizes that cannot change stay numbers.
    """
    sizes = [[size_of(axis, {}) for axis in one.axes] for one in inputs]
    names: dict[tuple[int, int], str] = {}
    known: dict[str, int] = {}
    places = [(i, a) for i, one in enumerate(sizes) for a in range(len(one))]

    def takes(changed: frozenset[tuple[int, int]], factor: int) -> bool:
        arguments = [
            jax.ShapeDtypeStruct(
                tuple(size * factor if (i, a) in changed else size for a, size in enumerate(one)),
                jax.numpy.dtype(inputs[i].dtype),
            )
            for i, one in enumerate(sizes)
        ]
        return shapes_given(function, arguments) is not None

    for first in places:
        size = sizes[first[0]][first[1]]
        # A size of 1 may be broadcast, so it shows nothing.
        if first in names or size == 1:
            continue
        others = [p for p in places if p != first and p not in names and sizes[p[0]][p[1]] == size]
        tied = _tied(first, others, lambda tied: all(takes(tied, factor) for factor in _OTHERS))
        if tied:
            name = f"D{len(known)}"
            known[name] = size
            names.update(dict.fromkeys(tied, name))
    return tuple(
        replace(one, axes=tuple(names.get((i, a), axis) for a, axis in enumerate(one.axes)))
        for i, one in enumerate(inputs)
    ), known


_Place = tuple[int, int]


def _tied(first: _Place, others: list[_Place], takes: Callable[[frozenset[_Place]], bool]) -> frozenset[_Place] | None:
    """Returns the smallest set of axes with the first in it that may change together; None: no set may."""
    sets = list(itertools.islice(_with(first, others), _MOST_TRIED + 1))
    # If there are many sets, the axes that need not change are left out of the set of all axes.
    if len(sets) > _MOST_TRIED and takes(frozenset((first, *others))):
        return _least(first, others, takes)
    return next((tied for tied in sets if takes(tied)), None)


def _least(first: _Place, others: list[_Place], takes: Callable[[frozenset[_Place]], bool]) -> frozenset[_Place]:
    """Returns the axes that may change together, leaving out as many as possible. Tries to leave out halves first."""
    kept = list(others)
    share = len(kept)
    while share:
        at = 0
        while at < len(kept):
            fewer = kept[:at] + kept[at + share :]
            if takes(frozenset((first, *fewer))):
                kept = fewer
            else:
                at += share
        share //= 2
    return frozenset((first, *kept))


def _with(first: _Place, others: list[_Place]) -> Iterator[frozenset[_Place]]:
    """Yields sets of axes with the first in them, the smallest first."""
    for count in range(min(len(others), _MOST_TIED) + 1):
        for chosen in itertools.combinations(others, count):
            yield frozenset((first, *chosen))


def only_free(
    function: Callable[..., Any], inputs: Sequence[Tensor], sizes: dict[str, int]
) -> tuple[tuple[Tensor, ...], dict[str, int], list[str]]:
    """Names only dimensions that can change by themselves. Returns the inputs, the sizes, and the names of others.

    A size that depends on another one, as half a head's width does, becomes a number, and so does that other size.
    """

    def takes(name: str) -> bool:
        changed = [sizes | {name: factor * sizes[name]} for factor in _OTHERS]
        return all(shapes_given(function, structs(inputs, values)) is not None for values in changed)

    fixed = [name for name in sizes if not takes(name)]
    numbers: dict[Axis, int] = {name: sizes[name] for name in fixed}
    left = tuple(replace(one, axes=tuple(numbers.get(axis, axis) for axis in one.axes)) for one in inputs)
    return left, {name: size for name, size in sizes.items() if name not in fixed}, fixed


def outputs_of(function: Callable[..., Any], inputs: Sequence[Tensor], sizes: dict[str, int]) -> tuple[Tensor, ...]:
    """Returns the outputs; each axis is a formula: a product of dimensions, or a sum of multiples of them."""
    made = jax.eval_shape(function, *structs(inputs, sizes))
    leaves = jax.tree.leaves(made)
    found = []
    for number, leaf in enumerate(leaves):

        def axis_at(values: dict[str, int], axis: int, number: int = number) -> int:
            shapes = shapes_given(function, structs(inputs, values))
            if shapes is None:
                raise Unclear(f"it does not take the sizes {values}")
            return shapes[number][axis]

        axes = []
        for axis in range(len(leaf.shape)):
            axes.append(formula_of(lambda values, axis=axis: axis_at(values, axis), sizes))  # type: ignore[misc]
        name = "out" if len(leaves) == 1 else f"out{number}"
        found.append(Tensor(name, np.dtype(leaf.dtype).name, tuple(axes)))
    return tuple(found)


def formula_of(function: Callable[[dict[str, int]], float], sizes: dict[str, int]) -> str:
    """Returns a number that depends on sizes as a formula: "256", "2 * M * N * K", or "M + N".

    Raises Unclear if the number is neither a product nor a sum.
    """
    base = function(sizes)
    doubled = {name: function(sizes | {name: 2 * size}) for name, size in sizes.items()}
    for formula, value in (_product(base, doubled, sizes), _sum(base, doubled, sizes)):
        others = [sizes | {name: factor * size for name, size in sizes.items()} for factor in (1, 2, 3)]
        if formula and all(math.isclose(function(values), value(values)) for values in others):
            return formula
    raise Unclear(f"a size of {base} is neither a product nor a sum of {', '.join(sizes)}")


_Formula = tuple[str, Callable[[dict[str, int]], float]]


def _product(base: float, doubled: dict[str, float], sizes: dict[str, int]) -> _Formula:
    powers = {name: round(math.log2(value / base)) if base > 0 and value > 0 else 0 for name, value in doubled.items()}
    rest = base / math.prod(sizes[name] ** power for name, power in powers.items())
    if not float(rest).is_integer():
        return "", lambda _: math.nan
    factors = [name for name, power in powers.items() for _ in range(power)]
    if any(power < 0 for power in powers.values()):
        return "", lambda _: math.nan
    words = ([] if rest == 1 and factors else [str(int(rest))]) + factors
    return " * ".join(words), lambda values: rest * math.prod(values[name] for name in factors)


def _sum(base: float, doubled: dict[str, float], sizes: dict[str, int]) -> _Formula:
    times = {name: (value - base) / sizes[name] for name, value in doubled.items()}
    rest = base - sum(times[name] * sizes[name] for name in sizes)
    if not float(rest).is_integer() or any(not float(one).is_integer() or one < 0 for one in times.values()):
        return "", lambda _: math.nan
    words = [name if one == 1 else f"{int(one)} * {name}" for name, one in times.items() if one]
    words += [str(int(rest))] if rest else []
    return " + ".join(words), lambda values: rest + sum(one * values[name] for name, one in times.items())
