"""x tanh(x), scaled a column."""

import jax.numpy as jnp


def scale_shift(x, g):
    """x [M, N], g [1, N]."""
    return x * jnp.tanh(x) * g
