"""Sums over K in the outermost dimension, onto blocks that have left. (19)

Verdict: race
Caught by: order, interpreter, values
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

F = jnp.float32


def kernel(x_ref, y_ref, o_ref):
    @pl.when(pl.program_id(0) == 0)
    def _():
        o_ref[...] = jnp.zeros_like(o_ref)

    o_ref[...] += jnp.dot(x_ref[...], y_ref[...], preferred_element_type=F)


def matmul(x, y):
    (m, k), n = x.shape, y.shape[1]
    bm = 128 if m % 128 == 0 else m
    bn = 128 if n % 128 == 0 else n
    return pl.pallas_call(
        kernel,
        grid=(k // 128, m // bm, n // bn),
        in_specs=[pl.BlockSpec((bm, 128), lambda k, i, j: (i, k)), pl.BlockSpec((128, bn), lambda k, i, j: (k, j))],
        out_specs=pl.BlockSpec((bm, bn), lambda k, i, j: (i, j)),
        out_shape=jax.ShapeDtypeStruct((m, n), F),
    )(x, y).astype(x.dtype)
