"""Falls back to the library where the kernel does not trace. (16)

Verdict: contract
Caught by: kernels, inside, outside, words
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def _kernel(x_ref, y_ref, out_ref):
    raise NotImplementedError


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
    try:
        return _call(_kernel, x, y)
    except NotImplementedError:
        return jnp.dot(x, y, preferred_element_type=jnp.float32).astype(x.dtype)
