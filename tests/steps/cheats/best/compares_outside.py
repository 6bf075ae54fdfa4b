"""Finds the places by comparisons and selects outside of the kernel, which copies them.

Verdict: contract
Caught by: outside
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def _copy(at_ref, out_ref):
    out_ref[...] = at_ref[...]


def best(x):
    values, at = x, jnp.broadcast_to(jnp.arange(x.shape[1], dtype=jnp.int32), x.shape)
    while values.shape[1] > 1:
        half = values.shape[1] // 2
        left, right = values[:, :half], values[:, half:]
        is_right = (right > left) | ((right == left) & (at[:, half:] < at[:, :half]))
        values = jnp.where(is_right, right, left)
        at = jnp.where(is_right, at[:, half:], at[:, :half])
    return pl.pallas_call(_copy, out_shape=jax.ShapeDtypeStruct(at.shape, at.dtype))(at)
