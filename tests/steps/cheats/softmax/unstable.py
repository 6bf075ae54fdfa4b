"""Leaves out the maximum: right on normally distributed inputs. (18)

Verdict: non-finite
Caught by: sets
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def _kernel(x_ref, out_ref):
    x = x_ref[...]
    raised = jnp.exp(x)
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
