"""flash_attention as XLA does it best: a loop over blocks of queries, each with all keys. The baseline to beat."""

import jax
import jax.numpy as jnp

# Queries per block; their scores are computed again for the gradients.
BLOCK = 512


def flash_attention(q, k, v, segment_ids):
    """q [B, T, H, D], k, v [B, T, G, D], segment_ids [B, T]: o [B, T, H, D] in the dtype of q."""
    batch, length, heads, width = q.shape
    block = min(BLOCK, length)
    count = -(-length // block)
    behind = count * block - length
    grouped = jnp.pad(q, ((0, 0), (0, behind), (0, 0), (0, 0))).reshape(batch, count, block, k.shape[2], -1, width)
    ids = jnp.pad(segment_ids, ((0, 0), (0, behind)), mode="edge").reshape(batch, count, block)
    keys, values = jnp.transpose(k, (0, 2, 1, 3)), jnp.transpose(v, (0, 2, 1, 3))

    @jax.checkpoint
    def of_block(one):
        q, q_ids, first = one
        scores = jnp.einsum("bgnid,bgjd->bgnij", q, keys, preferred_element_type=jnp.float32) * width**-0.5
        distance = first + jnp.arange(block)[:, None] - jnp.arange(length)[None, :]
        is_seen = (distance >= 0) & (q_ids[:, :, None] == segment_ids[:, None, :])
        weights = jax.nn.softmax(jnp.where(is_seen[:, None, None], scores, -1e30), axis=-1)
        return jnp.einsum("bgnij,bgjd->bgnid", weights.astype(v.dtype), values).astype(v.dtype)

    blocks = jnp.transpose(grouped, (1, 0, 3, 4, 2, 5)), jnp.moveaxis(ids, 1, 0), jnp.arange(count) * block
    out = jnp.transpose(jax.lax.map(of_block, blocks), (1, 0, 4, 2, 3, 5))
    return out.reshape(batch, count * block, heads, width)[:, :length]
