"""Attention over a paged cache as XLA does it best: a scan over blocks of queries with one sequence each. The baseline.

Each step gathers its sequence's pages, all of them, for sizes are static.
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

    # Of each visit its sequence and its block; those that are too many have none of the sequence's rows.
    first = starts // block
    count = jnp.where(ends > starts, (ends + block - 1) // block - first, 0)
    after = jnp.cumsum(count)
    visit = jnp.arange(min(blocks + sequences - 1, rows))
    owner = jnp.minimum(jnp.sum(after[None, :] <= visit[:, None], axis=1), sequences - 1)
    at = jnp.clip(visit - (after - count)[owner] + first[owner], 0, blocks - 1)

    queries = jnp.pad(q, ((0, blocks * block - rows), (0, 0), (0, 0))).reshape(blocks, block, groups, -1, width)

    def one(out, step):
        sequence, number = step
        keys, values = kv_pages[jnp.clip(page_indices[sequence], 0, pages - 1)].transpose(1, 2, 0, 3, 4)
        scores = jnp.einsum("tghd,gpbd->ghtpb", queries[number], keys, preferred_element_type=jnp.float32).reshape(
            groups, -1, block, longest
        )
        row = number * block + jnp.arange(block)
        is_owned = (starts[sequence] <= row) & (row < ends[sequence])
        is_seen = jnp.arange(longest) <= (positions[sequence] - ends[sequence] + row)[:, None]
        weights = jax.nn.softmax(jnp.where(is_seen, scores * width**-0.5, -1e37), axis=3).astype(values.dtype)
        weights = weights.reshape(groups, -1, block, most_pages, page)
        found = jnp.einsum("ghtpb,gpbd->tghd", weights, values, preferred_element_type=jnp.float32).astype(out.dtype)
        return out.at[number].set(jnp.where(is_owned[:, None, None, None], found, out[number])), None

    out, _ = jax.lax.scan(one, jnp.zeros_like(queries), (owner, at))
    return out.reshape(-1, heads, width)[:rows]
