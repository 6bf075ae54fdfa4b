"""The accumulators of a program: where it adds up sums, and in which types.

Partial products that are added up are a reduction, too. A kernel may keep its accumulator in memory, or carry it round
a loop, and add the result of each dot or reduction to it. The result types of dots and reductions do not say how wide
that accumulator is; the additions do.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax._src import core
from jax._src.state.types import AbstractRef

_PRODUCTS = frozenset({"conv_general_dilated", "dot_general", "ragged_dot", "ragged_dot_general"})
_SUMS = _PRODUCTS | {"cumsum", "reduce_sum", "reduce_window_sum"}
# Operations that keep all or a part of a value, but for its sign and precision: they move it, or change its type.
_MOVES = frozenset(
    """
    bitcast_convert_type broadcast_in_dim convert_element_type copy dynamic_slice expand_dims get neg reduce_precision
    reshape slice squeeze transpose
    """.split()
)
# Operations that never give a sum: their result holds at most a few bits of a sum that they were given.
_ENDS = frozenset("argmax argmin clz eq ge gt is_finite le lt ne population_count sign".split())
# By family, the operations that hide a sum: their result is not a sum, but an operation of `_UNDOES` gives the sum
# back.
_HIDES = {
    "exponential": frozenset("cosh exp exp2 expm1 logistic sinh tanh".split()),
    "logarithm": frozenset("acosh asinh atanh log log1p".split()),
    "angle": frozenset("cos sin tan".split()),
    "arc": frozenset("acos asin atan atan2".split()),
    "error function": frozenset("erf erfc".split()),
    "its inverse": frozenset({"erf_inv"}),
    "root": frozenset("cbrt rsqrt sqrt".split()),
}
_UNDOES = {
    "exponential": _HIDES["logarithm"],
    "logarithm": _HIDES["exponential"] | {"pow"},
    "angle": _HIDES["arc"],
    "arc": _HIDES["angle"],
    "error function": _HIDES["its inverse"],
    "its inverse": _HIDES["error function"],
    "root": frozenset("integer_pow mul pow square".split()) | _HIDES["root"],
}
_FAMILIES = {name: family for family, names in _HIDES.items() for name in names}
# Of the operations that hide a sum, only this many are remembered: the last ones.
_MOST_HIDDEN = 4
# Operations that put values side by side in one array.
_JOINS = frozenset({"concatenate", "dynamic_update_slice", "pad", "scatter", "stack"})
# Operations that can turn floats into whole numbers.
_CONVERSIONS = frozenset("bitcast bitcast_convert_type convert_element_type get masked_load pack_elementwise".split())
# Operations that give whole numbers for whole numbers, even if these are written as floats.
_OF_WHOLE = (
    _MOVES
    | _PRODUCTS
    | _JOINS
    | frozenset(
        """
    abs add add_any addupdate ceil clamp cumsum floor gather iota max min mul pad reduce_max reduce_min reduce_sum
    rem rev roll round select_n sign sort square stop_gradient sub swap
    """.split()
    )
)
_ADDITIONS = frozenset({"add", "add_any", "sub"})
_SCALINGS = frozenset({"div", "mul"})
_FACTORS = _MOVES | _SCALINGS | {"square"}
# Operations whose result is a function of one value only, if they have one operand.
_MAPS = frozenset(
    """
    abs cbrt cos erf exp exp2 expm1 integer_pow log log1p logistic max min pow rsqrt sign sin sqrt tan tanh
    """.split()
)

# The marks of a value say what it is made of:
#   a _Sum: the value is that sum;
#   ("sums", dtype): two sums were added in that dtype;
#   a _Place: the memory or carry that the value was read from;
#   ("beside", place, operation): a sum, the operation's result, is in one array with what was read from the place;
#   ("onto", place): a sum was added to what was read from the place;
#   ("is", root): but for a factor, the value is what that place held, or what that variable is;
#   ("of", root): but for a factor, the value is a function of that root only;
#   _ROUNDED: a whole number that was made from floats; _FRACTION: a float that may be no whole number.
_Made = frozenset[Any]
_NOTHING: _Made = frozenset()
_ROUNDED = ("rounded",)
_FRACTION = ("fraction",)


@dataclass(frozen=True)
class _Sum:
    """A sum: the operation that makes it, and the roots of its factors.

    `is_rounded`: the sum was rounded to whole numbers, and the floats that were added up were not whole numbers.
    """

    operation: str
    factors: frozenset[Any]
    is_rounded: bool = False


@dataclass(frozen=True)
class _Hidden:
    """A mark of a sum, or of a sum's place, that operations hide. `behind`: the operations' families, in order."""

    mark: Any
    behind: tuple[str, ...]


def added_in(jaxpr: core.Jaxpr) -> dict[str, str]:
    """Returns the dtypes in which sums are accumulated, each with a description of the addition.

    Such a sum is added onto a kept value and kept again, or is at least the third in a row of additions. One addition
    of two sums may be done in any type: for example, a product and the term that is added to it in the end. Where the
    kept value itself is a factor of the product that is added to it, or where the product has a factor that depends on
    the kept value only, the addition makes a new iterate of a method, and not a sum of sums.
    """
    walk = _Walk()
    walk.jaxpr(jaxpr, [_given(v.aval) for v in jaxpr.invars])
    return walk.found


def rounded_in(jaxpr: core.Jaxpr) -> set[str]:
    """Returns the dtypes of whole numbers that are made from floats and then multiplied in products of matrices."""
    walk = _Walk()
    walk.jaxpr(jaxpr, [_NOTHING] * len(jaxpr.invars))
    return walk.rounded


class _Walk:
    """Follows what values are made of. `found`: the dtypes in which sums are accumulated, each with how, in words.

    `rounded`: the dtypes of products' operands that are whole numbers made from floats.
    """

    def __init__(self) -> None:
        self.found: dict[str, str] = {}
        self.rounded: set[str] = set()
        self._kept: dict[Any, _Made] = {}  # by memory: the marks of the stored values
        self._adding: dict[Any, tuple[str, str]] = {}  # by ("onto", place): the operation, and the sum's dtype

    def jaxpr(self, jaxpr: core.Jaxpr, given: Sequence[_Made]) -> list[_Made]:
        """Returns the marks of the outputs; `given`: those of the inputs."""
        made: dict[Any, _Made] = dict(zip(jaxpr.invars, given, strict=True))

        def read(atom: Any) -> _Made:
            if isinstance(atom, core.Literal):
                return _NOTHING if _is_whole(atom) else frozenset([_FRACTION])
            return made.get(atom, _NOTHING)

        for equation in jaxpr.eqns:
            results = self._equation(equation, [read(atom) for atom in equation.invars])
            made.update(zip(equation.outvars, results, strict=True))
        return [read(atom) for atom in jaxpr.outvars]

    def _equation(self, equation: Any, operands: list[_Made]) -> list[_Made]:
        made = self._made(equation, operands)
        is_of_floats = any(_is_a(atom.aval, jnp.floating) for atom in equation.invars)
        if not is_of_floats or equation.primitive.name not in _CONVERSIONS:
            return made
        return [
            _rounded(one) if _is_a(out.aval, jnp.integer) else one
            for one, out in zip(made, equation.outvars, strict=True)
        ]

    def _made(self, equation: Any, operands: list[_Made]) -> list[_Made]:
        name = equation.primitive.name
        inner = list(core.jaxprs_in_params(equation.params))
        if name == "pallas_call":
            bounds = equation.params["grid_mapping"].num_dynamic_grid_bounds
            return self._kernel(inner[0], operands[bounds:], len(equation.outvars))
        if inner:
            return self._nested(equation, inner, operands)
        if name in ("get", "masked_load"):
            return [self._held(operands[0])]
        if name in ("addupdate", "masked_swap", "swap"):
            return self._store(equation, operands)
        if name == "dma_start":
            self._copy(equation, operands)
            return []
        if name in _ADDITIONS:
            return [_is_new(self._addition(operands[0], operands[1], equation.outvars[0].aval), equation.outvars[0])]
        made = _united(equation, operands)
        if name in _PRODUCTS:
            self.rounded |= {
                atom.aval.dtype.name
                for atom, one in zip(equation.invars, operands, strict=True)
                if _ROUNDED in one and _is_a(atom.aval, jnp.integer)
            }
        if name in _SUMS:
            factors = _roots(made) | {("is", root) for _, root in _mapped(made)}
            made |= self._folded(made, equation.outvars[0].aval)
            made = (made - _sums_in(made)) | {_Sum(name, factors)}
        else:
            made = _after(made, operands, name)
        if all(getattr(out.aval, "dtype", None) == jnp.bool_ for out in equation.outvars):
            # A boolean holds one bit of a value that was added up, or rounded.
            of_numbers = ("fraction", "onto", "rounded")
            made = frozenset(one for one in made if not (isinstance(one, tuple) and one[0] in of_numbers))
        if name in _FACTORS:
            return [made] * len(equation.outvars)
        is_alone = sum(not isinstance(atom, core.Literal) for atom in equation.invars) == 1
        functions = {("of", root) for _, root in _roots(made) | _mapped(made)} if name in _MAPS and is_alone else set()
        return [_is_new(made, out) | functions for out in equation.outvars]

    def _kernel(self, body: core.Jaxpr, operands: list[_Made], results: int) -> list[_Made]:
        """Walks a kernel's body: its memory is that of its operands, its results and its scratch, in this order."""
        first = len(operands) + results
        said = [f"operand {number}" for number in range(len(operands))]
        said += [f"output {number}" for number in range(results)]
        said += [f"scratch {number}" for number in range(len(body.invars) - first)]
        places = [_Place(f"{name} of the kernel") for name in said]
        self._kept |= dict(zip(places, operands, strict=False))
        for place, v in zip(places[: len(operands)], body.invars, strict=False):
            self._kept[place] |= _given(getattr(v.aval, "inner_aval", v.aval))
        # The walk goes through the body twice, because each step of the grid finds the values that the step before left
        # in memory.
        for _ in range(2):
            self.jaxpr(body, [frozenset([place]) for place in places])
        return [self._kept.get(place, _NOTHING) for place in places[len(operands) : len(operands) + results]]

    def _addition(self, left: _Made, right: _Made, aval: Any) -> _Made:
        made = left | right
        if not (_is_a(aval, jnp.floating) or _is_a(aval, jnp.integer)):
            return made
        if _is_a(aval, jnp.integer):
            # Whole numbers are added up exactly, except for what was lost when they were rounded.
            left, right = _rounded_only(left), _rounded_only(right)
        for one, other in ((left, right), (right, left)):
            added = _added(one, other)
            if not added or any(each.factors & _roots(one) for each in _summed(other)):
                continue
            places = {("onto", place) for place in other if isinstance(place, _Place)}
            self._adding |= dict.fromkeys(places, (min(each.operation for each in added), aval.dtype.name))
            made |= places
        if _added(left, right) and _added(right, left):
            several = ("sums", aval.dtype.name)
            if several in left | right:
                self.found.setdefault(aval.dtype.name, "more than two in a row")
            made |= {several}
        return made

    def _folded(self, made: _Made, aval: Any) -> _Made:
        """Returns the marks of a sum over values that lie side by side: one sum is added to its neighbours."""
        onto: dict[Any, tuple[str, str]] = {}
        for _, place, operation in _lying_beside(made):
            onto["onto", place] = operation, aval.dtype.name
        self._adding |= onto
        return frozenset(onto)

    def _held(self, memory: _Made) -> _Made:
        """Returns the marks of a value that is read from a memory."""
        kept = memory.union(*(self._kept.get(place, _NOTHING) for place in memory))
        return _is_read(kept, [place for place in memory if isinstance(place, _Place)])

    def _store(self, equation: Any, operands: list[_Made]) -> list[_Made]:
        """Stores a value into memory, or adds it onto what is there."""
        name = equation.primitive.name
        memory, value = operands[0], operands[1]
        if name == "masked_swap":
            # The indices come before the value that is stored, so all operands but the memory are joined.
            value = _NOTHING.union(*operands[1:])
        before = self._held(memory)
        if name == "addupdate":
            value = self._addition(before, value, equation.invars[1].aval)
        for place in memory:
            self._close(place, value, equation.invars[0].aval)
        if name == "masked_swap" or equation.invars[1].aval.size < equation.invars[0].aval.size:
            # The old content of memory stays next to the new value.
            value |= _beside([value, before])
        for place in memory:
            self._kept[place] = self._kept.get(place, _NOTHING) | value
        return [before] * len(equation.outvars)

    def _copy(self, equation: Any, operands: list[_Made]) -> None:
        """Copies from memory to memory: the first two operands that are references."""
        memories = [
            (atom.aval, made)
            for atom, made in zip(equation.invars, operands, strict=True)
            if isinstance(atom.aval, AbstractRef)
        ]
        value = self._held(memories[0][1])
        aval, target = memories[1]
        if equation.params["add"]:
            value = self._addition(self._held(target), value, aval)
        for place in target:
            self._close(place, value, aval)
            self._kept[place] = self._kept.get(place, _NOTHING) | value

    def _close(self, place: Any, value: _Made, aval: Any) -> None:
        """Notes an accumulator: a value that was added onto a place comes back to that place."""
        # Whole numbers count, too: they may be the bits of a float, or of several.
        is_told = _is_a(aval, jnp.floating) or _is_a(aval, jnp.integer)
        if ("onto", place) in value and is_told:
            operation, dtype = self._adding["onto", place]
            for name in (dtype, aval.dtype.name):
                self.found.setdefault(
                    name, f"'{operation}' onto {place.said}, {getattr(aval, 'inner_aval', aval).str_short()}"
                )

    def _nested(self, equation: Any, inner: list[core.Jaxpr], operands: list[_Made]) -> list[_Made]:
        """Walks the bodies of a loop, a branch or a call: their inputs are the last operands, then their own memory."""
        results = [_NOTHING] * len(equation.outvars)
        for body in inner:
            has_consts = equation.primitive.name == "run_scoped"
            jaxpr = _with_consts_first(body) if has_consts else body
            given = operands if has_consts else operands[max(0, len(operands) - len(jaxpr.invars)) :]
            given = list(given)
            more = len(jaxpr.invars) - len(given)
            given += [frozenset([_Place(f"memory {number} of a run_scoped")]) for number in range(more)]
            carries = self._carries(equation, jaxpr)
            for position, place in carries.values():
                given[position] |= {place, ("is", place)}
            for _ in range(2 if carries else 1):
                made = self.jaxpr(jaxpr, given)
                for number, (position, place) in carries.items():
                    self._close(place, made[number], jaxpr.outvars[number].aval)
                    given[position] |= _is_read(made[number], [place])
            if len(made) == len(results):
                results = [a | b for a, b in zip(results, made, strict=True)]
        return results

    @staticmethod
    def _carries(equation: Any, jaxpr: core.Jaxpr) -> dict[int, tuple[int, _Place]]:
        """Returns, by number of a loop body's output, the input that it becomes in the next turn, and its place."""
        name, params = equation.primitive.name, equation.params
        if name == "scan":
            first, count = params["num_consts"], params["num_carry"]
        elif name == "while" and jaxpr is params["body_jaxpr"].jaxpr:
            first, count = params["body_nconsts"], len(jaxpr.outvars)
        else:
            return {}
        return {number: (first + number, _Place(f"carry {number} of a loop")) for number in range(count)}


