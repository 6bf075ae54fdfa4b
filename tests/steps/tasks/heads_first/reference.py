"""Heads before positions, scaled."""

import jax.numpy as jnp


def heads_first(x, scale):
    """x [T, 128 H], scale [1, 1]: [H, T, 128]."""
    t, hd = x.shape
    h = hd // 128
    return jnp.transpose(x.reshape(t, h, 128), (1, 0, 2)) * scale
