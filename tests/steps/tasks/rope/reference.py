"""Rotary embedding."""

import jax.numpy as jnp


def rope(x):
    """Each pair of a head's halves is turned by an angle of its position."""
    t, _, d = x.shape
    frequency = 10000.0 ** (-jnp.arange(0, d, 2, dtype=jnp.float32) / d)
    angle = jnp.arange(t, dtype=jnp.float32)[:, None] * frequency
    cos, sin = jnp.cos(angle)[:, None], jnp.sin(angle)[:, None]
    a, b = x[..., : d // 2], x[..., d // 2 :]
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)
