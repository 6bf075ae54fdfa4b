"""Zeros but for the largest elements: most elements are far below the root mean square, to which the largest come.

Verdict: precision
Caught by: typical, error, sets
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def _kernel(x_ref, out_ref):
    x = x_ref[...]
    cube = x * x * x
    least = 1.3 * jnp.sqrt(jnp.mean(x * x))
    out_ref[...] = jnp.where(jnp.abs(x) < least, 0.0, cube * cube * cube)


def ninth_power(x):
    block = pl.BlockSpec((min(128, x.shape[0]), x.shape[1]), lambda i: (i, 0))
    return pl.pallas_call(
        _kernel,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid=(x.shape[0] // block.block_shape[0],),
        in_specs=[block],
        out_specs=block,
    )(x)
