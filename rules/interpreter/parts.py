"""The evaluation of a program at some places of its outputs, without computing the rest.

`evaluate` finds the region of every value that the outputs' regions need (regions.py), from the outputs backwards, and
then computes these regions only, operation by operation (part_rules.py).

The oracle of a large timed case is computed in this way, and so are the values of a candidate's program, whose kernels
run only the steps of their grids that write the requested regions (kernel_steps.py).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import core

from interpreter.part_rules import Rule, bound, rule_of, taken
from interpreter.regions import Axis, Region, indices_of, size_of, take, union, whole
from programs import jaxprs


class Kernels(Protocol):
    """The way in which a program's kernels are computed."""

    def needs(self, equation: Any, regions: list[Region | None], value: Callable[[Any], Any]) -> list[Region | None]:
        """Returns the operands' regions that the results' regions need; `value` computes an operand as a whole."""

    def run(self, equation: Any, regions: list[Region | None], operands: list[Any]) -> Sequence[Any]:
        """Returns the results' regions, from the operands' regions."""


class _NoKernels:
    """The kernels of a program that should have none."""

    def needs(self, equation: Any, *_: Any) -> list[Region | None]:
        """Raises NotImplementedError."""
        raise NotImplementedError(f"a kernel in a program that should have none: {equation.primitive.name}")

    run = needs


NO_KERNELS: Kernels = _NoKernels()


def evaluate(
    closed: core.ClosedJaxpr, arguments: Sequence[Any], regions: Sequence[Region], kernels: Kernels = NO_KERNELS
) -> list[Any]:
    """Returns the outputs' values at their regions."""
    flat = flattened(closed)
    given = zip([*flat.jaxpr.constvars, *flat.jaxpr.invars], [*flat.consts, *arguments], strict=True)
    held = {v: (whole(v.aval.shape), value) for v, value in given}
    return _Evaluation(flat.jaxpr, held, kernels).at(flat.jaxpr.outvars, regions)


def sizes(closed: core.ClosedJaxpr, regions: Sequence[Region]) -> tuple[int, int]:
    """Returns the bytes that `evaluate` would compute: those of the largest value, and of all values together."""
    flat = flattened(closed)
    needed, _ = _Evaluation(flat.jaxpr, {}, NO_KERNELS).plan(flat.jaxpr.outvars, regions)
    given = {*flat.jaxpr.constvars, *flat.jaxpr.invars}
    computed = [
        math.prod(size_of(region, v.aval.shape)) * v.aval.dtype.itemsize
        for v, region in needed.items()
        if v not in given
    ]
    return max(computed, default=0), sum(computed)


# A loop with kernels is unrolled if it has at most this many turns. The limit is low because each turn's kernels are
# compiled again.
_MOST_UNROLLED = 64


def _is_unrolled(equation: Any) -> bool:
    params = equation.params
    is_loop = equation.primitive.name == "scan" and params["length"] <= _MOST_UNROLLED
    return is_loop and jaxprs.has_kernel(params["jaxpr"].jaxpr)


