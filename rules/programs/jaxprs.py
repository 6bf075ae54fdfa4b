"""Questions that several steps ask about jaxprs, and changes of their equations at any depth."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import numpy as np
from jax._src import core
from jax._src.lax import lax
from jax._src.pallas import core as pallas_core

# Operations that call the program in one of their parameters, and the name of that parameter.
CALLS = {
    "checkpoint": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "jit": "jaxpr",
    "remat2": "jaxpr",
}


def contains(jaxpr: core.Jaxpr, is_one: Callable[[core.JaxprEqn], bool]) -> bool:
    """Whether a jaxpr has an equation of this kind, at any depth."""
    return any(
        is_one(equation) or any(contains(inner, is_one) for inner in core.jaxprs_in_params(equation.params))
        for equation in jaxpr.eqns
    )


def has_kernel(jaxpr: core.Jaxpr) -> bool:
    """Whether a jaxpr has a kernel, at any depth."""
    return contains(jaxpr, lambda equation: equation.primitive.name == "pallas_call")


def copies_by_itself(jaxpr: core.Jaxpr) -> bool:
    """Whether a jaxpr has a DMA, at any depth."""
    return contains(jaxpr, lambda equation: "dma" in equation.primitive.name)


def kernels_in(jaxpr: core.Jaxpr) -> Iterator[core.JaxprEqn]:
    """Yields the kernels of a jaxpr, at any depth."""
    for equation in jaxpr.eqns:
        if equation.primitive.name == "pallas_call":
            yield equation
        else:
            for inner in core.jaxprs_in_params(equation.params):
                yield from kernels_in(inner)


def number_of(literal: core.Literal) -> Any:
    """Returns a literal's value in its own type, which a bare number would not have."""
    return np.asarray(literal.val, literal.aval.dtype) if np.isscalar(literal.val) else literal.val


class Place(enum.Enum):
    """The place of an equation: around the kernels, in a kernel's body, or in the index map of a block."""

    OUTSIDE = "outside"
    KERNEL = "kernel"
    INDEX_MAP = "index map"


# A function that returns the equations that replace an equation.
Change = Callable[[core.JaxprEqn, Place], Sequence[core.JaxprEqn]]


def changed(value: Any, change: Change, place: Place = Place.OUTSIDE) -> Any:
    """Changes the equations of a jaxpr, or of a parameter with jaxprs in it, inner ones first.

    A part in which nothing changes stays the same object.
    """
    return _Changer(change).value(value, place)


class _Changer:
    def __init__(self, change: Change) -> None:
        self._change = change
        # A function that is called twice stays one object. The original is kept, too, so that its id stays taken.
        self._made: dict[tuple[int, Place], tuple[Any, Any]] = {}

    def value(self, value: Any, place: Place) -> Any:
        """Changes a jaxpr, or a parameter with jaxprs in it."""
        if type(value) in (tuple, list):
            items = [self.value(item, place) for item in value]
            return value if _are_same(items, value) else type(value)(items)
        make = {
            core.Jaxpr: self._jaxpr,
            core.ClosedJaxpr: self._closed,
            pallas_core.GridMapping: self._grid,
        }.get(type(value))
        if make is None:
            return value
        key = id(value), place
        if key not in self._made:
            self._made[key] = value, make(value, place)
        return self._made[key][1]

    def _jaxpr(self, jaxpr: core.Jaxpr, place: Place) -> core.Jaxpr:
        equations = [one for equation in jaxpr.eqns for one in self._equation(equation, place)]
        return jaxpr if _are_same(equations, jaxpr.eqns) else jaxpr.replace(eqns=equations)

    def _closed(self, closed: core.ClosedJaxpr, place: Place) -> core.ClosedJaxpr:
        jaxpr = self.value(closed.jaxpr, place)
        return closed if jaxpr is closed.jaxpr else closed.replace(jaxpr=jaxpr)

    def _grid(self, mapping: Any, _: Place) -> Any:
        maps = [self.value(block.index_map_jaxpr, Place.INDEX_MAP) for block in mapping.block_mappings]
        if _are_same(maps, [block.index_map_jaxpr for block in mapping.block_mappings]):
            return mapping
        blocks = [block.replace(index_map_jaxpr=made) for block, made in zip(mapping.block_mappings, maps, strict=True)]
        return dataclasses.replace(mapping, block_mappings=tuple(blocks))

    def _equation(self, equation: core.JaxprEqn, place: Place) -> Sequence[core.JaxprEqn]:
        inner = Place.KERNEL if equation.primitive.name == "pallas_call" else place
        params = {name: self.value(value, inner) for name, value in equation.params.items()}
        if not _are_same(params.values(), equation.params.values()):
            equation = equation.replace(params=params)
        return self._change(equation, place)


def _are_same(some: Any, others: Any) -> bool:
    some, others = list(some), list(others)
    return len(some) == len(others) and all(a is b for a, b in zip(some, others, strict=True))


def inlined(function: Callable[..., Any], operands: Sequence[Any], results: Sequence[core.Var]) -> list[core.JaxprEqn]:
    """Returns the equations of a function of some atoms, with its results bound to some variables."""
    closed = jax.make_jaxpr(function)(*(atom.aval for atom in operands))
    assert not closed.consts
    known: dict[Any, Any] = dict(zip(closed.jaxpr.invars, operands, strict=True))
    copied = []
    for atom, result in zip(closed.jaxpr.outvars, results, strict=True):
        if isinstance(result, core.DropVar):
            continue
        # A result that is an operand or a literal, or that is returned twice, becomes a copy.
        if isinstance(atom, core.Literal) or atom in known:
            copied.append((atom, result))
        else:
            known[atom] = result

    def read(atom: Any) -> Any:
        return atom if isinstance(atom, core.Literal) else known.get(atom, atom)

    equations = [
        equation.replace(invars=[read(a) for a in equation.invars], outvars=[read(v) for v in equation.outvars])
        for equation in closed.jaxpr.eqns
    ]
    copies = (core.new_jaxpr_eqn([read(atom)], [result], lax.copy_p, {}, set()) for atom, result in copied)
    return [*equations, *copies]
