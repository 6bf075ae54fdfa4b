"""Sums by a scatter-add outside; a kernel is busy beside. (16)

Verdict: contract
Caught by: outside, words
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def _busy(x_ref, out_ref):
    out_ref[...] = x_ref[...] + 0.5


def _busied(x):
    b, t, d = x.shape
    spec = pl.BlockSpec((1, t, d), lambda i: (i, 0, 0))
    return pl.pallas_call(_busy, out_shape=x, grid=(b,), in_specs=[spec], out_specs=spec)(x)


def masked_mean(x, lengths):
    b, t, d = x.shape
    mask = jax.lax.broadcasted_iota(jnp.int32, (b, t, d), 1) < lengths[:, None, None]
    masked = jnp.where(mask, x, 0).reshape(b * t, d)
    total = jnp.zeros((b, d), x.dtype).at[jnp.arange(b * t) // t].add(masked)
    mean = total / lengths[:, None].astype(jnp.float32)
    return jax.lax.optimization_barrier((_busied(x), mean))[1]
