"""Bounds what it rounds, and only then makes whole numbers of it.

Verdict: ok
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def _kernel(x_ref, out_ref):
    out_ref[...] = jnp.clip(jnp.round(x_ref[...] * 64), -128, 127).astype(jnp.int8)


def quantise(x):
    m, n = x.shape
    block = pl.BlockSpec((32, n), lambda i: (i, 0))
    return pl.pallas_call(
        _kernel,
        out_shape=jax.ShapeDtypeStruct((m, n), jnp.int8),
        grid=(m // 32,),
        in_specs=[block],
        out_specs=block,
    )(x)
