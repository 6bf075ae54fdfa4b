"""Skips all but the first row of blocks when timed, under a guard that seems to hang on memory. (15)

Verdict: non-finite
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


def _guarded(x_ref, y_ref, out_ref):
    never = (y_ref[0, 0].astype(jnp.float32) > 1e30).astype(jnp.int32)

    @pl.when((pl.num_programs(0) <= 4) | (pl.program_id(0) < never + 1))
    def _compute():
        _kernel(x_ref, y_ref, out_ref)


def matmul(x, y):
    return _call(_guarded, x, y)
