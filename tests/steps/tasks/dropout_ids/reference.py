"""Dropout by a hash of given ids."""

import jax.numpy as jnp


def dropout(x, ids):
    """What is left of x, doubled."""
    for _ in range(8):
        ids = ids ^ (ids << 13)
        ids = ids ^ (ids >> 17)
        ids = ids ^ (ids << 5)
    return jnp.where((ids >> 7) & 1 == 1, x * 2, 0)
