"""A function of Glaucis, watched while JAX traces it: the inputs that it draws, and the gradients that it takes."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import jax

# Functions of jax.random, and the bounds of their values, which the judge must keep, too. randint is given its own.
DRAWERS = {"normal": "", "truncated_normal": "-2, 2", "uniform": "0, 1", "randint": "", "bernoulli": "0, 1"}


@dataclass(frozen=True)
class Draw:
    """A call of jax.random: the name that its result is assigned to, and its arguments."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    range: str


@dataclass
class Seen:
    """The events of a trace, in order; if the function failed, the events before the failure."""

    draws: list[Draw] = field(default_factory=list)
    gradients: list[str] = field(default_factory=list)  # named by their inputs: "grad_q"
    outputs: list[tuple[int, ...]] = field(default_factory=list)
    failure: str = ""


def watched(function: Callable[..., Any], arguments: dict[str, Any], text: str) -> Seen:
    """Traces the function, whose module has this text; nothing is computed."""
    seen = Seen()
    assignments = [node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.Assign, ast.AnnAssign))]
    replaced = [(jax.random, name) for name in DRAWERS] + [(jax, "value_and_grad")]
    kept = [getattr(module, name) for module, name in replaced]

    def drawing(name: str, draw: Callable[..., Any]) -> Callable[..., Any]:
        def drawn(*args: Any, **options: Any) -> Any:
            value = draw(*args, **options)
            bounds = DRAWERS[name]
            if name == "randint":
                low, high = inspect.signature(draw).bind(*args, **options).args[2:4]
                bounds = f"{low}, {high - 1}"
            assigned = _assigned(assignments, sys._getframe(1).f_lineno)  # noqa: SLF001 - the line has the input's name
            seen.draws.append(Draw(assigned, value.dtype.name, tuple(value.shape), bounds))
            return value

        return drawn

    def value_and_grad(inner: Callable[..., Any], argnums: Any = 0, *args: Any, **options: Any) -> Callable[..., Any]:
        def called(*inputs: Any) -> Any:
            value, gradients = kept[-1](inner, argnums, *args, **options)(*inputs)
            parameters = list(inspect.signature(inner).parameters)
            places = [argnums] if isinstance(argnums, int) else list(argnums)
            count = len(jax.tree.leaves(gradients))
            by = [parameters[at] for at in places] if len(places) == count else [str(at) for at in range(count)]
            seen.gradients.extend(f"grad_{name}" for name in by)
            return value, gradients

        return called

    try:
        for (module, name), real in zip(replaced, kept, strict=True):
            setattr(module, name, value_and_grad if name == "value_and_grad" else drawing(name, real))
        made = jax.eval_shape(lambda: function(**arguments))
        seen.outputs = [tuple(leaf.shape) for leaf in jax.tree.leaves(made)]
    except Exception as error:  # noqa: BLE001 - it is the user's, and may fail in any way
        seen.failure = f"{type(error).__name__}: {error}".splitlines()[0]
    finally:
        for (module, name), real in zip(replaced, kept, strict=True):
            setattr(module, name, real)
    seen.draws = _told_apart(seen.draws)
    return seen


def _assigned(assignments: list[Any], line: int) -> str:
    """Returns the name that a line assigns to, if it is one name."""
    for node in assignments:
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if node.lineno <= line <= (node.end_lineno or line) and isinstance(target, ast.Name):
            return target.id
    return "x"


def _told_apart(draws: list[Draw]) -> list[Draw]:
    """Makes all names different."""
    found: dict[str, Draw] = {}
    for one in draws:
        name = one.name if one.name not in found else f"{one.name}{len(found)}"
        found[name] = replace(one, name=name)
    return list(found.values())
