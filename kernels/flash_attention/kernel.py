"""Causal attention of grouped heads within segments on a TPU core: bfloat16 in and out, float32 sums.

    o_i = sum over j of p_ij v_j,    p_ij = exp(s q_i . k_j - lse_i),    s = D^-1/2

over j up to i with i's segment id. Scores are made block by block, [keys, queries], and are never in HBM. So what a
query has one of (maximum, sum, lse, delta) is a row, its sums run down the sublanes, and the products for gradients and
o have the weights as their right operand and are as wide as the matrix unit. Three kernels, as in FlashAttention-2: o
and lse; dq and delta; dk and dv. Each has a block of one side, fetches the other by spans, and walks these in blocks:
in a loop, for a step of the grid costs more. Those in which every key is behind every query are passed over.

Heads lie side by side in the lanes of [B, T, H * D], as which XLA lays the arrays out around the kernels.
"""

import functools
import math
from dataclasses import dataclass, fields

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

# EVOLVE-BLOCK-START
BLOCK_Q = 512
BLOCK_KV = 512
DQ_BLOCK_Q = 512
DQ_BLOCK_KV = 512
DKV_BLOCK_Q = 512
DKV_BLOCK_KV = 512

# The maximum number of positions that are fetched at once and then walked in blocks: a power of two.
SPAN = 4096
# The value of a score that does not count. It is finite, so that the difference of two scores is a number.
MASKED = -1e30


@dataclass(frozen=True, slots=True)
class BlockSizes:
    """Queries, and keys, of a block of scores: forward, for dq, and for dk and dv."""

    block_q: int = BLOCK_Q
    block_kv: int = BLOCK_KV
    dq_block_q: int = DQ_BLOCK_Q
    dq_block_kv: int = DQ_BLOCK_KV
    dkv_block_q: int = DKV_BLOCK_Q
    dkv_block_kv: int = DKV_BLOCK_KV


def dot(x, y, contracted=(1, 0)):
    """The product of two matrices, contracted along these axes."""
    axes = (((contracted[0],), (contracted[1],)), ((), ()))
    return jax.lax.dot_general(x, y, axes, preferred_element_type=jnp.float32)


def scores_of(k, q, k_ids, q_ids, ahead):
    """Scores in units of log 2, [keys, queries]. `ahead`: of the first key the first query, or None: every query is."""
    product = dot(k, q, (1, 1)) * (q.shape[1] ** -0.5 / math.log(2))
    scores = jnp.where(k_ids == q_ids, product, MASKED)
    if ahead is None:
        return scores
    key = jax.lax.broadcasted_iota(jnp.int32, scores.shape, 0)
    query = jax.lax.broadcasted_iota(jnp.int32, scores.shape, 1) + ahead
    return jnp.where(query >= key, scores, MASKED)


def loop(first, last, block, step):
    """Calls the step for blocks from the first to before the last."""

    def one(number, _):
        start = pl.multiple_of(number * block, block)
        step(start, pl.ds(start, block))
        return _

    jax.lax.fori_loop(first, last, one, None)


