"""The meaning of the fused_chunk_simple_gla kernel, in plain JAX."""

import jax.numpy as jnp


def fused_chunk_simple_gla(q, k, v, g, gamma, h0):
    """Returns o [B, T, H, V] in the dtype of q, and ht [B, H, K, V] in the dtype of h0.

    The inputs are q, k [B, T, H, K], v [B, T, H, V], g [B, T, H], gamma [H] and h0 [B, H, K, V]. The computation is in
    float32 or better, and is rounded once.
    """
    dtype, length, scale = q.dtype, q.shape[1], q.shape[3] ** -0.5
    wide = jnp.promote_types(dtype, jnp.float32)
    # The logarithm of the share of the initial state that is left after each position: [B, H, T].
    left = jnp.swapaxes(jnp.cumsum(g.astype(wide) + gamma.astype(wide), axis=1), 1, 2)
    q, k, v, start = (x.astype(wide) for x in (q, k, v, h0))
    is_seen = jnp.arange(length)[:, None] >= jnp.arange(length)[None, :]
    # No exponent is positive, so masked elements do not overflow.
    decay = jnp.exp(jnp.where(is_seen, left[:, :, :, None] - left[:, :, None, :], 0))
    weights = jnp.where(is_seen, jnp.einsum("bihd,bjhd->bhij", q, k) * decay, 0)
    o = jnp.einsum("bhij,bjhd->bihd", weights, v) + jnp.einsum("bihd,bhi,bhde->bihe", q, jnp.exp(left), start)
    last = left[:, :, -1:]
    ht = start * jnp.exp(last)[..., None] + jnp.einsum("bjhd,bhj,bjhe->bhde", k, jnp.exp(last - left), v)
    return (o * scale).astype(dtype), ht.astype(h0.dtype)
