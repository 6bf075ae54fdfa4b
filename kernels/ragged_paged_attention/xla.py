"""Attention over a paged cache as XLA does it best: blocks of queries of one sequence, all at once. The baseline.

For each block all pages of its sequence are gathered, because sizes are static; and all scores are there at one time.
"""

import jax
import jax.numpy as jnp

_BLOCK = 128


def ragged_paged_attention(q, kv_pages, kv_lens, page_indices, q_lens):
    """q [T, H, D], kv_pages [P, 2, G, B, D]: out [T, H, D] in the dtype of q."""
    rows, heads, width = q.shape
    pages, _, groups, page, _ = kv_pages.shape
    sequences, most_pages = page_indices.shape
    longest = most_pages * page
    block = min(_BLOCK, 1 << (max(rows // sequences, 1) - 1).bit_length())
    blocks = -(-rows // block)
    positions = jnp.clip(kv_lens, 0, longest)
    ends = jnp.minimum(jnp.cumsum(jnp.clip(q_lens, 0, positions)), rows)
    starts = jnp.concatenate([jnp.zeros_like(ends[:1]), ends[:-1]])

    # A visit computes the rows of one sequence (`owner`) in one block (`at`). A surplus visit owns no row.
    first = starts // block
    count = jnp.where(ends > starts, (ends + block - 1) // block - first, 0)
    after = jnp.cumsum(count)
    visit = jnp.arange(min(blocks + sequences - 1, rows))
    owner = jnp.minimum(jnp.sum(after[None, :] <= visit[:, None], axis=1), sequences - 1)
    at = jnp.clip(visit - (after - count)[owner] + first[owner], 0, blocks - 1)
    row = at[:, None] * block + jnp.arange(block)
    is_owned = (visit < after[-1])[:, None] & (starts[owner, None] <= row) & (row < ends[owner, None])
    is_seen = jnp.arange(longest) <= (positions[owner, None] - ends[owner, None] + row)[:, :, None]

    queries = jnp.pad(q, ((0, blocks * block - rows), (0, 0), (0, 0))).reshape(blocks, block, groups, -1, width)[at]
    own = jnp.clip(page_indices, 0, pages - 1)[owner]
    scores = jnp.einsum("vtghd,vwgbd->vghtwb", queries, kv_pages[own, 0], preferred_element_type=jnp.float32)
    scores = scores.reshape(*scores.shape[:4], longest) * width**-0.5
    weights = jax.nn.softmax(jnp.where(is_seen[:, None, None], scores, -1e37), axis=4).astype(q.dtype)
    weights = weights.reshape(*weights.shape[:4], most_pages, page)
    found = jnp.einsum("vghtwb,vwgbd->vtghd", weights, kv_pages[own, 1], preferred_element_type=jnp.float32)
    # At most one visit owns a row, so the sum over all visits is the result of that visit.
    found = jnp.where(is_owned[:, :, None, None, None], found, 0).astype(q.dtype)
    out = jnp.zeros((blocks, *found.shape[1:]), q.dtype).at[at].add(found)
    return out.reshape(-1, heads, width)[:rows]
