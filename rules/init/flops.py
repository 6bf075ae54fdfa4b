"""The work of a function: the operations of its matrix products, as a formula over its dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.extend

from init.blocks import shape_of
from init.dimensions import Task, Tensor, Unclear, formula_of, structs


def flops_formula(function: Callable[..., Any], task: Task) -> str:
    """Returns the operations of all matrix products; without any, one operation per element of the largest array."""
    counts = _products(function, task, task.sizes)
    if not counts:
        return _elements(max(task.tensors, key=lambda one: math.prod(shape_of(one.axes, task.sizes))))
    terms = []
    for number in range(len(counts)):

        def count(sizes: dict[str, int], number: int = number) -> float:
            found = _products(function, task, sizes)
            if len(found) != len(counts):
                raise Unclear("it has other products of matrices for other sizes")
            return found[number]

        terms.append(formula_of(count, task.sizes))
    return summed(terms)


def flops_of(function: Callable[..., Any], task: Task, sizes: dict[str, int]) -> int:
    """Returns the value of the formula of `flops_formula` for these sizes."""
    counts = _products(function, task, sizes)
    return sum(counts) or max(math.prod(shape_of(one.axes, sizes)) for one in task.tensors)


def bytes_formula(task: Task) -> str:
    """Returns the bytes of each input, read once, and of each output, written once."""
    return summed(f"{jax.numpy.dtype(one.dtype).itemsize} * {_elements(one)}" for one in task.tensors)


def summed(terms: Iterable[str]) -> str:
    """Returns a sum in which no term occurs twice: "4 * M" for "2 * M" and "2 * M"."""
    counts: dict[str, int] = {}
    for term in terms:
        first, _, rest = term.partition(" * ")
        times, what = (int(first), rest) if first.isdigit() else (1, term)
        counts[what] = counts.get(what, 0) + times
    return " + ".join(
        " * ".join([*([str(times)] if times > 1 or not what else []), *([what] if what else [])])
        for what, times in counts.items()
    )


def _elements(one: Tensor) -> str:
    return " * ".join(f"({axis})" if "+" in str(axis) else str(axis) for axis in one.axes) or "1"


def _products(function: Callable[..., Any], task: Task, sizes: dict[str, int]) -> list[int]:
    """Returns the operations of each product, in the order of the trace."""
    return list(_walk(jax.make_jaxpr(function)(*structs(task.inputs, sizes)).jaxpr))


def _walk(jaxpr: Any) -> Any:
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            (contracted, _), _ = equation.params["dimension_numbers"]
            summed = math.prod(equation.invars[0].aval.shape[axis] for axis in contracted)
            yield 2 * summed * math.prod(equation.outvars[0].aval.shape)
        times = equation.params["length"] if equation.primitive.name == "scan" else 1
        for inner in jax.extend.core.jaxprs_in_params(equation.params):
            for count in _walk(inner):
                yield times * count
