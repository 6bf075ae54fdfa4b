"""Tests of counting work that depends on a grid's indices, which are computed with the core's own integers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from conftest import SMALL  # noqa: F401 - finds the steps
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from judge import contract, mosaic, surroundings
from programs import program

STEPS = 8
ELEMENTS = 8 * 128


def flops_of(guard: Callable[[Any], Any]) -> float:
    """Counts the operations of a kernel that adds one to a block in the grid steps that the guard lets pass."""
    program.configure_jax()

    def kernel(x_ref: Any, out_ref: Any) -> None:
        @pl.when(guard(pl.program_id(0)))
        def _add() -> None:
            out_ref[...] = x_ref[...] + 1.0

    def call(x: Any) -> Any:
        spec = pl.BlockSpec((8, 128), lambda i: (i, 0))
        return pl.pallas_call(kernel, out_shape=x, grid=(STEPS,), in_specs=[spec], out_specs=spec)(x)

    shape = jax.ShapeDtypeStruct((8 * STEPS, 128), jnp.float32)
    exported = program.export_program(jax.make_jaxpr(call)(shape), [shape], "tpu")
    with program.opened(exported) as module:
        flops = surroundings.survey(module).inside
    assert flops.least == flops.most
    return flops.least / ELEMENTS


@pytest.mark.parametrize(
    ("guard", "steps"),
    [
        (lambda i: i < 3, 3),
        (lambda i: i % 3 == 0, 3),
        (lambda i: jnp.minimum(i, 5) > 2, 5),
        # With 32 bits, 2^32 is zero.
        (lambda i: (i + 1) * 65536 * 65536 != 0, 0),
        (lambda i: (i + 1) * 65536 * 16384 < 0, 4),
        # Without a sign, a number below zero is larger than all others.
        (lambda i: (i - 4).astype(jnp.uint32) < 4, 4),
        (lambda i: jax.lax.shift_right_logical(i - 4, 31) == 1, 4),
        (lambda i: jax.lax.shift_right_arithmetic(i - 4, 31) == -1, 4),
    ],
)
def test_steps_are_counted_by_their_index(guard: Callable[[Any], Any], steps: int) -> None:
    assert flops_of(guard) == steps


@pytest.mark.parametrize("left", [0, 1])
@pytest.mark.parametrize("what", ["copies", "signals"])
def test_what_is_not_waited_for_once_in_many_steps_is_told(what: str, left: int) -> None:
    steps = 500

    def kernel(x: Any, out: Any, memory: Any, copied: Any, ready: Any) -> None:
        copy = pltpu.make_async_copy(x, memory, copied)
        is_known = pl.program_id(0) < steps - left
        copy.start()
        pl.when(is_known if what == "copies" else True)(copy.wait)
        pl.semaphore_signal(ready, 2)
        pl.when(is_known if what == "signals" else True)(lambda: pl.semaphore_wait(ready, 2))
        out[...] = x[...]

    def call(x: Any) -> Any:
        scratch = [pltpu.VMEM((8, 128), jnp.float32), pltpu.SemaphoreType.DMA, pltpu.SemaphoreType.REGULAR]
        return pl.pallas_call(kernel, out_shape=x, grid=(steps,), scratch_shapes=scratch)(x)

    shape = jax.ShapeDtypeStruct((8, 128), jnp.float32)
    program.configure_jax()
    exported = program.export_program(jax.make_jaxpr(call)(shape), [shape], "tpu")
    with program.opened(exported) as module:
        (found,) = surroundings.survey(module).kernels
    with pytest.raises(contract.Breach, match="a kernel waits for only") if left else contextlib.nullcontext():
        contract._check_copies(found.work)


def test_what_a_guard_is_made_of_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    function_of = mosaic._function_of

    def counted(*arguments: Any) -> Any:
        read.append(arguments[1])
        return function_of(*arguments)

    monkeypatch.setattr(mosaic, "_function_of", counted)
    assert flops_of(lambda i: (i * 3 + 1) % 4 == 2) == 2
    # The guard's operations are not read again for each step of the grid.
    assert 0 < read.count("muli") < STEPS


def test_steps_of_long_grids_are_counted_by_the_indices_that_they_depend_on() -> None:
    program.configure_jax()
    rows, columns = 300, 200

    def kernel(x_ref: Any, out_ref: Any) -> None:
        i, j = pl.program_id(1), pl.program_id(2)

        @pl.when(j <= i)
        def _add() -> None:
            out_ref[...] = x_ref[...] + 1.0

        @pl.when(j == 7)
        def _multiply() -> None:
            out_ref[...] = x_ref[...] * 3.0

        out_ref[...] = x_ref[...] / 3.0

    def call(x: Any) -> Any:
        spec = pl.BlockSpec((8, 128), lambda b, i, j: (0, 0))
        return pl.pallas_call(kernel, out_shape=x, grid=(64, rows, columns), in_specs=[spec], out_specs=spec)(x)

    shape = jax.ShapeDtypeStruct((8, 128), jnp.float32)
    exported = program.export_program(jax.make_jaxpr(call)(shape), [shape], "tpu")
    with program.opened(exported) as module:
        flops = surroundings.survey(module).inside
    below = sum(min(i + 1, columns) for i in range(rows))
    assert flops.least == flops.most == 64 * ELEMENTS * (below + rows + rows * columns)
