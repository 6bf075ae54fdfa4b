"""Attention over a paged cache on a TPU core, of a batch of sequences whose queries are one ragged array.

The grid walks blocks of queries. Of each sequence that has some of a block's, its keys and values are walked in blocks
of whole pages, as far as the last of these queries sees; its positions are those after which the sequence ends. The
maximum of a row's scores, its sum of exponentials and its weighted sum are kept in VMEM and mended block by block. Rows
of other sequences have nothing but masked scores in it, which changes none of these, so all sequences of a block of
queries share them, and what was nobody's has a sum of zero.

Pages are copied one by one, as the page table says, into one of two buffers, while the other's are attended to; what is
next is fetched across the borders of sequences and of blocks. Queries are laid out [G, T * H / G, D] around the kernel,
so that those of a head of keys are the rows of a matrix. Scores are in powers of two: log2(e) is part of their scale.
"""

import functools
import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

# EVOLVE-BLOCK-START
BLOCK_Q = 64
BLOCK_KV = 512
HEADS = 2

# A score that no query has, and less than that: of these the difference is finite, and its power of two is zero.
LOWEST = -1e37
MASKED = -3e38


@dataclass(frozen=True, slots=True)
class BlockSizes:
    """Queries of a block, at most; positions of a block of keys and values; heads of keys that are unrolled."""

    block_q: int = BLOCK_Q
    block_kv: int = BLOCK_KV
    heads: int = HEADS


def spans(kv_lens, q_lens, rows, longest):
    """Where each sequence's rows begin, and the last ones end: [S + 1]; and how many positions each has: [S]."""
    positions = jnp.clip(kv_lens, 0, longest)
    ends = jnp.minimum(jnp.cumsum(jnp.clip(q_lens, 0, positions)), rows)
    return jnp.concatenate([jnp.zeros((1,), jnp.int32), ends]), positions


