"""The whole numbers that an input may have, if its function or its values show them.

If a function takes rows by an input, the input has numbers of rows, and its range is the axis of the rows. If an input
is compared with the numbers of the places along an axis, its range is that axis. Otherwise the given values show the
range.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np
from jax._src import core

from init.dimensions import Tensor, structs

# Operations that hand on an operand's values, or that take part in wrapping negative indices.
_SAME = frozenset(
    """
    broadcast_in_dim concatenate convert_element_type copy expand_dims gather lt pad reshape select_n slice
    squeeze transpose
    """.split()
)
_COMPARED = frozenset("eq ne".split())
# If the largest of given numbers is at least this share of a dimension, they count as places on the dimension.
_ALMOST = 0.9
# The range that is drawn from if nothing shows one.
UNKNOWN = "0, 7"


def with_ranges(
    function: Callable[..., Any],
    inputs: Sequence[Tensor],
    sizes: dict[str, int],
    values: Sequence[Any],
    notices: list[str],
) -> tuple[Tensor, ...]:
    """Returns the inputs, with a range for those of whole numbers. `values`: the given value of each input, or None."""
    lengths = _lengths(function, inputs, sizes)
    found = []
    for one, length, value in zip(inputs, lengths, values, strict=True):
        if one.range or not np.issubdtype(np.dtype(one.dtype), np.integer):
            found.append(one)
            continue
        said = _up_to(length, sizes, one.name, notices) if length else range_of(value, sizes)
        if not said:
            notices.append(
                f"the values of '{one.name}' are unknown, so they are drawn from [{UNKNOWN}]: "
                "correct its range in spec.yaml"
            )
        found.append(replace(one, range=said or UNKNOWN))
    return tuple(found)


# An axis' length, and how many places are taken from an index on.
_Axis = tuple[int, int]


def _up_to(axis: _Axis, sizes: dict[str, int], of: str, notices: list[str]) -> str:
    length, taken = axis
    named = [name for name, size in sizes.items() if size == length]
    if len(named) > 1:
        notices.append(
            f"'{of}' indexes an axis that {' or '.join(named)} may be: its range in spec.yaml says {named[0]}"
        )
    return f"0, {named[0]} - {taken}" if named else f"0, {length - taken}"


def range_of(array: Any, sizes: dict[str, int]) -> str:
    """Returns the range of given whole numbers; if they almost reach a dimension's end, the dimension's range."""
    if array is None or isinstance(array, jax.ShapeDtypeStruct) or not np.issubdtype(np.dtype(array.dtype), np.integer):
        return ""
    values = np.asarray(array)
    if values.size == 0:
        return ""
    least, most = int(values.min()), int(values.max())
    for name, size in sizes.items():
        if least >= 0 and _ALMOST * size <= most < size:
            return f"0, {name} - 1"
    return f"{least}, {most}"


def _lengths(function: Callable[..., Any], inputs: Sequence[Tensor], sizes: dict[str, int]) -> list[_Axis | None]:
    """Returns the shortest axis that each input counts places on; None: no axis."""
    closed = jax.make_jaxpr(function)(*structs(inputs, sizes))
    follower = _Follower(len(inputs))
    follower.follow(closed.jaxpr, [{number} for number in range(len(inputs))])
    return follower.lengths


class _Follower:
    def __init__(self, count: int) -> None:
        self.lengths: list[_Axis | None] = [None] * count

    def follow(self, jaxpr: core.Jaxpr, given: Sequence[set[int]]) -> list[set[int]]:
        """Returns the inputs whose values each result has. `given`: the inputs whose values each operand has."""
        known: dict[Any, set[int]] = dict(zip(jaxpr.invars, given, strict=False))
        counts: set[Any] = set()  # variables that number the places along an axis

        def read(atom: Any) -> set[int]:
            return set() if isinstance(atom, core.Literal) else known.get(atom, set())

        for equation in jaxpr.eqns:
            name, operands = equation.primitive.name, list(map(read, equation.invars))
            if name == "iota" or (name in _SAME and any(v in counts for v in _variables(equation))):
                counts.update(equation.outvars)
            results: list[set[int]] = [set() for _ in equation.outvars]
            for inner in core.jaxprs_in_params(equation.params):
                # The body of a loop or a branch takes the last operands.
                results = self.follow(inner, operands[max(len(operands) - len(inner.invars), 0) :])
                break
            if name == "gather":
                self._gather(equation, operands[1])
                results = [operands[0]]
            elif name in ("dynamic_slice", "dynamic_update_slice"):
                first = len(equation.invars) - len(equation.invars[0].aval.shape)
                taken = equation.invars[1].aval.shape if "update" in name else equation.params["slice_sizes"]
                for length, size, some in zip(equation.invars[0].aval.shape, taken, operands[first:], strict=True):
                    self._note(some, length, size)
            elif name.startswith("scatter"):
                axes = equation.params["dimension_numbers"].scatter_dims_to_operand_dims
                for axis in axes if len(axes) == 1 else ():
                    self._note(operands[1], equation.invars[0].aval.shape[axis])
            elif name in _COMPARED:
                self._compared(equation, operands, counts)
            elif name in _SAME:
                results = [set().union(*operands)]
            known.update(zip(equation.outvars, results, strict=False))
        return list(map(read, jaxpr.outvars))

    def _gather(self, equation: Any, inputs: set[int]) -> None:
        axes = equation.params["dimension_numbers"].start_index_map
        if len(axes) == 1:
            self._note(inputs, equation.invars[0].aval.shape[axes[0]], equation.params["slice_sizes"][axes[0]])

    def _compared(self, equation: Any, operands: list[set[int]], counts: set[Any]) -> None:
        """Notes a comparison with the numbers of an axis' places. The result's last axis is that axis."""
        for one, other in ((0, 1), (1, 0)):
            atom = equation.invars[other]
            if (
                operands[one]
                and not isinstance(atom, core.Literal)
                and atom in counts
                and equation.outvars[0].aval.shape
            ):
                self._note(operands[one], equation.outvars[0].aval.shape[-1])

    def _note(self, inputs: set[int], length: int, taken: int = 1) -> None:
        for number in inputs:
            self.lengths[number] = min(self.lengths[number] or (length, taken), (length, taken), key=_last_place)


def _last_place(axis: _Axis) -> int:
    return axis[0] - axis[1]


def _variables(equation: Any) -> list[Any]:
    return [atom for atom in equation.invars if not isinstance(atom, core.Literal)]
