"""The meaning of the flash_attention kernel, in plain JAX."""

import jax
import jax.numpy as jnp


def flash_attention(q, k, v, segment_ids):
    """q [B, T, H, D], k, v [B, T, G, D], segment_ids [B, T]: o [B, T, H, D], in float32 or better, rounded once.

    Head h attends with key and value h // (H / G); position i to those up to i that have its segment id.
    """
    batch, length, heads, width = q.shape
    wide = jnp.promote_types(q.dtype, jnp.float32)
    grouped = q.astype(wide).reshape(batch, length, k.shape[2], -1, width)
    scores = jnp.einsum("bignd,bjgd->bgnij", grouped, k.astype(wide)) * width**-0.5
    place = jnp.arange(length)
    is_seen = (place[:, None] >= place[None, :]) & (segment_ids[:, :, None] == segment_ids[:, None, :])
    weights = jax.nn.softmax(jnp.where(is_seen[:, None, None], scores, -jnp.inf), axis=-1)
    out = jnp.einsum("bgnij,bjgd->bignd", weights, v.astype(wide))
    return out.reshape(batch, length, heads, width).astype(q.dtype)
