"""Promises that a kernel makes to its compiler, and whether it keeps them.

`pl.multiple_of` says that a number is a multiple of another one, and Mosaic reads memory as if it were. A gather in a
kernel reads the memory at an index, whether or not the index is in bounds. A float that is out of a whole number's
range has no defined conversion, but a CPU bounds it. A plain run on a CPU does not check any of this. So a kernel that
is judged runs with a changed jaxpr. There, a broken promise gives another value (`broken_visibly`), or is noted with
the step of the grid at which it happened (`Watch`).
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import core
from jax._src.lax import slicing
from jax._src.pallas import primitives as pallas_primitives

from programs import jaxprs
from programs.jaxprs import Place


class Broken(Exception):
    """A kernel did not keep a promise; the message says where, and by which number."""


def broken_visibly(equation: core.JaxprEqn, place: Place) -> list[core.JaxprEqn]:
    """Changes an equation (jaxprs.py) so that a broken promise gives another value; a kept one changes nothing."""
    name = equation.primitive.name
    if name == "multiple_of":
        of = math.lcm(*equation.params["values"])
        return jaxprs.inlined(lambda x: x - jax.lax.rem(x, jnp.full_like(x, of)), equation.invars, equation.outvars)
    if name == "gather" and place is not Place.OUTSIDE:
        mode = slicing.GatherScatterMode.FILL_OR_DROP
        fill = _odd_value(equation.outvars[0].aval.dtype)
        return [equation.replace(params=dict(equation.params, mode=mode, fill_value=fill))]
    if name == "convert_element_type" and place is not Place.OUTSIDE and _is_to_whole(equation):
        dtype = equation.params["new_dtype"]
        return jaxprs.inlined(lambda x: _converted(x, dtype), equation.invars, equation.outvars)
    return [equation]


def _is_to_whole(equation: core.JaxprEqn) -> bool:
    source, target = equation.invars[0].aval.dtype, equation.params["new_dtype"]
    return bool(jnp.issubdtype(source, jnp.floating) and jnp.issubdtype(target, jnp.integer))


def _converted(x: Any, dtype: Any) -> Any:
    """Converts floats to whole numbers. Floats out of range become its opposite end, and NaN becomes its top."""
    info = jnp.iinfo(dtype)
    wide = x.astype(jnp.promote_types(x.dtype, jnp.float32))
    whole = jax.lax.sign(wide) * jax.lax.floor(jax.lax.abs(wide))
    # These two bounds are exact as floats, because each is zero or a power of two, apart from its sign.
    is_kept = (whole >= float(info.min)) & (whole < float(info.max + 1))
    plain = jax.lax.convert_element_type(x, dtype)
    other = jax.lax.select(whole >= 0, jnp.full_like(plain, info.min), jnp.full_like(plain, info.max))
    return jax.lax.select(is_kept, plain, other)


def _odd_value(dtype: Any) -> Any:
    """Returns a value that no kernel expects."""
    if jnp.issubdtype(dtype, jnp.inexact):
        return float("nan")
    return True if dtype == np.bool_ else int(jnp.iinfo(dtype).max)


class Watch:
    """Notes broken promises of kernels that are run with the parameters from `watched`."""

    def __init__(self) -> None:
        self._broken: list[tuple[tuple[int, ...], int, str]] = []  # the step, the number, and the message

    def check(self) -> None:
        """Raises Broken where a kernel that was run since broke a promise."""
        jax.effects_barrier()
        if self._broken:
            # Steps may come in any order; the first one is reported.
            raise Broken(min(self._broken)[-1])

    def watched(self, kernel: dict[str, Any]) -> dict[str, Any]:
        """Returns a kernel's parameters, with its jaxpr and index maps changed so that broken promises are noted."""
        mapping = kernel["grid_mapping"]
        axes = len(mapping.grid) - len(mapping.vmapped_dims)

        def change(equation: core.JaxprEqn, place: Place) -> list[core.JaxprEqn]:
            return self._change(equation, place, axes)

        return {name: jaxprs.changed(kernel[name], change, Place.KERNEL) for name in ("jaxpr", "grid_mapping")}

    def _change(self, equation: core.JaxprEqn, place: Place, axes: int) -> list[core.JaxprEqn]:
        name = equation.primitive.name
        if name == "multiple_of":
            of = math.lcm(*equation.params["values"])
            said = f"pl.multiple_of says that a number is a multiple of {of}"
            return [*self._look(equation.invars[:1], lambda x: x % of != 0, said, place, axes), equation]
        if name == "gather" and place is not Place.OUTSIDE:
            most = _last_index(equation)
            said = f"a gather in a kernel takes indices from 0 to {most}"
            return [*self._look(equation.invars[1:], lambda x: (x < 0) | (x > most), said, place, axes), equation]
        return [equation]

    def _look(self, operands: list[Any], is_broken: Any, said: str, place: Place, axes: int) -> list[core.JaxprEqn]:
        def note(bad: Any, value: Any, *step: Any) -> None:
            if np.any(bad):
                number = int(np.asarray(value)[np.asarray(bad)].flat[0])
                point = tuple(int(axis) for axis in step)
                at = f"at step {list(point)} of its grid" if place is Place.KERNEL else "in an index map"
                self._broken.append((point, number, f"{said}, but one is {number} {at}"))

        def look(value: Any, *step: Any) -> list[Any]:
            jax.debug.callback(note, is_broken(value), value, *step)
            return []

        steps = [core.Var(core.ShapedArray((), jnp.dtype("int32"))) for _ in range(axes * (place is Place.KERNEL))]
        asked = [
            core.new_jaxpr_eqn([], [step], pallas_primitives.program_id_p, {"axis": axis}, set())
            for axis, step in enumerate(steps)
        ]
        return [*asked, *jaxprs.inlined(look, [*operands, *steps], [])]


def _last_index(equation: core.JaxprEqn) -> int:
    """Returns the last index of the axis that a gather in a kernel takes its elements along; there is just one axis."""
    (axis,) = equation.params["dimension_numbers"].start_index_map
    return int(equation.invars[0].aval.shape[axis]) - 1
