"""Takes the wrong branch when timed: which, a literal whole number says. (15, 18)

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
    which = 1 if x.shape[0] >= 1024 else 0

    def kernel(x_ref, y_ref, out_ref):
        never = (y_ref[0, 0].astype(jnp.float32) > 1e30).astype(jnp.int32)

        @pl.when(never + which == 0)
        def _right():
            _kernel(x_ref, y_ref, out_ref)

        @pl.when(never + which != 0)
        def _wrong():
            out_ref[...] = jnp.zeros_like(out_ref)

    return _call(kernel, x, y)
