"""The table of angles is made outside, as models do once for all layers: the kernel only turns.

Verdict: ok
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

ROWS = 32


def _kernel(cos_ref, sin_ref, x_ref, out_ref):
    half = x_ref.shape[-1] // 2
    cos, sin = cos_ref[...][:, None], sin_ref[...][:, None]
    a, b = x_ref[:, :, :half], x_ref[:, :, half:]
    out_ref[...] = jnp.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def rope(x):
    t, h, d = x.shape
    frequency = 10000.0 ** (-jnp.arange(0, d, 2, dtype=jnp.float32) / d)
    angle = jnp.arange(t, dtype=jnp.float32)[:, None] * frequency
    table = pl.BlockSpec((ROWS, d // 2), lambda i: (i, 0))
    block = pl.BlockSpec((ROWS, h, d), lambda i: (i, 0, 0))
    return pl.pallas_call(
        _kernel,
        grid=(pl.cdiv(t, ROWS),),
        in_specs=[table, table, block],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(jnp.cos(angle), jnp.sin(angle), x)
