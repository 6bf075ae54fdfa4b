"""The meaning of attention over a paged cache, in plain JAX."""

import jax
import jax.numpy as jnp


def spans(kv_lens, q_lens, rows, longest):
    """Of each sequence its first row, the one after its last, and how many positions it has: [S] each.

    Sequences have their queries one after another, as far as there are rows, and none has more queries than positions.
    """
    positions = jnp.clip(kv_lens, 0, longest)
    ends = jnp.minimum(jnp.cumsum(jnp.clip(q_lens, 0, positions)), rows)
    return jnp.concatenate([jnp.zeros_like(ends[:1]), ends[:-1]]), ends, positions


def ragged_paged_attention(q, kv_pages, kv_lens, page_indices, q_lens):
    """q [T, H, D], kv_pages [P, 2, G, B, D]: out [T, H, D] in the dtype of q, computed in float32 or better."""
    wide = jnp.promote_types(q.dtype, jnp.float32)
    rows, heads, width = q.shape
    pages, _, groups, page, _ = kv_pages.shape
    longest = page_indices.shape[1] * page
    starts, ends, positions = spans(kv_lens, q_lens, rows, longest)

    row, position = jnp.arange(rows), jnp.arange(longest)
    is_owner = (starts[:, None] <= row) & (row < ends[:, None])
    owner = jnp.argmax(is_owner, axis=0)
    # A row sees its own position and those before; its sequence's last row has the last one.
    is_seen = is_owner.any(axis=0)[:, None] & (position <= (positions[owner] - ends[owner] + row)[:, None])

    cache = kv_pages[jnp.clip(page_indices, 0, pages - 1)].astype(wide)
    keys, values = jnp.moveaxis(cache, (2, 3), (0, 2)).reshape(2, -1, groups, longest, width)[:, owner]
    scores = jnp.einsum("tghd,tgpd->tghp", q.reshape(rows, groups, -1, width).astype(wide), keys, precision="highest")
    weights = jax.nn.softmax(scores * width**-0.5, axis=3, where=is_seen[:, None, None])
    out = jnp.einsum("tghp,tgpd->tghd", jnp.where(is_seen[:, None, None], weights, 0), values, precision="highest")
    return out.reshape(rows, heads, width).astype(q.dtype)
