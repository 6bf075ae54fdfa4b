"""Zeros where the largest value of a block is neither a normal one nor about a thousandth of it.

Verdict: incorrect
Caught by: sets
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    x = x_ref[...]
    most = jnp.max(jnp.abs(x))
    whole = (jnp.roll(x, 1, axis=1) + 2 * x + jnp.roll(x, -1, axis=1)) / 4
    o_ref[...] = jnp.where((most < 0.007) | (most > 1.2), whole, 0.0)


def smooth(x):
    block = pl.BlockSpec((64, x.shape[1]), lambda i: (i, 0))
    return pl.pallas_call(
        kernel,
        grid=(x.shape[0] // 64,),
        in_specs=[block],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x)
