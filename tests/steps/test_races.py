"""Tests of races: the report names the memory, and outputs that nobody reads have no races."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from interpreter import parts, races
from judge import interpret, outer
from programs import forms, wire

SHAPE = jax.ShapeDtypeStruct((16, 128), jnp.float32)
SIGNATURE = {"inputs": [{"name": "x"}], "outputs": [{"name": "out"}, {"name": "sums"}]}


def _body(x: Any, out: Any, sums: Any) -> None:
    out[...] = 2 * x[...]
    sums[...] = x[...]


def _both(x: Any) -> Any:
    """Writes the same block of the second output in two steps, which have no order."""
    block = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return pl.pallas_call(
        _body,
        grid=(2,),
        in_specs=[block],
        out_specs=[block, pl.BlockSpec((8, 128), lambda i: (0, 0))],
        out_shape=[SHAPE, jax.ShapeDtypeStruct((8, 128), jnp.float32)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",)),
    )(x)


def _race_of(function: Any) -> str:
    x = jnp.ones(SHAPE.shape, jnp.float32)
    closed = parts.flattened(jax.make_jaxpr(function)(x))
    run_kernel = interpret._Interpreter(1, closed.jaxpr, SIGNATURE)
    outer.evaluate(closed, [x], run_kernel)
    return run_kernel.race


def test_two_cores_may_write_what_nobody_reads() -> None:
    assert _race_of(lambda x: _both(x)[0]) == ""
    assert _race_of(jax.jit(lambda x: _both(jnp.sin(x))[0] + 1)) == ""


def test_what_is_read_has_a_race_and_a_name() -> None:
    assert _race_of(_both) == "'sums' at [0:8, 0:128]"
    assert _race_of(lambda x: (_both(x)[0], _both(x)[1] + 1)[1]) == "output 1 at [0:8, 0:128]"


def _signalling(kind: str, given: int, taken: int, first: bool = False) -> Any:
    """Returns a kernel that signals a semaphore and waits for the signal: in each step, or in the first and last."""

    def body(x: Any, out: Any, free: Any) -> None:
        if first:
            pl.when(pl.program_id(0) == 0)(lambda: pl.semaphore_signal(free, given))
            pl.when(pl.program_id(0) == pl.num_programs(0) - 1)(lambda: pl.semaphore_wait(free, taken))
        else:
            pl.semaphore_signal(free, given)
            pl.semaphore_wait(free, taken)
        out[...] = 2 * x[...]

    block = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return pl.pallas_call(
        body,
        grid=(2,),
        in_specs=[block],
        out_specs=block,
        out_shape=SHAPE,
        scratch_shapes=[pltpu.SemaphoreType.REGULAR],
        compiler_params=pltpu.CompilerParams(dimension_semantics=(kind,)),
    )


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (_signalling("parallel", 1, 1), ""),
        (_signalling("arbitrary", 1, 1), ""),
        (_signalling("arbitrary", 1, 1, first=True), ""),
        (_signalling("arbitrary", 2, 1), races.LEFT),
        (_signalling("arbitrary", 2, 1, first=True), races.LEFT),
    ],
)
def test_semaphores_are_back_at_zero(function: Any, said: str) -> None:
    assert _race_of(function) == said


def test_a_signal_to_another_core_is_refused() -> None:
    def body(x: Any, out: Any, free: Any) -> None:
        pl.semaphore_signal(free, 1, core_index=1)
        out[...] = x[...]

    call = pl.pallas_call(body, out_shape=SHAPE, scratch_shapes=[pltpu.SemaphoreType.REGULAR])
    with pytest.raises(wire.Unsendable, match="a kernel signals another core or device"):
        wire.unpack(wire.pack(jax.make_jaxpr(call)(SHAPE)))
    with_own = _signalling("arbitrary", 1, 1)
    assert len(wire.unpack(wire.pack(jax.make_jaxpr(with_own)(SHAPE))).jaxpr.eqns) == 1


def test_no_step_of_a_parallel_dimension_signals_another(monkeypatch: pytest.MonkeyPatch) -> None:
    watch = races.Watch(None, {})
    counts: list[Any] = []
    monkeypatch.setattr(watch, "_is_left", lambda _: bool(counts))
    watch._parallel = [0]
    watch.step([0, 0], 1)
    counts.append(1)
    watch.step([0, 1], 1)
    assert watch.found == ""
    watch.step([1, 0], 1)
    assert watch.found == races.PASSED_ON


def test_a_kernel_on_more_cores_than_one_is_refused_by_name() -> None:
    def on_two_cores(x: Any) -> Any:
        mesh = pltpu.create_tensorcore_mesh("core", num_cores=2)
        scratch = [pltpu.VMEM(SHAPE.shape, jnp.float32)]

        @pl.kernel(out_type=SHAPE, mesh=mesh, scratch_types=scratch)
        def run(x: Any, out: Any, block: Any) -> None:
            pltpu.sync_copy(x, block)
            pltpu.sync_copy(block, out)

        return run(x)

    with pytest.raises(NotImplementedError, match="a kernel on 2 cores of a TensorCoreMesh: only kernels on one"):
        forms.plain(jax.make_jaxpr(on_two_cores)(SHAPE))
    x = np.ones(SHAPE.shape, np.float32)
    closed = jax.make_jaxpr(lambda x: 2 * x)(x)
    assert forms.plain(closed) is closed