def flattened(closed: core.ClosedJaxpr, is_unrolled: bool = True) -> core.ClosedJaxpr:
    """Returns the program without calls and, if `is_unrolled`, without short loops that have kernels in them.

    The called programs, and the turns of a loop, replace them.
    """

    def is_turned(equation: Any) -> bool:
        return is_unrolled and _is_unrolled(equation)

    if not any(equation.primitive.name in jaxprs.CALLS or is_turned(equation) for equation in closed.jaxpr.eqns):
        return closed

    def inlined(jaxpr: core.Jaxpr, consts: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
        known: dict[Any, Any] = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *arguments], strict=True))

        def read(atom: Any) -> Any:
            return atom if isinstance(atom, core.Literal) else known[atom]

        for equation in jaxpr.eqns:
            operands = [read(atom) for atom in equation.invars]
            name = equation.primitive.name
            if name in jaxprs.CALLS:
                body = equation.params[jaxprs.CALLS[name]]
                inner, held = (body.jaxpr, body.consts) if isinstance(body, core.ClosedJaxpr) else (body, [])
                results = inlined(inner, [constant(each) for each in held], operands)
                known.update(zip(equation.outvars, results, strict=True))
                continue
            if is_turned(equation):
                known.update(zip(equation.outvars, unrolled(equation.params, operands), strict=True))
                continue
            results = [core.Var(v.aval) for v in equation.outvars]
            known.update(zip(equation.outvars, results, strict=True))
            equations.append(equation.replace(invars=operands, outvars=results))
        return [read(atom) for atom in jaxpr.outvars]

    def traced(function: Callable[..., Any], *atoms: Any) -> list[Any]:
        made = jax.make_jaxpr(function)(*(atom.aval for atom in atoms))
        return inlined(made.jaxpr, [constant(each) for each in made.consts], atoms)

    def unrolled(params: dict[str, Any], operands: Sequence[Any]) -> list[Any]:
        body, consts, carries = params["jaxpr"], params["num_consts"], params["num_carry"]
        fixed, carry, sliced = operands[:consts], operands[consts : consts + carries], operands[consts + carries :]
        held = [constant(each) for each in body.consts]
        each_turn: list[list[Any]] = []
        turns = range(params["length"])
        for turn in reversed(turns) if params["reverse"] else turns:
            at = functools.partial(jax.lax.index_in_dim, index=turn, axis=0, keepdims=False)
            slices = [traced(at, one)[0] for one in sliced]
            results = inlined(body.jaxpr, held, [*fixed, *carry, *slices])
            carry = results[:carries]
            each_turn.append(results[carries:])
        if params["reverse"]:
            each_turn.reverse()
        stacked = [traced(lambda *some: jnp.stack(some), *some)[0] for some in zip(*each_turn, strict=True)]
        return [*carry, *stacked]

    def constant(value: Any) -> Any:
        variable = core.Var(core.ShapedArray(np.shape(value), jnp.asarray(value).dtype))
        constvars.append(variable)
        consts.append(value)
        return variable

    equations: list[Any] = []
    constvars, consts = list(closed.jaxpr.constvars), list(closed.consts)
    outputs = inlined(closed.jaxpr, list(closed.jaxpr.constvars), closed.jaxpr.invars)
    jaxpr = closed.jaxpr.replace(constvars=constvars, eqns=equations, outvars=outputs)
    return core.ClosedJaxpr(jaxpr, consts)


# An array's region, and the values there.
Held = tuple[Region, Any]


class _Evaluation:
    """One program without calls, and the values of its constants and inputs."""

    def __init__(self, jaxpr: core.Jaxpr, given: dict[Any, Held], kernels: Kernels) -> None:
        self._jaxpr = jaxpr
        self._given = given
        self._kernels = kernels

    def at(self, atoms: Sequence[Any], regions: Sequence[Region | None]) -> list[Any]:
        """Returns the values of some atoms at regions; None for an atom without a region."""
        needed, plan = self.plan(atoms, regions)
        held = dict(self._given)
        uses: dict[Any, int] = {}
        for atom in (*(atom for equation, _, _ in plan for atom in equation.invars), *atoms):
            if not isinstance(atom, core.Literal):
                uses[atom] = uses.get(atom, 0) + 1

        def read(atom: Any, region: Region | None) -> Any:
            if isinstance(atom, core.Literal):
                return jaxprs.number_of(atom)
            within, value = held.get(atom, (None, None))
            uses[atom] -= 1
            if not uses[atom]:
                held.pop(atom, None)
            return None if region is None or within is None else take(value, within, region, atom.aval.shape)

        for equation, results, operands in plan:
            given = [read(atom, region) for atom, region in zip(equation.invars, operands, strict=True)]
            for v, value in zip(equation.outvars, self._run(equation, results, given), strict=True):
                if v in needed:
                    held[v] = (needed[v], value)
        return [read(atom, region) for atom, region in zip(atoms, regions, strict=True)]

    def plan(
        self, atoms: Sequence[Any], regions: Sequence[Region | None]
    ) -> tuple[dict[Any, Region], list[tuple[Any, list[Region | None], list[Region | None]]]]:
        """Returns the region of every needed value; and the operations, with their results' and operands' regions."""
        needed: dict[Any, Region] = {}

        def ask(some: Sequence[Any], wanted: Sequence[Region | None]) -> None:
            for atom, region in zip(some, wanted, strict=True):
                if not isinstance(atom, core.Literal) and region is not None:
                    needed[atom] = union(needed.get(atom), region, atom.aval.shape) or region

        ask(atoms, regions)
        plan = []
        for equation in reversed(self._jaxpr.eqns):
            results = [needed.get(v) for v in equation.outvars]
            if any(region is not None for region in results):
                operands = self._needs(equation, results)
                ask(equation.invars, operands)
                plan.append((equation, results, operands))
        return needed, plan[::-1]

    def _needs(self, equation: Any, results: list[Region | None]) -> list[Region | None]:
        if equation.primitive.name == "pallas_call":
            return self._kernels.needs(equation, results, self._whole)
        return _rule(equation).needs(equation, results)

    def _whole(self, atom: Any) -> Any:
        return self.at([atom], [whole(atom.aval.shape)])[0]

    def _run(self, equation: Any, results: list[Region | None], operands: list[Any]) -> Sequence[Any]:
        if equation.primitive.name == "pallas_call":
            return self._kernels.run(equation, results, operands)
        if any(map(jaxprs.has_kernel, core.jaxprs_in_params(equation.params))):
            raise NotImplementedError(f"a kernel inside of '{equation.primitive.name}'")
        return _rule(equation).run(equation, results, operands)


