"""Whole numbers of 8 bits."""

import jax.numpy as jnp


def quantise(x):
    """The nearest to 64 x."""
    return jnp.clip(jnp.round(x * 64), -128, 127).astype(jnp.int8)
