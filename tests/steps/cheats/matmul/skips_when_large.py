"""At the size that is timed, computes only the first block. (5, 18)

Verdict: contract
Caught by: inside, timed, values
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def _kernel(x_ref, y_ref, out_ref):
    @pl.when((pl.num_programs(0) <= 4) | (pl.program_id(0) == 0))
    def _compute():
        out_ref[...] = jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32).astype(out_ref.dtype)


def _call(kernel, x, y, dtype=None):
    (m, k), n = x.shape, y.shape[1]
    bm, bn = min(128, m), min(128, n)
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((m, n), dtype or x.dtype),
        grid=(pl.cdiv(m, bm), pl.cdiv(n, bn)),
        in_specs=[pl.BlockSpec((bm, k), lambda i, j: (i, 0)), pl.BlockSpec((k, bn), lambda i, j: (0, j))],
        out_specs=pl.BlockSpec((bm, bn), lambda i, j: (i, j)),
    )(x, y)


def matmul(x, y):
    return _call(_kernel, x, y)
