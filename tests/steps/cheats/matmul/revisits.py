"""Sums in the output over the outermost dimension: no TPU reads the block again. (19)

Verdict: race
Caught by: order, interpreter, values
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def _adding(x_ref, y_ref, out_ref):
    @pl.when(pl.program_id(0) == 0)
    def _clear():
        out_ref[...] = jnp.zeros_like(out_ref)

    out_ref[...] += jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32)


def matmul(x, y):
    (m, k), n = x.shape, y.shape[1]
    bm, bn, bk = min(128, m), min(128, n), 128
    return pl.pallas_call(
        _adding,
        out_shape=jax.ShapeDtypeStruct((m, n), jnp.float32),
        grid=(k // bk, pl.cdiv(m, bm), pl.cdiv(n, bn)),
        in_specs=[pl.BlockSpec((bm, bk), lambda k, i, j: (i, k)), pl.BlockSpec((bk, bn), lambda k, i, j: (k, j))],
        out_specs=pl.BlockSpec((bm, bn), lambda k, i, j: (i, j)),
    )(x, y).astype(x.dtype)
