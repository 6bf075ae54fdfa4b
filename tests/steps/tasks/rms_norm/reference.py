"""RMS normalisation."""

import jax
import jax.numpy as jnp


def rms_norm(x, w):
    """Each row over the root of its mean square, times the weights."""
    return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6) * w
