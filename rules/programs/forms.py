"""The form into which traced programs are brought. Code that judges, exports and times programs knows no other.

Kernels on a mesh of cores, `pl.kernel` and `pl.core_map`, become the calls that they are on one TensorCore: the mesh
adds only the number of a core, which is always 0. Checks for debugging are taken out, as a compiler does.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax._src import core, hijax
from jax._src.checkify import ErrorEffect
from jax._src.effects import JaxprInputEffect
from jax._src.pallas import core as pallas_core
from jax._src.state import discharge
from jax._src.state.types import AbstractRef
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from programs import jaxprs
from programs.jaxprs import Place

_ONE_CORE = type(pltpu.create_tensorcore_mesh("core", num_cores=1))


def plain(closed: core.ClosedJaxpr) -> core.ClosedJaxpr:
    """Returns the program with a `pallas_call` for each of its kernels. Raises NotImplementedError for other meshes."""
    for change in (_without_references, _as_call, _without_checks, _expanded):
        closed = jaxprs.changed(closed, change)
    if any(map(_is_of_check, closed.jaxpr.effects)):
        closed = closed.replace(jaxpr=_Rewritten(is_in_kernel=False).jaxpr(closed.jaxpr))
    return closed


def _without_checks(equation: core.JaxprEqn, place: Place) -> Sequence[core.JaxprEqn]:
    if place is Place.KERNEL and equation.primitive.name == "check":
        return []
    if equation.primitive.name != "pallas_call" or not any(map(_is_of_check, equation.params["jaxpr"].effects)):
        return [equation]
    return [equation.replace(params=dict(equation.params, jaxpr=_Rewritten().jaxpr(equation.params["jaxpr"])))]


def _is_of_check(effect: Any) -> bool:
    return isinstance(effect, ErrorEffect)


def _expanded(equation: core.JaxprEqn, _: Place) -> Sequence[core.JaxprEqn]:
    """Expands an operation that stands for several others, such as `pltpu.einshape`."""
    if equation.primitive is not hijax.call_hi_primitive_p:
        return [equation]
    expand = functools.partial(hijax.call_hi_primitive_p.to_lojax, **equation.params)
    return jaxprs.inlined(expand, equation.invars, equation.outvars)


def _has_map(jaxpr: core.Jaxpr) -> bool:
    return any(
        equation.primitive.name in ("core_map", "mpmd_map")
        or any(map(_has_map, core.jaxprs_in_params(equation.params)))
        for equation in jaxpr.eqns
    )


def _without_references(equation: core.JaxprEqn, place: Place) -> Sequence[core.JaxprEqn]:
    """Removes a `run_state` around a `core_map`, which works on the references that the `run_state` makes."""
    if place is not Place.OUTSIDE or equation.primitive.name != "run_state" or not _has_map(equation.params["jaxpr"]):
        return [equation]

    def run(*operands: Any) -> list[Any]:
        return discharge.run_state_p.impl(*operands, **equation.params)

    return jaxprs.inlined(run, equation.invars, equation.outvars)


def _as_call(equation: core.JaxprEqn, place: Place) -> Sequence[core.JaxprEqn]:
    if place is not Place.OUTSIDE or equation.primitive.name != "mpmd_map":
        return [equation]
    meshes, bodies = equation.params["meshes"], equation.params["jaxprs"]
    cores = math.prod(math.prod(mesh.shape.values()) for mesh in meshes)
    if len(bodies) != 1 or cores != 1 or not isinstance(meshes[0], _ONE_CORE):
        kinds = " and ".join(type(mesh).__name__ for mesh in meshes)
        raise NotImplementedError(f"a kernel on {cores} cores of a {kinds}: only kernels on one TensorCore are judged")
    return jaxprs.inlined(lambda *operands: _call(equation.params, operands), equation.invars, equation.outvars)


def _call(params: dict[str, Any], operands: Sequence[Any]) -> list[Any]:
    body = _Rewritten().jaxpr(jaxprs.changed(params["jaxprs"][0], _without_core, Place.KERNEL))
    results = params["out_avals"]
    variables = list(body.invars)
    inputs, outputs = variables[: len(operands)], variables[len(operands) : len(operands) + len(results)]
    scratch = variables[len(operands) + len(results) :]

    shared = dict(params["input_output_aliases"])

    def kernel(*references: Any) -> None:
        # The body may name an input, or the output that shares its memory, so both get the output's reference.
        same = (shared.get(number) for number in range(len(operands)))
        one = [references[number if out is None else len(operands) + out] for number, out in enumerate(same)]
        core.eval_jaxpr(body, (), *one, *references[len(operands) :])

    found = pl.pallas_call(
        kernel,
        out_shape=[jax.ShapeDtypeStruct(one.shape, one.dtype) for one in results],
        in_specs=[pl.BlockSpec(memory_space=v.aval.memory_space) for v in inputs],
        out_specs=[pl.BlockSpec(memory_space=v.aval.memory_space) for v in outputs],
        scratch_shapes=[pallas_core.MemoryRef(v.aval.inner_aval, v.aval.memory_space) for v in scratch],
        input_output_aliases=shared,
        compiler_params=params["compiler_params"],
        cost_estimate=params["cost_estimate"],
        name=params["name"],
        metadata=params["metadata"],
    )(*operands)
    return list(found)


def _without_core(equation: core.JaxprEqn, _: Place) -> Sequence[core.JaxprEqn]:
    if equation.primitive.name != "axis_index":
        return [equation]
    return jaxprs.inlined(lambda: jnp.int32(0) + jnp.int32(0), [], equation.outvars)


def _used(jaxpr: core.Jaxpr) -> list[core.JaxprEqn]:
    """Returns the equations without those for a check, which hold the number of checks that the process has made."""
    wanted = {v for v in jaxpr.outvars if isinstance(v, core.Var)}
    found = []
    for equation in reversed(jaxpr.eqns):
        if equation.effects or wanted.intersection(equation.outvars):
            wanted.update(v for v in equation.invars if isinstance(v, core.Var))
            found.append(equation)
    return found[::-1]


class _Rewritten:
    """A kernel's body without effects of checks, in which references that name no memory are in any memory.

    A mesh of TensorCores gives its kernel no other memory.
    """

    def __init__(self, is_in_kernel: bool = True) -> None:
        self._is_in_kernel = is_in_kernel
        self._made: dict[core.Var, core.Var] = {}

    def jaxpr(self, jaxpr: core.Jaxpr) -> core.Jaxpr:
        """Rewrites the body, or a jaxpr inside of it."""
        return jaxpr.replace(
            constvars=list(map(self._atom, jaxpr.constvars)),
            invars=list(map(self._atom, jaxpr.invars)),
            outvars=list(map(self._atom, jaxpr.outvars)),
            eqns=list(map(self._equation, _used(jaxpr) if self._is_in_kernel else jaxpr.eqns)),
            effects=self._effects(jaxpr.effects),
        )

    def _equation(self, equation: core.JaxprEqn) -> core.JaxprEqn:
        return equation.replace(
            invars=list(map(self._atom, equation.invars)),
            outvars=list(map(self._atom, equation.outvars)),
            params={name: self._value(value) for name, value in equation.params.items()},
            effects=self._effects(equation.effects),
        )

    def _effects(self, found: Any) -> set[Any]:
        """Returns the effects that are left; those on a reference name the reference that replaces it."""
        kept = (one for one in found if not _is_of_check(one))
        return {one.replace(self._atom(one.input)) if isinstance(one, JaxprInputEffect) else one for one in kept}

    def _value(self, value: Any) -> Any:
        if isinstance(value, core.ClosedJaxpr):
            return value.replace(jaxpr=self.jaxpr(value.jaxpr))
        if isinstance(value, core.Jaxpr):
            return self.jaxpr(value)
        return tuple(map(self._value, value)) if type(value) is tuple else value

    def _atom(self, atom: Any) -> Any:
        is_placed = not isinstance(getattr(atom, "aval", None), AbstractRef) or atom.aval.memory_space is not None
        if isinstance(atom, core.Literal) or is_placed or not self._is_in_kernel:
            return atom
        place = pallas_core.MemorySpace.ANY
        return self._made.setdefault(atom, core.Var(atom.aval.update(memory_space=place)))
