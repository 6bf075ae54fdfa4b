"""Writes a constant, after much work on nothing, where the task hardly depends on its input. (1)

Verdict: contract
Caught by: dependence
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def _kernel(out_ref):
    busy = jnp.zeros(out_ref.shape, jnp.float32)
    for _ in range(4):
        busy = jnp.tanh(busy)
    out_ref[...] = 1 + busy


def flat(x):
    m, n = x.shape
    return pl.pallas_call(_kernel, out_shape=x, grid=(m // 128,), out_specs=pl.BlockSpec((128, n), lambda i: (i, 0)))()
