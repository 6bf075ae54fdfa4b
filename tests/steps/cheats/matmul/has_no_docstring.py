"""Right without its docstring, as it is judged; with it, as it is given out, all rows are the first ones'.

Verdict: nondeterministic
Caught by: surroundings
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def _kernel(x_ref, y_ref, out_ref):
    """One block of rows and columns."""
    out_ref[...] = jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32).astype(out_ref.dtype)


def matmul(x, y):
    (m, k), n = x.shape, y.shape[1]
    bm, bn = min(128, m), min(128, n)
    row = _kernel.__doc__ is None
    return pl.pallas_call(
        _kernel,
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        grid=(pl.cdiv(m, bm), pl.cdiv(n, bn)),
        in_specs=[
            pl.BlockSpec((bm, k), lambda i, j: (i if row else 0, 0)),
            pl.BlockSpec((k, bn), lambda i, j: (0, j)),
        ],
        out_specs=pl.BlockSpec((bm, bn), lambda i, j: (i, j)),
    )(x, y)
