"""The rms_norm as XLA does it best: one fusion forward, and its own gradients. The baseline."""

import jax.numpy as jnp
from jax import lax


def rms_norm(x, weight, *, eps=1e-6):
    """x [B, H] over the root of its rows' mean square, times weight [H], left to XLA as a whole."""
    values = x.astype(jnp.float32)
    factor = lax.rsqrt(jnp.mean(jnp.square(values), axis=1, keepdims=True) + eps)
    return (values * factor * weight.astype(jnp.float32)).astype(x.dtype)
