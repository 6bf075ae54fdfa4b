"""A copy for each row, and one wait for as many rows as there are: its size is known at run time only.

Verdict: ok
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

ROWS = 8


def _kernel(ids_ref, table_ref, out_ref, rows_ref, sem):
    first = pl.program_id(0) * ROWS
    count = jnp.minimum(ROWS, ids_ref.shape[0] - first)

    @pl.loop(0, count)
    def _start(row):
        at = pl.ds(ids_ref[first + row], 1)
        pltpu.make_async_copy(table_ref.at[at], rows_ref.at[pl.ds(row, 1)], sem).start()

    there = rows_ref.at[pl.ds(0, count)]
    pltpu.make_async_copy(there, there, sem).wait()
    out_ref[...] = 2 * rows_ref[...]


def gathered_rows(table, ids):
    t, d = ids.shape[0], table.shape[1]
    return pl.pallas_call(
        _kernel,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(pl.cdiv(t, ROWS),),
            in_specs=[pl.BlockSpec(memory_space=pltpu.HBM)],
            out_specs=pl.BlockSpec((ROWS, d), lambda i, ids: (i, 0)),
            scratch_shapes=[pltpu.VMEM((ROWS, d), table.dtype), pltpu.SemaphoreType.DMA],
        ),
        out_shape=jax.ShapeDtypeStruct((t, d), table.dtype),
    )(ids, table)
