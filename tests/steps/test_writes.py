"""Tests that a kernel writes to an input only if an output shares the input's memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import conftest  # noqa: F401 - finds the steps
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from interpreter import kept_inputs, writes
from judge import interpret, outer
from programs import wire

F32 = jnp.float32
ROWS = jax.ShapeDtypeStruct((64, 128), F32)


def _traced(function: Callable[..., Any], *arguments: Any) -> Any:
    return wire.unpack(wire.pack(jax.make_jaxpr(function)(*arguments)))


def _copied(x: Any, out: Any, scratch: Any, sem: Any) -> None:
    pltpu.async_copy(x, scratch, sem).wait()
    out[...] = scratch[...]


def _stored(x: Any, out: Any, *_: Any) -> None:
    x[0, 0] = 1.0
    out[...] = x[...]


def _masked(x: Any, out: Any, *_: Any) -> None:
    pltpu.store(x.at[0:8, :], jnp.zeros((8, 128), F32), mask=jnp.ones((8, 128), bool))
    out[...] = x[...]


def _copied_back(x: Any, out: Any, scratch: Any, sem: Any) -> None:
    _copied(x, out, scratch, sem)
    pltpu.async_copy(scratch.at[0:8, :], x.at[8:16, :], sem).wait()


def _deep(x: Any, out: Any, scratch: Any, sem: Any) -> None:
    def turn(i: Any, carry: Any) -> Any:
        @pl.when(i == 1)
        def _() -> None:
            def scoped(other: Any) -> None:
                def on(c: Any) -> Any:
                    pltpu.async_copy(other, x.at[pl.ds(8 * c, 8), :], sem).wait()
                    return c + 1

                jax.lax.while_loop(lambda c: c < 2, on, 0)

            pl.run_scoped(scoped, pltpu.VMEM((8, 128), F32))

        return carry

    jax.lax.fori_loop(0, 2, turn, 0)
    _copied(x, out, scratch, sem)


def _call(kernel: Any, where: Any, **more: Any) -> Callable[..., Any]:
    return pl.pallas_call(
        kernel,
        in_specs=[pl.BlockSpec(memory_space=where)],
        out_specs=pl.BlockSpec(memory_space=where if more else pltpu.VMEM),
        out_shape=ROWS,
        scratch_shapes=[pltpu.VMEM(ROWS.shape, F32), pltpu.SemaphoreType.DMA],
        **more,
    )


@pytest.mark.parametrize(
    ("kernel", "where"),
    [(_stored, pltpu.VMEM), (_masked, pltpu.VMEM), (_copied_back, pl.ANY), (_copied_back, pltpu.HBM), (_deep, pl.ANY)],
)
def test_no_input_is_written_to(kernel: Any, where: Any) -> None:
    closed = _traced(lambda x: jax.lax.cond(x[0, 0] > 0, _call(kernel, where), lambda x: x, x), ROWS)
    with pytest.raises(writes.Written, match=r"writes to (the block of )?input 0"):
        writes.check_inputs(closed.jaxpr)
    # A block in VMEM is the interpreter's own copy, so a write to it does not change the input.
    if where is not pltpu.VMEM:
        x = np.arange(1, 64 * 128 + 1, dtype=np.float32).reshape(64, 128)
        with pytest.raises(kept_inputs.Changed, match="writes to input 0"):
            outer.evaluate(closed, [x], interpret._Interpreter(1))


def _table(table: Any, x: Any, out: Any) -> None:
    table[0] = table[0] + 1
    out[...] = x[...]


def _steered(is_read: bool) -> Any:
    block = pl.BlockSpec(ROWS.shape, lambda i, table: (table[3] if is_read else 0, 0))
    grid = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(2,), in_specs=[block], out_specs=block)
    return _traced(pl.pallas_call(_table, grid_spec=grid, out_shape=ROWS), jax.ShapeDtypeStruct((4,), jnp.int32), ROWS)


def test_no_prefetched_scalar_that_an_index_map_reads_is_written_to() -> None:
    closed = _steered(is_read=True)
    with pytest.raises(writes.Written, match="writes to prefetched scalar 0"):
        writes.check_inputs(closed.jaxpr)
    arguments = [np.zeros(4, np.int32), np.ones(ROWS.shape, np.float32)]
    with pytest.raises(kept_inputs.Changed, match="writes to prefetched scalar 0"):
        outer.evaluate(closed, arguments, interpret._Interpreter(1))


def test_a_prefetched_scalar_may_keep_what_a_step_leaves() -> None:
    closed = _steered(is_read=False)
    writes.check_inputs(closed.jaxpr)
    arguments = [np.zeros(4, np.int32), np.ones(ROWS.shape, np.float32)]
    (out,) = outer.evaluate(closed, arguments, interpret._Interpreter(1))
    np.testing.assert_array_equal(out, arguments[1])


def test_what_shares_an_outputs_memory_may_be_written_to() -> None:
    def kernel(x: Any, out: Any, *_: Any) -> None:
        x[0:8, :] = out[0:8, :] * 2

    writes.check_inputs(_traced(_call(kernel, pl.ANY, input_output_aliases={0: 0}), ROWS).jaxpr)
    writes.check_inputs(_traced(_call(_copied, pl.ANY), ROWS).jaxpr)


def test_the_block_of_an_input_is_not_written_to_though_an_output_has_its_memory() -> None:
    spec = pl.BlockSpec((8, 128), lambda i: (i, 0))
    call = pl.pallas_call(
        _stored, grid=(8,), in_specs=[spec], out_specs=spec, out_shape=ROWS, input_output_aliases={0: 0}
    )
    with pytest.raises(writes.Written, match="writes to the block of input 0: write to an output or to scratch"):
        writes.check_inputs(_traced(call, ROWS).jaxpr)
