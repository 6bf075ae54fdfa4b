"""The first that is large."""

import jax.numpy as jnp


def first(x):
    """x [M, N]."""
    n = x.shape[1]
    return jnp.where(x > 1, jnp.arange(n)[None, :], n).min(axis=1, keepdims=True).astype(jnp.int32)