def _is_a(aval: Any, kind: Any) -> bool:
    return jnp.issubdtype(getattr(aval, "dtype", jnp.bool_), kind)


def _is_whole(literal: core.Literal) -> bool:
    if not _is_a(literal.aval, jnp.floating):
        return True
    value = np.asarray(literal.val)
    return bool(np.all(np.trunc(value) == value))


def _given(aval: Any) -> _Made:
    """Returns the marks of an input."""
    return frozenset([_FRACTION]) if _is_a(aval, jnp.floating) else _NOTHING


def _united(equation: Any, operands: Sequence[_Made]) -> _Made:
    """Returns the marks of all operands, and those that follow from them together."""
    name = equation.primitive.name
    made: _Made = frozenset().union(*operands)
    if name not in _OF_WHOLE and any(_is_a(out.aval, jnp.floating) for out in equation.outvars):
        made |= {_FRACTION}
    return made | _beside(operands) if name in _JOINS else made


def _rounded(made: _Made) -> _Made:
    """Returns the marks of a value after it was rounded to whole numbers."""
    if _FRACTION in made:
        made = frozenset(map(_as_rounded, made - {_FRACTION}))
    return made | {_ROUNDED}


def _as_rounded(mark: Any) -> Any:
    if isinstance(mark, _Hidden):
        return replace(mark, mark=_as_rounded(mark.mark))
    return replace(mark, is_rounded=True) if isinstance(mark, _Sum) else mark


