"""Reads a few blocks of the right matrix again and again, for sizes that are only timed. (15, 18)

Verdict: contract
Caught by: coverage, values
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def _kernel(x_ref, y_ref, out_ref):
    out_ref[...] = jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32).astype(out_ref.dtype)


def matmul(x, y):
    (m, k), n = x.shape, y.shape[1]
    bm, bn = min(128, m), min(128, n)
    # One after another where it is checked.
    stay = 4 if m * n >= 1024 * 1024 else 1
    return pl.pallas_call(
        _kernel,
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        grid=(pl.cdiv(m, bm), pl.cdiv(n, bn)),
        in_specs=[pl.BlockSpec((bm, k), lambda i, j: (i, 0)), pl.BlockSpec((k, bn), lambda i, j: (0, j // stay))],
        out_specs=pl.BlockSpec((bm, bn), lambda i, j: (i, j)),
    )(x, y)
