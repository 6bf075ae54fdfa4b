"""Dots of eight-bit whole numbers: no float is narrow. (17)

Verdict: precision
Caught by: precision
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl


def _kernel(x_ref, y_ref, out_ref):
    x, y = x_ref[...], y_ref[...]
    sx = jnp.max(jnp.abs(x), axis=1, keepdims=True) / 127
    sy = jnp.max(jnp.abs(y), axis=0, keepdims=True) / 127
    sx, sy = jnp.maximum(sx, 1e-37), jnp.maximum(sy, 1e-37)
    qx, qy = (x / sx).astype(jnp.int8), (y / sy).astype(jnp.int8)
    out_ref[...] = jnp.dot(qx, qy, preferred_element_type=jnp.int32).astype(jnp.float32) * sx * sy


def matmul(x, y):
    (m, k), n = x.shape, y.shape[1]
    bm, bn = min(128, m), min(128, n)
    return pl.pallas_call(
        _kernel,
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        grid=(pl.cdiv(m, bm), pl.cdiv(n, bn)),
        in_specs=[pl.BlockSpec((bm, k), lambda i, j: (i, 0)), pl.BlockSpec((k, bn), lambda i, j: (0, j))],
        out_specs=pl.BlockSpec((bm, bn), lambda i, j: (i, j)),
    )(x, y)
