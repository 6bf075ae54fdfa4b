"""Three dimensions, one of which the kernel does not see.

Verdict: ok
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def _kernel(x_ref, y_ref, out_ref):
    out_ref[...] = jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32).astype(out_ref.dtype)


def matmul(x, y):
    (m, k), n = x.shape, y.shape[1]
    rows = 128 if m % 128 == 0 else m
    out = pl.pallas_call(
        _kernel,
        out_shape=jax.ShapeDtypeStruct((m // rows, rows, n), x.dtype),
        grid=(m // rows,),
        in_specs=[
            pl.BlockSpec((None, rows, k), lambda i: (i, 0, 0)),
            pl.BlockSpec((k, n), lambda i: (0, 0)),
        ],
        out_specs=pl.BlockSpec((pl.Squeezed(), rows, n), lambda i: (i, 0, 0)),
    )(x.reshape(m // rows, rows, k), y)
    return out.reshape(m, n)
