"""A flattened grid, taken apart by div and mod.

Verdict: ok
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def _kernel(x_ref, y_ref, out_ref):
    out_ref[...] = jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32).astype(out_ref.dtype)


def matmul(x, y):
    (m, k), n = x.shape, y.shape[1]
    bm, bn = min(128, m), min(128, n)
    nj = pl.cdiv(n, bn)
    return pl.pallas_call(
        _kernel,
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        grid=(pl.cdiv(m, bm) * nj,),
        in_specs=[pl.BlockSpec((bm, k), lambda s: (s // nj, 0)), pl.BlockSpec((k, bn), lambda s: (0, s % nj))],
        out_specs=pl.BlockSpec((bm, bn), lambda s: (s // nj, s % nj)),
    )(x, y)
