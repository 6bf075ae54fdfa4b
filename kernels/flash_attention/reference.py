"""The meaning of the flash_attention kernel, in plain JAX."""

import jax
import jax.numpy as jnp


def flash_attention(q, k, v, segment_ids):
    """Returns o [B, T, H, D] for q [B, T, H, D], k, v [B, T, G, D] and segment_ids [B, T].

    Head h attends with key and value h // (H / G), and position i to the positions up to i with the same segment id.
    The computation is in float32 or better, and is rounded once.
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
