"""Hardly a function of its input."""

import jax.numpy as jnp


def flat(x):
    """Nearly one."""
    return 1 + jnp.tanh(x) / 10000
