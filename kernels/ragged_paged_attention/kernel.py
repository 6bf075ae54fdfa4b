"""Attention over a paged cache on a TPU core, of a batch of sequences whose queries are one ragged array.

The grid walks blocks of queries. Of each sequence that has some of a block's, its keys and values are walked in blocks
of whole pages, as far as the last of these queries sees; its positions are those after which the sequence ends. The
maximum of a row's scores, its sum of exponentials and its weighted sum are kept in VMEM and mended block by block. Rows
of other sequences have nothing but masked scores in it, which changes none of these, so all sequences of a block of
queries share them, and what was nobody's has a sum of zero.

Pages are copied one by one, as the page table says, into one of two buffers, while the other's are attended to; what is
next is fetched across the borders of sequences and of blocks. Around the kernel the queries of a block and of the heads
that share their keys are laid out as the rows of a matrix. Scores are in powers of two: log2(e) is part of their scale.
"""

import functools
import math
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

# EVOLVE-BLOCK-START
BLOCK_Q = 64
BLOCK_KV = 512
ROWS = 256
COPIES = 8

# LOWEST is below all real scores, and MASKED is far below LOWEST: two to the power of their difference is zero.
LOWEST = -1e37
MASKED = -3e38


@dataclass(frozen=True, slots=True)
class BlockSizes:
    """Queries of a block, at most; positions of a block of pages; rows side by side; pages copied at a time."""

    block_q: int = BLOCK_Q
    block_kv: int = BLOCK_KV
    rows: int = ROWS
    copies: int = COPIES


def spans(kv_lens, q_lens, rows, longest):
    """Where each sequence's rows begin, and the last ones end: [S + 1]; and how many positions each has: [S]."""
    positions = jnp.clip(kv_lens, 0, longest)
    ends = jnp.minimum(jnp.cumsum(jnp.clip(q_lens, 0, positions)), rows)
    return jnp.concatenate([jnp.zeros((1,), jnp.int32), ends]), positions


