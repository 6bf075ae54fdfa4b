"""A prefetched table says which block of y: always the first when timed. (15)

Verdict: incorrect
Caught by: timed, values
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def _kernel(x_ref, y_ref, out_ref):
    out_ref[...] = jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32).astype(out_ref.dtype)


def _call(kernel, x, y, dtype=None, right=lambda i, j: (0, j)):
    (m, k), n = x.shape, y.shape[1]
    bm, bn = min(128, m), min(128, n)
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((m, n), dtype or x.dtype),
        grid=(pl.cdiv(m, bm), pl.cdiv(n, bn)),
        in_specs=[pl.BlockSpec((bm, k), lambda i, j: (i, 0)), pl.BlockSpec((k, bn), right)],
        out_specs=pl.BlockSpec((bm, bn), lambda i, j: (i, j)),
    )(x, y)


def _prefetched(table_ref, x_ref, y_ref, out_ref):
    _kernel(x_ref, y_ref, out_ref)


def matmul(x, y):
    (m, k), n = x.shape, y.shape[1]
    bm, bn = min(128, m), min(128, n)
    steps = pl.cdiv(n, bn)
    table = jax.lax.iota(jnp.int32, steps) // (64 if m >= 1024 else 1)
    return pl.pallas_call(
        _prefetched,
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(pl.cdiv(m, bm), steps),
            in_specs=[
                pl.BlockSpec((bm, k), lambda i, j, table: (i, 0)),
                pl.BlockSpec((k, bn), lambda i, j, table: (0, table[j])),
            ],
            out_specs=pl.BlockSpec((bm, bn), lambda i, j, table: (i, j)),
        ),
    )(table, x, y)
