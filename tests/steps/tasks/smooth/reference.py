"""A mean of neighbours."""

import jax.numpy as jnp


def smooth(x):
    """The middle one counts twice."""
    return (jnp.roll(x, 1, axis=1) + 2 * x + jnp.roll(x, -1, axis=1)) / 4
