"""Leaves out the last 128 of a large vocabulary's 32768 words: each weighs little in drawn inputs.

Verdict: incorrect
Caught by: needles
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

ROWS = 8


def tail(x):
    t, v = x.shape
    kept = v - 128 if v > 1024 else v

    def body(x_ref, out_ref):
        x = x_ref[:, :kept]
        most = x.max(axis=1, keepdims=True)
        summed = jnp.exp(x - most).sum(axis=1, keepdims=True)
        out_ref[...] = (most + jnp.log(summed)).astype(out_ref.dtype)

    return pl.pallas_call(
        body,
        grid=(t // ROWS,),
        in_specs=[pl.BlockSpec((ROWS, v), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((ROWS, 1), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((t, 1), jnp.bfloat16),
    )(x)