def _rounded_only(made: _Made) -> _Made:
    """Returns the marks without the sums that were whole numbers already."""
    return frozenset(one for one in made if not isinstance(one, _Sum) or one.is_rounded)


def _summed(made: _Made) -> set[_Sum]:
    return {one for one in made if isinstance(one, _Sum)}


def _sums_in(made: _Made) -> _Made:
    """Returns the sums, and the marks of their places."""
    of_sums = ("sums", "beside")
    return frozenset(one for one in made if isinstance(one, _Sum) or (isinstance(one, tuple) and one[0] in of_sums))


def _hidden_in(made: _Made) -> _Made:
    return frozenset(one for one in made if isinstance(one, _Hidden))


def _after(made: _Made, operands: Sequence[_Made], name: str) -> _Made:
    """Returns the marks after an operation that may end sums, hide them, or give back hidden sums."""
    # A power hides a sum in its exponent in the same way as an exponential does.
    is_exponent = name == "pow" and bool(_sums_in(operands[1]) | _hidden_in(operands[1]))
    family = "exponential" if is_exponent else _FAMILIES.get(name)
    sums, hidden = _sums_in(made), _hidden_in(made)
    out = set(made - sums - hidden)
    if name in _ENDS:
        return frozenset(out)
    for mark in sums:
        out.add(_Hidden(mark, (family,)) if family else mark)
    for one in hidden:
        # Multiplying a root of a sum by itself gives the sum back.
        is_undone = name in _UNDOES[one.behind[-1]] and (name != "mul" or all(one in each for each in operands))
        if is_undone:
            out.add(_Hidden(one.mark, one.behind[:-1]) if one.behind[1:] else one.mark)
        else:
            out.add(_Hidden(one.mark, (*one.behind, family)[-_MOST_HIDDEN:]) if family else one)
    return frozenset(out)


