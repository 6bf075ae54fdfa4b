"""Writes the next entry of its prefetched table: a TPU fetches another block then, and whoever interprets it does not.

Verdict: contract
Caught by: inputs, kept
"""

import jax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(table, x_ref, o_ref):
    step, last = pl.program_id(0), pl.num_programs(0) - 1

    @pl.when(step < last)
    def _():
        table[step + 1] = last - table[step]

    o_ref[...] = 1.5 * x_ref[...]


def walk(table, x):
    n, rows, width = x.shape
    grid = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(n,),
        in_specs=[pl.BlockSpec((1, rows, width), lambda i, table: (table[i], 0, 0))],
        out_specs=pl.BlockSpec((1, rows, width), lambda i, table: (i, 0, 0)),
    )
    return pl.pallas_call(kernel, grid_spec=grid, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(table, x)
