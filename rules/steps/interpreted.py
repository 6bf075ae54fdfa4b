"""What Pallas' TPU interpreter is given: of a kernel's equation, and of settings."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

from jax._src import core
from jax._src.pallas.mosaic.interpret import interpret_pallas_call as interpreter
from jax.experimental.pallas import tpu as pltpu

import candidate
import footprint
import tpu_only
import views

_TAKEN = frozenset(inspect.signature(interpreter.interpret_pallas_call).parameters)


def prepared(closed: core.ClosedJaxpr) -> core.ClosedJaxpr:
    """A program in words that the interpreter has."""
    return closed.replace(jaxpr=views.without(tpu_only.without(closed.jaxpr)))


def settings(**others: Any) -> pltpu.InterpretParams:
    """The interpreter's. What lies behind an array within its last tile is there, as on a TPU, and is no number."""
    candidate.known_tpu_on_cpu()
    return pltpu.InterpretParams(buffer_bounds="padded", **others)


def parameters(equation: Any) -> dict[str, Any]:
    """The interpreter's parameters for a `pallas_call`."""
    params = {name: value for name, value in equation.params.items() if name in _TAKEN}
    params["compiler_params"] = _compiler_parameters(params)
    return params


def _compiler_parameters(kernel: dict[str, Any]) -> Any:
    """The interpreter only takes parallel dimensions that stand before all others."""
    parallel = footprint.parallel_axes(kernel)
    if not parallel and kernel["compiler_params"] is None:
        return None
    options = kernel["compiler_params"] or pltpu.CompilerParams()
    kinds = ["parallel" if axis in parallel else "arbitrary" for axis in range(len(kernel["grid_mapping"].grid))]
    is_taken = parallel == list(range(len(parallel)))
    return dataclasses.replace(options, dimension_semantics=tuple(kinds) if is_taken else None)
