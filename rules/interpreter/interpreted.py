"""The input of Pallas' TPU interpreter: the parameters of a kernel's equation, and the settings."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import jax
import numpy as np
from jax._src import core
from jax._src.pallas.mosaic.interpret import interpret_pallas_call as interpreter
from jax._src.pallas.mosaic.interpret import utils as interpret_utils
from jax.experimental.pallas import tpu as pltpu

from interpreter import bounds, footprint, views
from programs import candidate, promises, tpu_only

# Operations whose results are NaN if an operand is NaN. A kernel with only such operations on numbers cannot tell NaN
# from a number.
_CARRIES = frozenset(
    """
    abs add add_any addupdate broadcast_in_dim concatenate copy cos cumsum div dma_start dma_wait dot_general
    dynamic_slice erf exp exp2 expand_dims expm1 floor get integer_pow log log1p logistic masked_load
    masked_swap max min mul neg reduce_max reduce_min reduce_sum reshape roll rsqrt select_n sin slice sqrt
    square squeeze stop_gradient sub swap tanh transpose
    """.split()
)

_TAKEN = frozenset(inspect.signature(interpreter.interpret_pallas_call).parameters)


def prepared(closed: core.ClosedJaxpr) -> core.ClosedJaxpr:
    """Returns a program that uses only operations that the interpreter has."""
    return closed.replace(jaxpr=views.without(tpu_only.without(closed.jaxpr)))


def settings(**others: Any) -> pltpu.InterpretParams:
    """Returns the settings.

    As on a TPU, memory continues after an array, up to the end of its last tile. It holds NaN there.
    """
    candidate.known_tpu_on_cpu()
    return pltpu.InterpretParams(buffer_bounds="padded", **others)


def parameters(equation: Any, watch: promises.Watch) -> dict[str, Any]:
    """Returns the interpreter's parameters for a `pallas_call`, with numbers as its blocks' names.

    `watch`: the watch on the kernel's promises.
    """
    params = {name: value for name, value in equation.params.items() if name in _TAKEN}
    params |= watch.watched(equation.params)
    params["jaxpr"] = bounds.numbered(params["jaxpr"], params["grid_mapping"])
    params["compiler_params"] = _compiler_parameters(params)
    return params


def _compiler_parameters(kernel: dict[str, Any]) -> Any:
    """Returns compiler parameters for the interpreter, which takes parallel dimensions only before all others."""
    parallel = footprint.parallel_axes(kernel)
    if not parallel and kernel["compiler_params"] is None:
        return None
    options = kernel["compiler_params"] or pltpu.CompilerParams()
    kinds = ["parallel" if axis in parallel else "arbitrary" for axis in range(len(kernel["grid_mapping"].grid))]
    is_taken = parallel == list(range(len(parallel)))
    return dataclasses.replace(options, dimension_semantics=tuple(kinds) if is_taken else None)


def can_tell(kernel: core.JaxprEqn) -> bool:
    """Whether a kernel can tell NaN from a number, or keeps whole numbers in memory."""
    body = kernel.params["jaxpr"]
    return any(_is_whole_memory(v.aval) for v in body.invars) or _tells(body)


def _tells(jaxpr: core.Jaxpr) -> bool:
    for equation in jaxpr.eqns:
        inner = list(core.jaxprs_in_params(equation.params))
        if any(map(_tells, inner)):
            return True
        if inner or not any(_is_number(v.aval) for v in equation.invars) or equation.primitive.name in _CARRIES:
            continue
        if equation.primitive.name != "convert_element_type" or not _is_number(equation.outvars[0].aval):
            return True
    return False


def _is_number(aval: Any) -> bool:
    return jax.numpy.issubdtype(getattr(aval, "dtype", np.int32), np.inexact)


def _is_whole_memory(aval: Any) -> bool:
    inner = getattr(aval, "inner_aval", None)
    return inner is not None and jax.numpy.issubdtype(getattr(inner, "dtype", np.float32), np.integer)


@contextlib.contextmanager
def filled(number: float | None, whole: Callable[[Any], int], flag: bool) -> Iterator[None]:
    """The context in which memory that nobody wrote holds these values; `number` None: NaN."""
    plain = interpret_utils.get_uninitialized_value

    def value(dtype: Any, kind: Any) -> Any:
        if dtype == np.bool_:
            return flag
        if jax.numpy.issubdtype(dtype, np.integer):
            return whole(dtype)
        return plain(dtype, kind) if number is None else number

    with mock.patch.object(interpret_utils, "get_uninitialized_value", value):
        yield


def forget(buffer: Any) -> None:
    """Fills memory with the content of memory that nobody wrote."""
    buffer.content[...] = interpret_utils.get_uninitialized_value(buffer.content.dtype, "nan")


@contextlib.contextmanager
def forgetting_blocks(equation: core.JaxprEqn, forget: Callable[[Any], None] = forget) -> Iterator[None]:
    """A context for tracing a kernel: an output's block that was copied back counts as memory that nobody wrote.

    The interpreter has one memory for all blocks of an output, so a step that writes nothing would return the values of
    the step before it. A TPU uses two memories in turn. `equation`: the kernel, whose blocks have numbers as their
    names (bounds.numbered).
    """
    made = enumerate(bounds.memories(equation), bounds.FIRST)
    numbers = {str(output): number for number, (kind, output) in made if kind is bounds.Kind.OUTPUT_BLOCK}
    plain = interpreter.store

    @functools.wraps(plain)
    def store(*arguments: Any, output_name: str | None = None, **named: Any) -> Any:
        token = plain(*arguments, output_name=output_name, **named)
        if output_name is not None:
            for (_, number, _, core_index), buffer in interpreter._get_shared_memory().mem.items():
                if number == numbers[output_name] and core_index == int(arguments[2]):
                    forget(buffer)
        return token

    # DMAs call the wrapped function, which stays the interpreter's own.
    store.__wrapped__ = plain.__wrapped__
    with mock.patch.object(interpreter, "store", store):
        yield


class OneCoreEach:
    """The content of scratch memory, for each index of a kernel's parallel axes.

    The interpreter treats parallel axes as ordered axes if they do not come before all others. On a TPU, a core runs
    the steps of some of their indices, and finds no values that another core's steps have left.
    """

    def __init__(self, equation: core.JaxprEqn) -> None:
        parallel = footprint.parallel_axes(equation.params)
        self._axes = parallel if parallel != list(range(len(parallel))) else []
        made = enumerate(bounds.memories(equation), bounds.FIRST)
        self._scratch = frozenset(number for number, (kind, _) in made if kind is bounds.Kind.SCRATCH)
        self._at: list[int] | None = None
        self._kept: dict[tuple[Any, ...], Any] = {}

    def step(self, point: Any) -> None:
        """Called before each step."""
        now = [int(point[axis]) for axis in self._axes]
        before, self._at = self._at, now
        if before is None or before == now:
            return
        for key, buffer in interpreter._get_shared_memory().mem.items():
            if key[1] not in self._scratch:
                continue
            self._kept[key, *before] = buffer.content.copy()
            kept = self._kept.get((key, *now))
            if kept is None:
                forget(buffer)
            else:
                buffer.content[...] = kept
