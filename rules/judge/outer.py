"""The evaluation of a program operation by operation, so that its kernels can be run in another way than compiled.

Operations around the kernels are JAX's own; loops, branches and calls that have a kernel in them are gone through here.
A value may be UNKNOWN; then all values that depend on it are UNKNOWN, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
from jax._src import core

from programs import jaxprs

# Stands for a value that is not computed.
UNKNOWN: Any = object()

# Runs a kernel, given its equation and its operands.
RunKernel = Callable[[Any, list[Any]], Sequence[Any]]


def evaluate(body: core.ClosedJaxpr | core.Jaxpr, arguments: Sequence[Any], run_kernel: RunKernel) -> list[Any]:
    """Returns the program's outputs. Raises NotImplementedError for a kernel inside of an unknown operation.

    Also raises it if a loop or a branch with a kernel in it depends on an UNKNOWN value.
    """
    jaxpr, consts = (body.jaxpr, body.consts) if isinstance(body, core.ClosedJaxpr) else (body, [])
    known = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *arguments], strict=True))

    def read(atom: Any) -> Any:
        return jaxprs.number_of(atom) if isinstance(atom, core.Literal) else known[atom]

    for equation in jaxpr.eqns:
        results = _run(equation, [read(atom) for atom in equation.invars], run_kernel)
        known.update(zip(equation.outvars, results, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _run(equation: Any, operands: list[Any], run_kernel: RunKernel) -> Sequence[Any]:
    name, params = equation.primitive.name, equation.params
    if name == "pallas_call":
        return run_kernel(equation, operands)
    if name in jaxprs.CALLS:
        return evaluate(params[jaxprs.CALLS[name]], operands, run_kernel)
    if not any(jaxprs.has_kernel(inner) for inner in core.jaxprs_in_params(params)):
        if any(operand is UNKNOWN for operand in operands):
            return [UNKNOWN] * len(equation.outvars)
        with equation.ctx.manager:
            results = equation.primitive.bind(*operands, **equation.primitive.get_bind_params(params))
        return results if equation.primitive.multiple_results else [results]
    if name == "cond":
        which = min(max(int(_known(operands[0])), 0), len(params["branches"]) - 1)
        return evaluate(params["branches"][which], operands[1:], run_kernel)
    if name == "while":
        return _while(params, operands, run_kernel)
    if name == "scan":
        return _scan(params, operands, run_kernel)
    raise NotImplementedError(f"a kernel inside of '{name}'")


def _while(params: dict[str, Any], operands: list[Any], run_kernel: RunKernel) -> list[Any]:
    asked, done = params["cond_nconsts"], params["body_nconsts"]
    of_condition, of_body, carry = operands[:asked], operands[asked : asked + done], operands[asked + done :]
    while bool(_known(evaluate(params["cond_jaxpr"], [*of_condition, *carry], run_kernel)[0])):
        carry = evaluate(params["body_jaxpr"], [*of_body, *carry], run_kernel)
    return carry


def _scan(params: dict[str, Any], operands: list[Any], run_kernel: RunKernel) -> list[Any]:
    consts, rest = operands[: params["num_consts"]], operands[params["num_consts"] :]
    carry, sliced = rest[: params["num_carry"]], rest[params["num_carry"] :]
    each: list[list[Any]] = []
    for step in range(params["length"]):
        at = params["length"] - 1 - step if params["reverse"] else step
        slices = (one if one is UNKNOWN else jnp.asarray(one)[at] for one in sliced)
        results = evaluate(params["jaxpr"], [*consts, *carry, *slices], run_kernel)
        carry = results[: params["num_carry"]]
        each.append(results[params["num_carry"] :])
    if params["reverse"]:
        each.reverse()
    if not each:
        empty = params["jaxpr"].out_avals[params["num_carry"] :]
        return [*carry, *(jnp.zeros((0, *aval.shape), aval.dtype) for aval in empty)]
    return [*carry, *map(_stack, zip(*each, strict=True))]


def _stack(slices: Sequence[Any]) -> Any:
    return UNKNOWN if any(one is UNKNOWN for one in slices) else jnp.stack(slices)


def _known(value: Any) -> Any:
    if value is UNKNOWN:
        raise NotImplementedError("a loop or a branch around a kernel depends on values that are not known")
    return value