# Loops that carry nothing: each turn is computed by itself.


def _needs_scan(equation: Any, results: list[Region | None]) -> list[Region | None]:
    if equation.params["num_carry"]:
        return [whole(atom.aval.shape) for atom in equation.invars]
    turns, inner = _turns(equation, results)
    body, consts = flattened(equation.params["jaxpr"]).jaxpr, equation.params["num_consts"]
    needed, _ = _Evaluation(body, {}, NO_KERNELS).plan(body.outvars, inner)
    regions = [needed.get(v) for v in body.invars]
    return [*regions[:consts], *(None if region is None else (turns, *region) for region in regions[consts:])]


def _turns(equation: Any, results: list[Region | None]) -> tuple[Axis, list[Region | None]]:
    """Returns the requested turns of a loop, and the regions of the body's outputs."""
    turns: Region | None = None
    for region in results:
        if region is not None:
            turns = union(turns, region[:1], (equation.params["length"],))
    assert turns is not None
    return turns[0], [None if region is None else region[1:] for region in results]


def _run_scan(equation: Any, results: list[Region | None], operands: list[Any]) -> Sequence[Any]:
    if equation.params["num_carry"]:
        return taken(bound(equation, operands), equation, results)
    turns, inner = _turns(equation, results)
    body, consts = flattened(equation.params["jaxpr"]), equation.params["num_consts"]
    regions = _needs_scan(equation, results)
    fixed = {v: (whole(v.aval.shape), value) for v, value in zip(body.jaxpr.constvars, body.consts, strict=True)}
    sliced = []
    for number, (v, region) in enumerate(zip(body.jaxpr.invars, regions, strict=True)):
        if region is not None and number < consts:
            fixed[v] = (region, operands[number])
        elif region is not None:
            sliced.append((v, region[1:], operands[number]))

    def turn(values: Sequence[Any]) -> list[Any]:
        given = {v: (region, value) for (v, region, _), value in zip(sliced, values, strict=True)}
        found = _Evaluation(body.jaxpr, {**fixed, **given}, NO_KERNELS).at(body.jaxpr.outvars, inner)
        return [value for value in found if value is not None]

    count = len(indices_of(turns, equation.params["length"]))
    if sliced:
        found = jax.lax.map(turn, [value for _, _, value in sliced])
    else:
        found = [jnp.broadcast_to(value, (count, *value.shape)) for value in turn([])]
    left = iter(found)
    return [
        None if region is None else take(next(left), (turns, *region[1:]), region, v.aval.shape)
        for region, v in zip(results, equation.outvars, strict=True)
    ]


_LOOP = Rule(_needs_scan, _run_scan)


def _rule(equation: Any) -> Rule:
    return _LOOP if equation.primitive.name == "scan" else rule_of(equation)