def _lying_beside(made: _Made) -> list[tuple[str, Any, str]]:
    return [one for one in made if isinstance(one, tuple) and one[0] == "beside"]


def _beside(operands: Sequence[_Made]) -> _Made:
    """Returns the marks of values that are put together: the places that sums are now next to."""
    return frozenset(
        ("beside", place, each.operation)
        for one, other in itertools.permutations(operands, 2)
        for each in _added(one, other)
        for place in other
        if isinstance(place, _Place)
    )


def _roots(made: _Made) -> frozenset[Any]:
    """Returns the roots of a value: except for factors, the value is one of them."""
    return frozenset(one for one in made if isinstance(one, tuple) and one[0] == "is")


def _mapped(made: _Made) -> frozenset[Any]:
    """Returns the roots that a value is a function of, and of nothing else, except for factors."""
    return frozenset(one for one in made if isinstance(one, tuple) and one[0] == "of")


def _is_new(made: _Made, var: Any) -> _Made:
    return (made - _roots(made) - _mapped(made)) | {("is", var)}


def _is_read(made: _Made, places: Sequence[Any]) -> _Made:
    return (made - _roots(made) - _mapped(made)) | {("is", place) for place in places}


def _added(one: _Made, other: _Made) -> set[_Sum]:
    """Returns the sums that are added to another value and do not have that value as a factor."""
    return {each for each in _summed(one) if not each.factors & _roots(other)}


class _Place:
    """A memory, or a value that a loop carries; equal to itself only. `said`: its name in words."""

    def __init__(self, said: str) -> None:
        self.said = said


def _with_consts_first(jaxpr: core.Jaxpr) -> core.Jaxpr:
    return jaxpr.replace(constvars=[], invars=[*jaxpr.constvars, *jaxpr.invars])