def queries_of_block(most, rows, sequences, shared):
    """No more than sequences have on average, but enough for eight rows of queries and their `shared` heads."""
    average = 1 << max(rows // sequences, 1).bit_length() - 1
    return min(max(min(most, average), 8 // math.gcd(8, shared)), rows)


def heads_of(most, rows, groups):
    """Heads of keys that go side by side: one, or as many as have `most` rows, and as all heads can be divided by."""
    return max(heads for heads in range(1, groups + 1) if groups % heads == 0 and heads <= max(most // rows, 1))


@dataclass(frozen=True, slots=True)
class Walk:
    """The way through blocks of queries, the sequences of each and these' blocks of pages, and what is copied on it.

    References, as the kernel has them, queries of a block, and pages copied at a time. A step is a block of pages.
    """

    starts: Any
    positions: Any
    table: Any
    cache: Any
    buffer: Any
    arrived: Any
    queries: int
    copies: int

    def seen(self, block, sequence):
        """How many positions of it the block's last query of the sequence sees; none where it has no query there."""
        known = jnp.minimum(sequence, self.positions.shape[0] - 1)
        end = self.starts[known + 1]
        high = jnp.minimum(end, (block + 1) * self.queries)
        is_there = (sequence == known) & (jnp.maximum(self.starts[known], block * self.queries) < high)
        return jnp.where(is_there, self.positions[known] - end + high, 0)

    def after(self, block, sequence, step):
        """Where it goes on."""
        length = self.buffer.shape[1] * self.buffer.shape[4]
        end, border = self.starts[sequence + 1], (block + 1) * self.queries
        is_last = (step + 1) * length >= self.seen(block, sequence)
        block += (is_last & (end >= border)).astype(jnp.int32)
        sequence += (is_last & (end <= border)).astype(jnp.int32)
        return block, sequence, jnp.where(is_last, 0, step + 1)

    def _each_copy(self, block, sequence, step, do):
        """Does something for each few pages that the step has."""
        _, pages, _, _, page, _ = self.buffer.shape
        left = pl.cdiv(self.seen(block, sequence), page) - step * pages

        def few(number, _):
            do(number * self.copies)
            return _

        jax.lax.fori_loop(0, pl.cdiv(jnp.clip(left, 0, pages), self.copies), few, None)

    def fetch(self, block, sequence, step, slot):
        """Starts to copy the step's pages into a buffer."""
        pages, row = self.buffer.shape[1], self.table.shape[1]

        def few(first):
            for number in range(self.copies):
                at = self.table[sequence, jnp.minimum(step * pages + first + number, row - 1)]
                into = self.buffer.at[slot, first + number]
                pltpu.make_async_copy(self.cache.at[at], into, self.arrived.at[slot]).start()

        self._each_copy(block, sequence, step, few)

    def wait(self, block, sequence, step, slot):
        """Waits for the step's pages."""

        def few(first):
            into = self.buffer.at[slot, pl.ds(first, self.copies)]
            pltpu.make_async_copy(into, into, self.arrived.at[slot]).wait()

        self._each_copy(block, sequence, step, few)


def attend(heads, place, key, q_ref, kv_ref, max_ref, sum_ref, acc_ref):
    """Mends what is kept of some heads by one block of keys and values: kv [pages, 2, G, B, D].

    A row sees the positions whose number, `key` [1, positions], is at most its own, `place` [rows, 1]. Heads go side by
    side, for each by itself is a chain of operations that wait for one another.
    """
    width = q_ref.shape[2]
    scale = math.log2(math.e) * width**-0.5
    dot = functools.partial(jax.lax.dot_general, preferred_element_type=jnp.float32)
    is_seen = key <= place
    products = [dot(q_ref[head], kv_ref[:, 0, head].reshape(-1, width), (((1,), (1,)), ((), ()))) for head in heads]
    scores = [jnp.where(is_seen, product * scale, MASKED) for product in products]
    before = [max_ref[head] for head in heads]
    most = [jnp.maximum(old, jnp.max(score, axis=1, keepdims=True)) for old, score in zip(before, scores, strict=True)]
    weights = [jnp.exp2(score - high) for score, high in zip(scores, most, strict=True)]
    fading = [jnp.exp2(old - high) for old, high in zip(before, most, strict=True)]
    sums = [
        sum_ref[head] * fade + jnp.sum(weight, axis=1, keepdims=True)
        for head, fade, weight in zip(heads, fading, weights, strict=True)
    ]
    values = [kv_ref[:, 1, head].reshape(-1, width) for head in heads]
    accs = [
        acc_ref[head] * fade + dot(weight.astype(value.dtype), value, (((1,), (0,)), ((), ())))
        for head, fade, weight, value in zip(heads, fading, weights, values, strict=True)
    ]
    for head, high, total, acc in zip(heads, most, sums, accs, strict=True):
        max_ref[head], sum_ref[head], acc_ref[head] = high, total, acc


def attention_kernel(
    starts_ref,
    positions_ref,
    table_ref,
    q_ref,
    cache_ref,
    out_ref,
    buffer_ref,
    max_ref,
    sum_ref,
    acc_ref,
    cursor_ref,
    arrived_ref,
    *,
    queries,
    copies,
    unrolled,
):
    """One block of queries: q and out [G, rows, D]; the cache [P, 2, G, B, D] is in HBM."""
    block = pl.program_id(0)
    groups, rows, _ = q_ref.shape
    _, pages, _, _, page, _ = buffer_ref.shape
    shared = rows // queries
    walk = Walk(starts_ref, positions_ref, table_ref, cache_ref, buffer_ref, arrived_ref, queries, copies)

    @pl.when(block == 0)
    def _start():
        # Positions behind a sequence's last page have no weight, but the numbers there must be finite.
        buffer_ref[...] = jnp.zeros_like(buffer_ref)
        cursor_ref[0] = 0
        cursor_ref[1] = 0
        walk.fetch(0, 0, 0, 0)

    max_ref[...] = jnp.full_like(max_ref, LOWEST)
    sum_ref[...] = jnp.zeros_like(sum_ref)
    acc_ref[...] = jnp.zeros_like(acc_ref)

    def one_step(state):
        *at, slot = state
        after = walk.after(*at)
        walk.fetch(*after, 1 - slot)
        walk.wait(*at, slot)
        _, sequence, step = at
        # `place` counts rows from the block's first query, `key` from its position. Each position has `shared` rows.
        end, first = starts_ref[sequence + 1], block * queries
        row = jax.lax.broadcasted_iota(jnp.int32, (rows, 1), 0)
        is_owned = (row >= (starts_ref[sequence] - first) * shared) & (row < (end - first) * shared)
        place = jnp.where(is_owned, row, -(2**31))
        position = step * pages * page + jax.lax.broadcasted_iota(jnp.int32, (1, pages * page), 1)
        key = (position - (positions_ref[sequence] - end + first)) * shared

        def some_heads(number, _):
            heads = [number * unrolled + head for head in range(unrolled)]
            attend(heads, place, key, q_ref, buffer_ref.at[slot], max_ref, sum_ref, acc_ref)
            return _

        @pl.when(walk.seen(block, sequence) > 0)
        def _attend():
            jax.lax.fori_loop(0, groups // unrolled, some_heads, None)

        return *after, 1 - slot

    _, sequence, _, slot = jax.lax.while_loop(
        lambda state: (state[0] == block) & (state[1] < positions_ref.shape[0]),
        one_step,
        (block, cursor_ref[0], 0, cursor_ref[1]),
    )
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
    rows, blocks = queries * shared, pl.cdiv(length, queries)
    starts, positions = spans(kv_lens, q_lens, length, most_pages * page)
    # In each block, the queries that share a head of keys lie side by side. The padding at the end is in no sequence.
    whole = jnp.pad(q, ((0, blocks * queries - length), (0, 0), (0, 0))) if length % queries != 0 else q
    turned = whole.reshape(blocks, queries, groups, shared, width).swapaxes(1, 2).reshape(blocks, groups, rows, width)
    of_queries = pl.BlockSpec((None, groups, rows, width), lambda i, starts, positions, pages: (i, 0, 0, 0))
    out = pl.pallas_call(
        functools.partial(
            attention_kernel,
            queries=queries,
            copies=math.gcd(sizes.copies, pages),
            unrolled=heads_of(sizes.rows, rows, groups),
        ),
        out_shape=jax.ShapeDtypeStruct(turned.shape, q.dtype),
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=3,
            grid=(blocks,),
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
        compiler_params=pltpu.CompilerParams(
            dimension_semantics=("arbitrary",), vmem_limit_bytes=48 * 2**20, disable_bounds_checks=True
        ),
        cost_estimate=pl.CostEstimate(
            # Each sequence counts as half as long as the longest possible one.
            flops=2 * length * heads * width * most_pages * page,
            bytes_accessed=(2 * q.size + sequences * most_pages * page * groups * width) * q.dtype.itemsize,
            transcendentals=length * heads * most_pages * page // 2,
        ),
        interpret=jax.default_backend() == "cpu",
        name="ragged_paged_attention",
    )(starts, positions, jnp.clip(page_indices, 0, held - 1), turned, kv_pages)
    straight = out.reshape(blocks, groups, queries, shared, width).swapaxes(1, 2)
    return straight.reshape(blocks * queries, heads, width)[:length]


# EVOLVE-BLOCK-END
