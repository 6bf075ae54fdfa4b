"""Leaves out a quarter of the sums where there are many rows: in a case that is too large to be compared whole.

Verdict: incorrect
Caught by: values
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def matmul(x, y):
    (m, k), n = x.shape, y.shape[1]
    kept = k - k // 4 if m > 1024 else k
    rows = 128 if m % 128 == 0 else m

    def body(x_ref, y_ref, out_ref):
        sums = jnp.dot(x_ref[:, :kept], y_ref[:kept], preferred_element_type=jnp.float32)
        out_ref[...] = sums.astype(out_ref.dtype)

    return pl.pallas_call(
        body,
        grid=(m // rows,),
        in_specs=[pl.BlockSpec((rows, k), lambda i: (i, 0)), pl.BlockSpec((k, n), lambda i: (0, 0))],
        out_specs=pl.BlockSpec((rows, n), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
    )(x, y)
