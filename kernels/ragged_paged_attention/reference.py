"""The meaning of attention over a paged cache, in plain JAX."""

import jax
import jax.numpy as jnp


def spans(kv_lens, q_lens, rows, longest):
    """Returns the first row of each sequence, the row after its last, and the number of its positions: [S] each.

    Each sequence has the next `q_lens` rows, or what is left of them, but no more rows than positions.
    """
    positions = jnp.clip(kv_lens, 0, longest)
    ends = jnp.minimum(jnp.cumsum(jnp.clip(q_lens, 0, positions)), rows)
    return jnp.concatenate([jnp.zeros_like(ends[:1]), ends[:-1]]), ends, positions


def ragged_paged_attention(q, kv_pages, kv_lens, page_indices, q_lens):
    """Returns out [T, H, D] in the dtype of q, for kv_pages [P, 2, G, B, D]; computed in float32 or better."""
    wide = jnp.promote_types(q.dtype, jnp.float32)
    rows, heads, width = q.shape
    pages, _, groups, page, _ = kv_pages.shape
    longest = page_indices.shape[1] * page
    row, position = jnp.arange(rows), jnp.arange(longest)
    queries = q.reshape(rows, groups, heads // groups, width).astype(wide)

    def of_sequence(sequence):
        start, end, length, indices = sequence
        is_owned = ((start <= row) & (row < end))[:, None, None, None]
        # A sequence's last row is at its last position. Each row sees its own position and those before it.
        is_seen = is_owned & (position <= (length - end + row)[:, None])[:, None, None]
        own_pages = kv_pages[jnp.clip(indices, 0, pages - 1)].astype(wide)
        keys, values = jnp.moveaxis(own_pages, 0, 2).reshape(2, groups, longest, width)
        scores = jnp.einsum("tghd,gpd->tghp", queries, keys, precision="highest") * width**-0.5
        weights = jax.nn.softmax(scores, axis=3, where=is_seen)
        return jnp.einsum("tghp,gpd->tghd", jnp.where(is_owned, weights, 0), values, precision="highest")

    found = jax.lax.map(of_sequence, (*spans(kv_lens, q_lens, rows, longest), page_indices))
    return jnp.sum(found, axis=0).reshape(q.shape).astype(q.dtype)