def queries_of_block(most, rows, sequences, shared):
    """No more than sequences have on average, but enough for eight rows of queries and their `shared` heads."""
    average = 1 << max(rows // sequences, 1).bit_length() - 1
    return min(max(min(most, average), 8 // math.gcd(8, shared)), rows)


def attend(place, key, q, k, v, max_ref, sum_ref, acc_ref, head):
    """Mends the three of a head's by one block of keys and values: q [rows, D], k and v [positions, D].

    A row sees what has a `key` [1, positions] of at most its `place` [rows, 1].
    """
    scale = math.log2(math.e) * q.shape[1] ** -0.5
    scores = jax.lax.dot_general(q, k, (((1,), (1,)), ((), ())), preferred_element_type=jnp.float32)
    scores = jnp.where(key <= place, scores * scale, MASKED)
    before = max_ref[head]
    most = jnp.maximum(before, jnp.max(scores, axis=1, keepdims=True))
    weights, fading = jnp.exp2(scores - most), jnp.exp2(before - most)
    max_ref[head] = most
    sum_ref[head] = sum_ref[head] * fading + jnp.sum(weights, axis=1, keepdims=True)
    acc_ref[head] = acc_ref[head] * fading + jnp.dot(weights.astype(v.dtype), v, preferred_element_type=jnp.float32)


def attention_kernel(
    starts_ref,
    positions_ref,
    pages_ref,
    q_ref,
    kv_ref,
    out_ref,
    buffer_ref,
    max_ref,
    sum_ref,
    acc_ref,
    cursor_ref,
    arrived,
    *,
    queries,
    unrolled,
):
    """One block of queries: q and out [G, rows, D]; kv [P, 2, G, B, D] is in HBM, buffer [2, pages, 2, G, B, D]."""
    block = pl.program_id(0)
    sequences = positions_ref.shape[0]
    groups, rows, width = q_ref.shape
    _, pages, _, _, page, _ = buffer_ref.shape
    shared = rows // queries

    def seen(block, sequence):
        """How many positions of the sequence the block's last query of it sees; none where it has no query there."""
        known = jnp.minimum(sequence, sequences - 1)
        end = starts_ref[known + 1]
        high = jnp.minimum(end, (block + 1) * queries)
        is_there = (sequence == known) & (jnp.maximum(starts_ref[known], block * queries) < high)
        return jnp.where(is_there, positions_ref[known] - end + high, 0)

    def pages_at(block, sequence, step):
        """How many pages the step has of it."""
        return jnp.clip(pl.cdiv(seen(block, sequence), page) - step * pages, 0, pages)

    def fetch(block, sequence, step, slot):
        def one(number, _):
            at = pages_ref[sequence, step * pages + number]
            pltpu.make_async_copy(kv_ref.at[at], buffer_ref.at[slot, number], arrived.at[slot]).start()
            return _

        jax.lax.fori_loop(0, pages_at(block, sequence, step), one, None)

    def wait(block, sequence, step, slot):
        def one(number, _):
            pltpu.make_async_copy(kv_ref.at[0], buffer_ref.at[slot, number], arrived.at[slot]).wait()
            return _

        jax.lax.fori_loop(0, pages_at(block, sequence, step), one, None)

    @pl.when(block == 0)
    def _start():
        # What lies behind a sequence's last page has no weight, but it has to be finite.
        buffer_ref[...] = jnp.zeros_like(buffer_ref)
        cursor_ref[0] = 0
        cursor_ref[1] = 0
        fetch(0, 0, 0, 0)

    max_ref[...] = jnp.full_like(max_ref, LOWEST)
    sum_ref[...] = jnp.zeros_like(sum_ref)
    acc_ref[...] = jnp.zeros_like(acc_ref)

    def is_left(state):
        at, sequence, _, _ = state
        return (at == block) & (sequence < sequences)

    def one_step(state):
        _, sequence, step, slot = state
        end = starts_ref[sequence + 1]
        is_last = (step + 1) * pages * page >= seen(block, sequence)
        next_block = block + (is_last & (end >= (block + 1) * queries)).astype(jnp.int32)
        next_sequence = sequence + (is_last & (end <= (block + 1) * queries)).astype(jnp.int32)
        next_step = jnp.where(is_last, 0, step + 1)
        fetch(next_block, next_sequence, next_step, 1 - slot)
        wait(block, sequence, step, slot)

        # Rows and positions are counted from the block's first row, in heads.
        first = block * queries
        row = jax.lax.broadcasted_iota(jnp.int32, (rows, 1), 0)
        is_owned = (row >= (starts_ref[sequence] - first) * shared) & (row < (end - first) * shared)
        place = jnp.where(is_owned, row, -(2**31))
        position = step * pages * page + jax.lax.broadcasted_iota(jnp.int32, (1, pages * page), 1)
        key = (position - (positions_ref[sequence] - end + first)) * shared

        def one_head(head):
            k = buffer_ref[slot, :, 0, head].reshape(pages * page, width)
            v = buffer_ref[slot, :, 1, head].reshape(pages * page, width)
            attend(place, key, q_ref[head], k, v, max_ref, sum_ref, acc_ref, head)

        def some_heads(number, _):
            for head in range(unrolled):
                one_head(number * unrolled + head)
            return _

        @pl.when(seen(block, sequence) > 0)
        def _attend():
            jax.lax.fori_loop(0, groups // unrolled, some_heads, None)

        return next_block, next_sequence, next_step, 1 - slot

    _, sequence, _, slot = jax.lax.while_loop(is_left, one_step, (block, cursor_ref[0], 0, cursor_ref[1]))
    cursor_ref[0] = sequence
    cursor_ref[1] = slot
    total = sum_ref[...]
    out_ref[...] = jnp.where(total > 0, acc_ref[...] / total, 0).astype(out_ref.dtype)


def ragged_paged_attention(q, kv_pages, kv_lens, page_indices, q_lens, *, block_sizes=None):
    """q [T, H, D], kv_pages [P, 2, G, B, D], kv_lens and q_lens [S], page_indices [S, W]: out [T, H, D]."""
    sizes = block_sizes or BlockSizes()
    length, heads, width = q.shape
    held, _, groups, page, _ = kv_pages.shape
    sequences, most_pages = page_indices.shape
    shared = heads // groups
    queries = queries_of_block(sizes.block_q, length, sequences, shared)
    pages = min(max(sizes.block_kv // page, 1), most_pages)
    rows = queries * shared
    starts, positions = spans(kv_lens, q_lens, length, most_pages * page)
    # Beside one another are the queries of a head of keys.
    turned = q.reshape(length, groups, shared, width).swapaxes(0, 1).reshape(groups, length * shared, width)
    of_queries = pl.BlockSpec((groups, rows, width), lambda i, starts, positions, pages: (0, i, 0))
    out = pl.pallas_call(
        functools.partial(attention_kernel, queries=queries, unrolled=math.gcd(sizes.heads, groups)),
        out_shape=jax.ShapeDtypeStruct(turned.shape, q.dtype),
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=3,
            grid=(pl.cdiv(length, queries),),
            in_specs=[of_queries, pl.BlockSpec(memory_space=pl.ANY)],
            out_specs=of_queries,
            scratch_shapes=[
                pltpu.VMEM((2, pages, 2, groups, page, width), kv_pages.dtype),
                pltpu.VMEM((groups, rows, 1), jnp.float32),
                pltpu.VMEM((groups, rows, 1), jnp.float32),
                pltpu.VMEM((groups, rows, width), jnp.float32),
                pltpu.SMEM((2,), jnp.int32),
                pltpu.SemaphoreType.DMA((2,)),
            ],
        ),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("arbitrary",), vmem_limit_bytes=48 * 2**20),
        cost_estimate=pl.CostEstimate(
            # Half of what the longest sequences would take.
            flops=2 * length * heads * width * most_pages * page,
            bytes_accessed=(2 * q.size + sequences * most_pages * page * groups * width) * q.dtype.itemsize,
            transcendentals=length * heads * most_pages * page // 2,
        ),
        interpret=jax.default_backend() == "cpu",
        name="ragged_paged_attention",
    )(starts, positions, jnp.clip(page_indices, 0, held - 1), turned, kv_pages)
    return out.reshape(groups, length, shared, width).swapaxes(0, 1).reshape(q.shape)


# EVOLVE-BLOCK-END