def over_keys(step, keys, span, queries):
    """Calls the step for the keys of a span, but those behind all queries: by whole blocks, then by masked parts."""
    ahead = pl.program_id(2) * queries - pl.program_id(3) * span
    part = math.gcd(keys, queries)
    whole = jnp.clip((ahead + 1) // keys, 0, span // keys)
    loop(0, whole, keys, lambda start, rows: step(rows, None))
    end = jnp.clip((ahead + queries) // part, 0, span // part)
    loop(whole * (keys // part), end, part, lambda start, rows: step(rows, ahead - start))


def forward_kernel(
    q_ref, k_ref, v_ref, q_ids_ref, k_ids_ref, o_ref, lse_ref, acc_ref, max_ref, sum_ref, *, keys, steps
):
    """What a span of keys adds to o of a block of queries; acc is o', [D, queries]."""

    @pl.when(pl.program_id(3) == 0)
    def _clear():
        acc_ref[...] = jnp.zeros_like(acc_ref)
        max_ref[...] = jnp.full_like(max_ref, MASKED)
        sum_ref[...] = jnp.zeros_like(sum_ref)

    def step(rows, ahead):
        z = scores_of(k_ref[0, rows], q_ref[0], k_ids_ref[0, rows], q_ids_ref[0], ahead)
        before = max_ref[...]
        most = jnp.maximum(before, jnp.max(z, axis=0, keepdims=True))
        weights = jnp.exp2(z - most)
        fading = jnp.exp2(before - most)
        sum_ref[...] = sum_ref[...] * fading + jnp.sum(weights, axis=0, keepdims=True)
        acc_ref[...] = acc_ref[...] * fading + dot(v_ref[0, rows], weights.astype(v_ref.dtype), (0, 0))
        max_ref[...] = most

    over_keys(step, keys, k_ref.shape[1], q_ref.shape[1])

    @pl.when(pl.program_id(3) == steps - 1)
    def _store():
        total = sum_ref[...]
        o_ref[0] = (acc_ref[...] * (1 / total)).T.astype(o_ref.dtype)
        lse_ref[0, 0] = max_ref[...] + jnp.log2(total)


def dq_kernel(
    q_ref,
    k_ref,
    v_ref,
    q_ids_ref,
    k_ids_ref,
    do_ref,
    o_ref,
    lse_ref,
    dq_ref,
    delta_ref,
    acc_ref,
    key_ref,
    guess_ref,
    sum_ref,
    narrow_sum_ref,
    *,
    keys,
    steps,
):
    """What a span of keys adds to dq of a block of queries; acc is dq', key the mean of keys, [D, queries] both.

    A query's d_scores add up to zero, were delta not made of what o was rounded to, and they not rounded for the
    product. So their sum is what delta lacks; and taken off them, spread as the weights are, it is no error of dq.
    """

    @pl.when(pl.program_id(3) == 0)
    def _clear():
        for ref in (acc_ref, key_ref, sum_ref, narrow_sum_ref):
            ref[...] = jnp.zeros_like(ref)
        product = do_ref[0].astype(jnp.float32) * o_ref[0].astype(jnp.float32)
        guess_ref[...] = jnp.sum(product.T, axis=0, keepdims=True)

    def step(rows, ahead):
        k = k_ref[0, rows]
        z = scores_of(k, q_ref[0], k_ids_ref[0, rows], q_ids_ref[0], ahead)
        weights = jnp.exp2(z - lse_ref[0, 0])
        d_scores = weights * (dot(v_ref[0, rows], do_ref[0], (1, 1)) - guess_ref[...])
        narrow = d_scores.astype(k.dtype)
        sum_ref[...] += jnp.sum(d_scores, axis=0, keepdims=True)
        narrow_sum_ref[...] += jnp.sum(narrow.astype(jnp.float32), axis=0, keepdims=True)
        acc_ref[...] += dot(k, narrow, (0, 0))
        key_ref[...] += dot(k, weights.astype(k.dtype), (0, 0))

    over_keys(step, keys, k_ref.shape[1], q_ref.shape[1])

    @pl.when(pl.program_id(3) == steps - 1)
    def _store():
        acc = acc_ref[...] - narrow_sum_ref[...] * key_ref[...]
        dq_ref[0] = (acc.T * q_ref.shape[2] ** -0.5).astype(dq_ref.dtype)
        delta_ref[0, 0] = guess_ref[...] + sum_ref[...]


def dkv_kernel(
    q_ref,
    k_ref,
    v_ref,
    q_ids_ref,
    k_ids_ref,
    do_ref,
    lse_ref,
    delta_ref,
    dk_ref,
    dv_ref,
    dk_acc_ref,
    dv_acc_ref,
    *,
    queries,
    steps,
):
    """What a span of one head's queries adds to dk and dv of a block of keys."""
    head, span, keys = pl.program_id(3), q_ref.shape[1], k_ref.shape[1]
    ahead = pl.program_id(4) * span - pl.program_id(2) * keys

    @pl.when((head == 0) & (pl.program_id(4) == 0))
    def _clear():
        dk_acc_ref[...] = jnp.zeros_like(dk_acc_ref)
        dv_acc_ref[...] = jnp.zeros_like(dv_acc_ref)

    def step(rows, ahead):
        q, do = q_ref[0, rows], do_ref[0, rows]
        z = scores_of(k_ref[0], q, k_ids_ref[0], q_ids_ref[0, :, rows], ahead)
        weights = jnp.exp2(z - lse_ref[0, 0, :, rows])
        d_scores = weights * (dot(v_ref[0], do, (1, 1)) - delta_ref[0, 0, :, rows])
        dv_acc_ref[...] += dot(do, weights.astype(do.dtype), (0, 1))
        dk_acc_ref[...] += dot(q, d_scores.astype(q.dtype), (0, 1))

    # Queries are walked as over_keys walks keys, but masked parts come first. Queries before all keys are passed over.
    part = math.gcd(keys, queries)
    first = jnp.clip(-ahead // part, 0, span // part)
    whole = jnp.clip((keys - 1 - ahead + queries - 1) // queries, 0, span // queries)
    loop(first, whole * (queries // part), part, lambda start, rows: step(rows, ahead + start))
    loop(whole, span // queries, queries, lambda start, rows: step(rows, None))

    @pl.when((head == pl.num_programs(3) - 1) & (pl.program_id(4) == steps - 1))
    def _store():
        dk_ref[0] = (dk_acc_ref[...].T * q_ref.shape[2] ** -0.5).astype(dk_ref.dtype)
        dv_ref[0] = dv_acc_ref[...].T.astype(dv_ref.dtype)


def blocks_of(queries, keys, width, place):
    """Block specs of an array of queries, one of keys, rows of queries, and both sides' ids.

    `place` has of a step of the grid the batch, the head, the key's head, and the blocks of queries and of keys.
    """

    def spec(shape, index):
        return pl.BlockSpec(shape, lambda *step: index(*place(*step)))

    return (
        spec((1, queries, width), lambda b, h, g, i, j: (b, i, h)),
        spec((1, keys, width), lambda b, h, g, i, j: (b, j, g)),
        spec((1, 1, 1, queries), lambda b, h, g, i, j: (b, h, 0, i)),
        spec((1, 1, queries), lambda b, h, g, i, j: (b, 0, i)),
        spec((1, keys, 1), lambda b, h, g, i, j: (b, j, 0)),
    )


def span_of(block, length):
    """How many positions are fetched at once: blocks in a power of two that divides the length, or the block alone."""
    return block * math.gcd(length // block, max(SPAN // block, 1))


def products(count, q, block):
    """FLOPs of so many products over the blocks of scores, so large both ways, that are not passed over."""
    batch, length, lanes = q.shape
    return count * batch * lanes * length * (length + block)


def call(kernel, name, grid, sequential, arrays, in_specs, outputs, out_specs, scratch, flops):
    """A kernel on a grid, the last axes of which, so many, go in their order."""
    semantics = ("parallel",) * (len(grid) - sequential) + ("arbitrary",) * sequential
    return pl.pallas_call(
        kernel,
        out_shape=outputs,
        grid=grid,
        in_specs=in_specs,
        out_specs=out_specs,
        scratch_shapes=[pltpu.VMEM(shape, jnp.float32) for shape in scratch],
        compiler_params=pltpu.CompilerParams(dimension_semantics=semantics, vmem_limit_bytes=48 * 2**20),
        cost_estimate=pl.CostEstimate(
            flops=flops,
            bytes_accessed=sum(math.prod(x.shape) * x.dtype.itemsize for x in [*arrays, *outputs]),
            transcendentals=flops // 512,
        ),
        interpret=jax.default_backend() == "cpu",
        name=name,
    )(*arrays)


def place_of(group, queries, keys):
    """Of a step of the grid of forward and dq: batch, both heads, both blocks. What is passed over is not fetched."""

    def place(b, h, i, j):
        return b, h, h // group, i, jnp.minimum(j, ((i + 1) * queries - 1) // keys)

    return place


def forward(q, k, v, ids, width, sizes):
    """o [B, T, H * D] and, in units of log 2, the log of the sums, [B, H, 1, T]."""
    batch, length, lanes = q.shape
    queries, keys = sizes.block_q, sizes.block_kv
    heads, group = lanes // width, lanes // k.shape[2]
    span = span_of(keys, length)
    of_q, of_k, row, q_row, k_column = blocks_of(queries, span, width, place_of(group, queries, span))
    return call(
        functools.partial(forward_kernel, keys=keys, steps=length // span),
        "flash_attention",
        (batch, heads, length // queries, length // span),
        1,
        (q, k, v, *ids),
        [of_q, of_k, of_k, q_row, k_column],
        [
            jax.ShapeDtypeStruct(q.shape, q.dtype),
            jax.ShapeDtypeStruct((batch, heads, 1, length), jnp.float32),
        ],
        [of_q, row],
        [(width, queries), (1, queries), (1, queries)],
        products(2, q, queries),
    )


def gradient_of_q(q, k, v, ids, do, o, lse, width, sizes):
    """dq [B, T, H * D], and delta as lse."""
    batch, length, lanes = q.shape
    queries, keys = sizes.dq_block_q, sizes.dq_block_kv
    heads, group = lanes // width, lanes // k.shape[2]
    span = span_of(keys, length)
    of_q, of_k, row, q_row, k_column = blocks_of(queries, span, width, place_of(group, queries, span))
    return call(
        functools.partial(dq_kernel, keys=keys, steps=length // span),
        "flash_attention_dq",
        (batch, heads, length // queries, length // span),
        1,
        (q, k, v, *ids, do, o, lse),
        [of_q, of_k, of_k, q_row, k_column, of_q, of_q, row],
        [jax.ShapeDtypeStruct(q.shape, q.dtype), jax.ShapeDtypeStruct(lse.shape, lse.dtype)],
        [of_q, row],
        [(width, queries), (width, queries), (1, queries), (1, queries), (1, queries)],
        products(4, q, queries),
    )


def gradients_of_kv(q, k, v, ids, do, lse, delta, width, sizes):
    """dk and dv [B, T, G * D], summed over the heads of a group."""
    batch, length, lanes = q.shape
    queries, keys = sizes.dkv_block_q, sizes.dkv_block_kv
    group, span = lanes // k.shape[2], span_of(queries, length)

    def place(b, g, j, n, i):
        return b, g * group + n, g, jnp.maximum(i, j * keys // span), j

    of_q, of_k, row, q_row, k_column = blocks_of(span, keys, width, place)
    return call(
        functools.partial(dkv_kernel, queries=queries, steps=length // span),
        "flash_attention_dkv",
        (batch, k.shape[2] // width, length // keys, group, length // span),
        2,
        (q, k, v, *ids, do, lse, delta),
        [of_q, of_k, of_k, q_row, k_column, of_q, row, row],
        [jax.ShapeDtypeStruct(k.shape, k.dtype), jax.ShapeDtypeStruct(v.shape, v.dtype)],
        [of_k, of_k],
        [(width, keys), (width, keys)],
        products(4, q, keys),
    )


@functools.partial(jax.custom_vjp, nondiff_argnums=(4, 5))
def attention(q, k, v, ids, width, sizes):
    """o [B, T, H * D], of which the gradients by q, k and v are known. `ids`: as rows and as columns."""
    return forward(q, k, v, ids, width, sizes)[0]


def attention_and_kept(q, k, v, ids, width, sizes):
    """o, and what its gradients are made of."""
    o, lse = forward(q, k, v, ids, width, sizes)
    return o, (q, k, v, ids, o, lse)


def gradients(width, sizes, kept, do):
    """Those by q, k and v; ids have none."""
    q, k, v, ids, o, lse = kept
    dq, delta = gradient_of_q(q, k, v, ids, do, o, lse, width, sizes)
    dk, dv = gradients_of_kv(q, k, v, ids, do, lse, delta, width, sizes)
    return dq, dk, dv, (None, None)


attention.defvjp(attention_and_kept, gradients)


def fitting(sizes, length):
    """The sizes, none of which is larger than the length needs."""
    most = max(128, 1 << (length - 1).bit_length())
    return BlockSizes(**{field.name: min(getattr(sizes, field.name), most) for field in fields(sizes)})


def flash_attention(q, k, v, segment_ids, *, block_sizes=None):
    """q [B, T, H, D], k, v [B, T, G, D], segment_ids [B, T]: o [B, T, H, D] in the dtype of q."""
    batch, length, heads, width = q.shape
    sizes = fitting(block_sizes or BlockSizes(), length)
    # Padding changes no result: keys behind the end are behind every query, and queries there have no gradient.
    behind = -length % math.lcm(*(getattr(sizes, field.name) for field in fields(sizes)))

    def side_by_side(x):
        flat = x.reshape(batch, length, -1)
        return flat if behind == 0 else jnp.pad(flat, ((0, 0), (0, behind), (0, 0)))

    k_ids = side_by_side(segment_ids)
    ids = k_ids.reshape(batch, 1, length + behind), k_ids
    out = attention(side_by_side(q), side_by_side(k), side_by_side(v), ids, width, sizes)
    return out[:, :length].reshape(batch, length, heads, width)


# EVOLVE-BLOCK-END
