"""The choices that a candidate leaves open around its kernels, settled in the same way for every device.

A product of float32 at default precision is another number on a TPU than on a CPU, and so is a sort that keeps equal
keys in any order. A promise (indices that are sorted, or unique, or in bounds) is believed by one compiler, and ignored
by another. Checked and timed programs have none of this, because both come from the settled jaxpr.
"""

from __future__ import annotations

from typing import Any

import jax
from jax._src import core
from jax._src.lax import slicing

from programs import jaxprs
from programs.jaxprs import Place

_PRODUCTS = frozenset({"conv_general_dilated", "dot_general", "ragged_dot_general"})
_EXACT = (jax.lax.Precision.HIGHEST, jax.lax.Precision.HIGHEST)
# Products of these types need a precision. Narrower types are multiplied exactly on every device.
_WIDE = frozenset({"float32", "float64"})

_UNPROMISED = {"gather": slicing.GatherScatterMode.CLIP, "scatter": slicing.GatherScatterMode.FILL_OR_DROP}


def settled(closed: core.ClosedJaxpr) -> core.ClosedJaxpr:
    """Returns the program with nothing left open around its kernels."""
    return closed.replace(jaxpr=jaxprs.changed(closed.jaxpr, _settled))


def _settled(equation: core.JaxprEqn, place: Place) -> list[core.JaxprEqn]:
    if place is not Place.OUTSIDE:
        return [equation]
    params = _params(equation)
    is_same = all(params[name] == value for name, value in equation.params.items() if name in _OPEN)
    return [equation if is_same else equation.replace(params=params)]


_OPEN = frozenset({"indices_are_sorted", "is_stable", "mode", "precision", "unique_indices"})


def _params(equation: core.JaxprEqn) -> dict[str, Any]:
    name, params = equation.primitive.name, equation.params
    if name in _PRODUCTS and any(atom.aval.dtype.name in _WIDE for atom in equation.invars[:2]):
        return dict(params, precision=_EXACT)
    if name == "sort":
        return dict(params, is_stable=True)
    if name == "gather" or name.startswith("scatter"):
        mode = params["mode"]
        if mode is slicing.GatherScatterMode.PROMISE_IN_BOUNDS:
            mode = _UNPROMISED[name.partition("-")[0]]
        return dict(params, indices_are_sorted=False, unique_indices=False, mode=mode)
    return params
