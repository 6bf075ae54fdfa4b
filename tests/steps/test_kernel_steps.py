"""Tests of running some steps of a kernel: only steps that the wanted steps need run, and no step waits forever."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from interpreter import kernel_steps
from judge import interpret, outer

ROWS, STEPS = 8, 16
SHAPE = jax.ShapeDtypeStruct((ROWS * STEPS, 128), jnp.float32)
ANY = pl.BlockSpec(memory_space=pl.ANY)


def _fetched(x: Any, buffer: Any, semaphores: Any, step: Any) -> Any:
    slot = jax.lax.rem(step, 2)
    return pltpu.make_async_copy(x.at[pl.ds(step * ROWS, ROWS)], buffer.at[slot], semaphores.at[slot])


def _prefetching(x: Any, out: Any, buffer: Any, semaphores: Any) -> None:
    """Starts, in each step, the copy that the next step waits for."""
    i = pl.program_id(0)

    @pl.when(i == 0)
    def _() -> None:
        _fetched(x, buffer, semaphores, i).start()

    @pl.when(i + 1 < STEPS)
    def _() -> None:
        _fetched(x, buffer, semaphores, i + 1).start()

    _fetched(x, buffer, semaphores, i).wait()
    out[...] = 2 * buffer[jax.lax.rem(i, 2)]


def _prefetching_too_much(x: Any, out: Any, buffer: Any, semaphores: Any) -> None:
    """Starts a copy in the last step, too. No step waits for this copy."""
    i = pl.program_id(0)
    pl.when(i == 0)(lambda: _fetched(x, buffer, semaphores, i).start())
    _fetched(x, buffer, semaphores, jax.lax.rem(i + 1, STEPS)).start()
    _fetched(x, buffer, semaphores, i).wait()
    out[...] = 2 * buffer[jax.lax.rem(i, 2)]


def _signalling(x: Any, out: Any, buffer: Any, semaphores: Any, more: Any) -> None:
    """Sends, in the last step, a signal that no step waits for."""
    copy = _fetched(x, buffer, semaphores, pl.program_id(0))
    copy.start()
    copy.wait()
    pl.when(pl.program_id(0) == STEPS - 1)(lambda: pl.semaphore_signal(more, 1))
    out[...] = 2 * buffer[jax.lax.rem(pl.program_id(0), 2)]


def _never_started(x: Any, out: Any, buffer: Any, semaphores: Any) -> None:
    _fetched(x, buffer, semaphores, pl.program_id(0)).wait()
    out[...] = buffer[0]


def _without_a_grid(x: Any, out: Any, scratch: Any) -> None:
    """Reads memory that nothing wrote, and does not use the value."""
    out[...] = jnp.where(x[...] > -jnp.inf, 2 * x[...], scratch[...])


_SCRATCH = [pltpu.VMEM((2, ROWS, 128), jnp.float32), pltpu.SemaphoreType.DMA((2,))]


def _call(body: Any) -> Any:
    spec = pl.BlockSpec((ROWS, 128), lambda i: (i, 0))
    scratch = [*_SCRATCH, *([pltpu.SemaphoreType.REGULAR] if body is _signalling else [])]
    return pl.pallas_call(body, grid=(STEPS,), in_specs=[ANY], out_specs=spec, out_shape=SHAPE, scratch_shapes=scratch)


def _evaluated(function: Any, rows: range) -> tuple[Any, Any, kernel_steps.SomeSteps]:
    x = np.random.default_rng(3).standard_normal(SHAPE.shape).astype(np.float32)
    kernels = kernel_steps.SomeSteps()
    region = (np.asarray(rows), None)
    closed = jax.make_jaxpr(function)(x)
    (found,) = kernel_steps.evaluate(closed, [x], [region], kernels)
    return x[rows.start : rows.stop], found, kernels


def test_a_step_that_waits_for_a_copy_of_the_step_before_is_run_with_it() -> None:
    x, found, kernels = _evaluated(_call(_prefetching), range(3 * ROWS, 4 * ROWS))
    np.testing.assert_array_equal(np.asarray(found), 2 * x)
    assert 1 < kernels.steps < kernels.all_steps


@pytest.mark.parametrize("is_second_way", [False, True])
@pytest.mark.parametrize("body", [_prefetching_too_much, _signalling])
def test_what_the_last_step_leaves_is_told(body: Any, is_second_way: bool) -> None:
    kernels = kernel_steps.SomeSteps()
    kernels.is_second_way = is_second_way
    x = np.ones(SHAPE.shape, np.float32)
    closed = jax.make_jaxpr(_call(body))(x)
    for rows in (range(ROWS), range((STEPS - 2) * ROWS, (STEPS - 1) * ROWS)):
        kernel_steps.evaluate(closed, [x], [(np.asarray(rows), None)], kernels)
    with pytest.raises(kernel_steps.Left, match="a kernel ends with a semaphore"):
        kernel_steps.evaluate(closed, [x], [(np.arange((STEPS - 1) * ROWS, STEPS * ROWS), None)], kernels)
    kernel_steps.evaluate(jax.make_jaxpr(_call(_prefetching))(x), [x], [(np.arange(len(x)), None)], kernels)


def test_what_a_parallel_step_leaves_is_told() -> None:
    def kernel(x: Any, out: Any, buffer: Any, semaphores: Any, more: Any) -> None:
        _fetched(x, buffer, semaphores, pl.program_id(0)).start()
        _fetched(x, buffer, semaphores, pl.program_id(0)).wait()
        pl.when(pl.program_id(0) == 3)(lambda: pl.semaphore_signal(more, 1))
        out[...] = 2 * buffer[jax.lax.rem(pl.program_id(0), 2)]

    call = pl.pallas_call(
        kernel,
        grid=(STEPS,),
        in_specs=[ANY],
        out_specs=pl.BlockSpec((ROWS, 128), lambda i: (i, 0)),
        out_shape=SHAPE,
        scratch_shapes=[*_SCRATCH, pltpu.SemaphoreType.REGULAR],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",)),
    )
    with pytest.raises(kernel_steps.Left, match="where a step of a parallel dimension ends"):
        _evaluated(call, range(2 * ROWS, 6 * ROWS))


COLUMNS = 4


def _over_a_grid(x: Any, out: Any, buffer: Any, semaphores: Any) -> None:
    """Does the same as _prefetching, over two axes."""
    step = pl.program_id(0) * COLUMNS + pl.program_id(1)

    def copy(t: Any) -> Any:
        block = x.at[pl.ds((t // COLUMNS) * ROWS, ROWS), pl.ds((t % COLUMNS) * 128, 128)]
        return pltpu.make_async_copy(block, buffer.at[jax.lax.rem(t, 2)], semaphores.at[jax.lax.rem(t, 2)])

    pl.when(step == 0)(lambda: copy(step).start())
    pl.when(step + 1 < COLUMNS * COLUMNS)(lambda: copy(step + 1).start())
    copy(step).wait()
    out[...] = 2 * buffer[jax.lax.rem(step, 2)]


@pytest.mark.parametrize("columns", [(0, 128), (64, 192)])
def test_a_step_finds_nothing_of_steps_before_others_that_were_not_run(columns: tuple[int, int]) -> None:
    shape = jax.ShapeDtypeStruct((ROWS * COLUMNS, 128 * COLUMNS), jnp.float32)
    call = pl.pallas_call(
        _over_a_grid,
        grid=(COLUMNS, COLUMNS),
        in_specs=[ANY],
        out_specs=pl.BlockSpec((ROWS, 128), lambda i, j: (i, j)),
        out_shape=shape,
        scratch_shapes=_SCRATCH,
    )
    x = np.random.default_rng(3).standard_normal(shape.shape).astype(np.float32)
    region = (np.arange(2 * ROWS), np.arange(*columns))
    closed = jax.make_jaxpr(call)(x)
    (found,) = kernel_steps.evaluate(closed, [x], [region], kernel_steps.SomeSteps())
    np.testing.assert_array_equal(np.asarray(found), 2 * x[: 2 * ROWS, slice(*columns)])


def test_what_nobody_starts_is_told() -> None:
    with pytest.raises(Exception, match="waits for a copy or a signal that nobody sends"):
        _evaluated(_call(_never_started), range(ROWS, 2 * ROWS))


def test_a_kernel_without_a_grid_may_read_what_nobody_wrote() -> None:
    call = pl.pallas_call(_without_a_grid, out_shape=SHAPE, scratch_shapes=[pltpu.VMEM(SHAPE.shape, jnp.float32)])
    x, found, _ = _evaluated(call, range(8))
    np.testing.assert_array_equal(np.asarray(found), 2 * x)


def _leaving_out(x: Any, out: Any) -> None:
    """Writes every second block."""

    @pl.when(jax.lax.rem(pl.program_id(0), 2) == 0)
    def _() -> None:
        out[...] = 2 * x[...]


def test_a_block_that_no_step_writes_is_not_what_the_one_before_it_is() -> None:
    spec = pl.BlockSpec((ROWS, 128), lambda i: (i, 0))
    kernel = pl.pallas_call(_leaving_out, grid=(STEPS,), in_specs=[spec], out_specs=spec, out_shape=SHAPE)
    x, found, _ = _evaluated(kernel, range(2 * ROWS, 4 * ROWS))
    np.testing.assert_array_equal(found[:ROWS], 2 * x[:ROWS])
    assert np.isnan(found[ROWS:]).all()
    whole = jnp.zeros(SHAPE.shape, SHAPE.dtype)
    (out,) = outer.evaluate(jax.make_jaxpr(kernel)(whole), [whole], interpret._Interpreter(1))
    assert np.isnan(np.asarray(out).reshape(STEPS // 2, 2, -1)[:, 1]).all()


def _told_to_stop(word: Any, x: Any, out: Any) -> None:
    """Leaves a message for all other steps in the first step."""
    out[...] = jnp.where(word[0] == 0, 2 * x[...], 0)

    @pl.when(pl.program_id(0) == 0)
    def _() -> None:
        word[0] = 1


def test_a_step_finds_in_a_prefetched_scalar_what_steps_before_have_left() -> None:
    spec = pl.BlockSpec((ROWS, 128), lambda i, _: (i, 0))
    grid = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(STEPS,), in_specs=[spec], out_specs=spec)
    kernel = pl.pallas_call(_told_to_stop, grid_spec=grid, out_shape=SHAPE)
    _, found, _ = _evaluated(lambda x: kernel(jnp.zeros((1,), jnp.int32), x), range(5 * ROWS, 6 * ROWS))
    np.testing.assert_array_equal(found, 0)


def _summed(x: Any, out: Any, total: Any) -> None:
    total[...] = jnp.where(pl.program_id(1) == 0, 0, total[...]) + x[...]
    out[...] = total[...]


def test_a_core_finds_nothing_in_scratch_that_another_core_has_left() -> None:
    spec = pl.BlockSpec((ROWS, 128), lambda i, j: (i * 4 + j, 0))
    kernel = pl.pallas_call(
        _summed,
        grid=(STEPS // 4, 4),
        in_specs=[spec],
        out_specs=spec,
        out_shape=SHAPE,
        scratch_shapes=[pltpu.VMEM((ROWS, 128), jnp.float32)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("arbitrary", "parallel")),
    )
    x = jnp.ones(SHAPE.shape, SHAPE.dtype)
    (out,) = outer.evaluate(jax.make_jaxpr(kernel)(x), [x], interpret._Interpreter(1))
    by_step = np.asarray(out).reshape(STEPS // 4, 4, -1)
    assert (by_step[:, 0] == 1).all()
    assert np.isnan(by_step[0, 1:]).all()


def _asks_the_poison(x: Any, out: Any, scratch: Any) -> None:
    """Works only if memory that nothing wrote is not a number."""
    out[...] = jnp.where(scratch[0, 0] != scratch[0, 0], 2 * x[...], 0)


def test_memory_that_nobody_wrote_holds_a_number_in_the_second_way() -> None:
    spec = pl.BlockSpec((ROWS, 128), lambda i: (i, 0))
    scratch = [pltpu.VMEM((ROWS, 128), jnp.float32)]
    kernel = pl.pallas_call(
        _asks_the_poison, grid=(1,), in_specs=[spec], out_specs=spec, out_shape=SHAPE, scratch_shapes=scratch
    )
    x = np.ones(SHAPE.shape, np.float32)
    kernels = kernel_steps.SomeSteps()
    closed = jax.make_jaxpr(kernel)(x)
    results = []
    for kernels.is_second_way in (False, True):
        results.append(kernel_steps.evaluate(closed, [x], [(np.arange(ROWS), None)], kernels)[0])
    assert [float(np.asarray(one).max()) for one in results] == [2, 0]
