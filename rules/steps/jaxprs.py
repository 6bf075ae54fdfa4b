"""What several steps ask of jaxprs, and how their equations are changed, wherever in them they stand."""

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

# Operations that stand for the program in one of their parameters, and in which.
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
    """Whether an equation of this kind stands in it, at any depth."""
    return any(
        is_one(equation) or any(contains(inner, is_one) for inner in core.jaxprs_in_params(equation.params))
        for equation in jaxpr.eqns
    )


def has_kernel(jaxpr: core.Jaxpr) -> bool:
    """Whether a kernel stands in it, at any depth."""
    return contains(jaxpr, lambda equation: equation.primitive.name == "pallas_call")


def copies_by_itself(jaxpr: core.Jaxpr) -> bool:
    """Whether a DMA stands in it, at any depth."""
    return contains(jaxpr, lambda equation: "dma" in equation.primitive.name)


def kernels_in(jaxpr: core.Jaxpr) -> Iterator[core.JaxprEqn]:
    """The kernels that stand in it, at any depth."""
    for equation in jaxpr.eqns:
        if equation.primitive.name == "pallas_call":
            yield equation
        else:
            for inner in core.jaxprs_in_params(equation.params):
                yield from kernels_in(inner)


def number_of(literal: core.Literal) -> Any:
    """A literal's value. A bare number would take another type than its own."""
    return np.asarray(literal.val, literal.aval.dtype) if np.isscalar(literal.val) else literal.val


class Place(enum.Enum):
    """Where an equation stands: around the kernels, in one's body, or in the index map of one's block."""

    OUTSIDE = "outside"
    KERNEL = "kernel"
    INDEX_MAP = "index map"


# What stands in an equation's place.
Change = Callable[[core.JaxprEqn, Place], Sequence[core.JaxprEqn]]


def changed(value: Any, change: Change, place: Place = Place.OUTSIDE) -> Any:
    """A jaxpr, or a parameter with jaxprs in it, with the equations changed, inner ones first.

    What nothing changes in is the same object still.
    """
    return _Changer(change).value(value, place)


class _Changer:
    def __init__(self, change: Change) -> None:
        self._change = change
        # A function that is called twice stays one object. With each, what it was made of, so that it stays alive.
        self._made: dict[tuple[int, Place], tuple[Any, Any]] = {}

    def value(self, value: Any, place: Place) -> Any:
        """A jaxpr, or a parameter that has any in it."""
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
    """The equations of a function of some atoms, the results of which are some variables."""
    closed = jax.make_jaxpr(function)(*(atom.aval for atom in operands))
    assert not closed.consts
    known: dict[Any, Any] = dict(zip(closed.jaxpr.invars, operands, strict=True))
    copied = []
    for atom, result in zip(closed.jaxpr.outvars, results, strict=True):
        if isinstance(result, core.DropVar):
            continue
        # What a function gives back as it got it, or twice.
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
