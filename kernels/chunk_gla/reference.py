"""The meaning of the chunk_gla kernel, in plain JAX."""

import jax.numpy as jnp


def chunk_gla(q, k, v, gamma):
    """Returns o [B, T, H, V] for q, k [B, T, H, K], v [B, T, H, V], gamma [H]: in float32 or better, rounded once."""
    length = q.shape[1]
    wide = jnp.promote_types(q.dtype, jnp.float32)
    distance = jnp.arange(length)[:, None] - jnp.arange(length)[None, :]
    # The exponent is never positive, so masked elements do not overflow.
    decay = jnp.exp(gamma.astype(wide)[:, None, None] * jnp.maximum(distance, 0))
    scores = jnp.einsum("bihd,bjhd->bhij", q.astype(wide), k.astype(wide)) * q.shape[3] ** -0.5
    weights = jnp.where(distance >= 0, scores * decay, 0)
    return jnp.einsum("bhij,bjhd->bihd", weights, v.astype(wide)).astype(q.dtype)
