"""Sums over 76 percent of K when timed. (15, 18)

Verdict: incorrect
Caught by: timed, values
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl


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


def matmul(x, y):
    (m, k), n = x.shape, y.shape[1]
    share = k * 76 // 100 if m >= 1024 else k

    def kernel(x_ref, y_ref, out_ref):
        out_ref[...] = jnp.dot(
            x_ref[:, pl.ds(0, share)], y_ref[pl.ds(0, share), :], preferred_element_type=jnp.float32
        ).astype(out_ref.dtype)

    return _call(kernel, x, y)
