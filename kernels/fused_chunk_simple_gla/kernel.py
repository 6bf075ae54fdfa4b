"""Linear attention with one gate a head and position, in chunks, on a TPU core: bfloat16 in and out, float32 sums.

    a_i = g_i + gamma,    G_i = the sum of a within the chunk, up to i
    o_i = s * (sum over j <= i of exp(G_i - G_j) (q_i . k_j) v_j + exp(G_i) h' q_i),    s = K^-1/2

h [K, V] is the state before the chunk, at first h0: h = exp(G_C) h + sum over i of exp(G_C - G_i) k_i v_i'; the last is
ht. It is carried from chunk to chunk in float32 VMEM scratch. No exponent is ever positive. The grid walks batches,
blocks of heads and, innermost and in their order, blocks of time; G comes from outside, a row for each chunk and head.

Nothing but the inputs is kept for the gradients. That of q has the forward's own form, with do, v and k in the places
of q, k and v. Those of k, v and h0 come of a second kernel, which walks time backwards with one state, at first dht.
Heads lie side by side in the lanes of [B, T, H * K], as which XLA lays the arrays out around the kernels.
"""

import functools
import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

# EVOLVE-BLOCK-START
CHUNK = 128
BLOCK_T = 256
BLOCK_H = 2


@dataclass(frozen=True, slots=True)
class BlockSizes:
    """Positions of a chunk; positions and heads of a block, which is what a step of the grid is given."""

    chunk: int = CHUNK
    block_t: int = BLOCK_T
    block_h: int = BLOCK_H


def dot(x, y, contracted=(1, 0)):
    """The product of two matrices, contracted along these axes."""
    axes = (((contracted[0],), (contracted[1],)), ((), ()))
    return jax.lax.dot_general(x, y, axes, preferred_element_type=jnp.float32)


def decays(row):
    """Of G [1, C]: between positions [C, C], since the start [C, 1], until the end [C, 1], over all [1, 1]."""
    chunk = row.shape[1]
    rows = jnp.broadcast_to(row, (chunk, chunk))
    columns = rows.T
    i, j = (jax.lax.broadcasted_iota(jnp.int32, (chunk, chunk), axis) for axis in (0, 1))
    between = jnp.where(i >= j, jnp.exp(jnp.minimum(columns - rows, 0.0)), 0.0)
    column, last = columns[:, :1], row[:, chunk - 1 :]
    return between, jnp.exp(column), jnp.exp(last - column), jnp.exp(last)


def forward_kernel(left_ref, q_ref, k_ref, v_ref, h0_ref, o_ref, ht_ref, state_ref, *, scale):
    """One block of time of some heads: q, k, v, o [1, BLOCK_T, heads * width], left [1, heads, chunks, 1, C]."""
    heads, width, height = state_ref.shape
    _, _, count, _, chunk = left_ref.shape

    @pl.when(pl.program_id(2) == 0)
    def _start():
        state_ref[...] = h0_ref[0].astype(jnp.float32)

    def one_chunk(number, _):
        rows = pl.ds(pl.multiple_of(number * chunk, chunk), chunk)
        for head in range(heads):
            of_k, of_v = pl.ds(head * width, width), pl.ds(head * height, height)
            q, k, v = q_ref[0, rows, of_k], k_ref[0, rows, of_k], v_ref[0, rows, of_v]
            between, since_start, until_end, across = decays(left_ref[0, head, number])
            state = state_ref[head]
            weights = dot(q, k, (1, 1)) * between
            out = dot(weights.astype(v.dtype), v) + dot(q, state.astype(q.dtype)) * since_start
            o_ref[0, rows, of_v] = (out * scale).astype(o_ref.dtype)
            fading = (v * until_end).astype(v.dtype)
            state_ref[head] = state * across + dot(k, fading, (0, 0))
        return _

    jax.lax.fori_loop(0, count, one_chunk, None)

    @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
    def _end():
        ht_ref[0] = state_ref[...].astype(ht_ref.dtype)


def backward_kernel(left_ref, q_ref, k_ref, v_ref, do_ref, dht_ref, dk_ref, dv_ref, dh0_ref, state_ref, *, scale):
    """The gradients by k and v in one block of time, from its last chunk to its first, of blocks last to first."""
    heads, width, height = state_ref.shape
    _, _, count, _, chunk = left_ref.shape

    @pl.when(pl.program_id(2) == 0)
    def _start():
        state_ref[...] = dht_ref[0].astype(jnp.float32)

    def one_chunk(number, _):
        place = count - 1 - number
        rows = pl.ds(pl.multiple_of(place * chunk, chunk), chunk)
        for head in range(heads):
            of_k, of_v = pl.ds(head * width, width), pl.ds(head * height, height)
            q, k, v, do = q_ref[0, rows, of_k], k_ref[0, rows, of_k], v_ref[0, rows, of_v], do_ref[0, rows, of_v]
            between, since_start, until_end, across = decays(left_ref[0, head, place])
            state = state_ref[head]
            narrow = state.astype(q.dtype)
            weights = dot(q, k, (1, 1)) * between
            d_weights = dot(do, v, (1, 1)) * between
            dv = dot(weights.astype(q.dtype), do, (0, 0)) * scale + dot(k, narrow) * until_end
            dk = dot(d_weights.astype(q.dtype), q, (0, 0)) * scale + dot(v, narrow, (1, 1)) * until_end
            dv_ref[0, rows, of_v] = dv.astype(dv_ref.dtype)
            dk_ref[0, rows, of_k] = dk.astype(dk_ref.dtype)
            fading = (do * since_start).astype(do.dtype)
            state_ref[head] = state * across + dot(q, fading, (0, 0)) * scale
        return _

    jax.lax.fori_loop(0, count, one_chunk, None)

    @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
    def _end():
        dh0_ref[0] = state_ref[...].astype(dh0_ref.dtype)


def over_time(kernel, inputs, left, state, outputs, sizes, scale, name):
    """A kernel over inputs [B, T, H, _] and a state [B, H, _, _], for outputs like those of these numbers, and a state.

    `left` are the logarithms of all gates, [B, T, H].
    """
    batch, length, all_heads, _ = inputs[0].shape
    width, height = state.shape[2:]
    chunk, heads = sizes.chunk, math.gcd(sizes.block_h, all_heads)
    block = min(sizes.block_t, pl.cdiv(length, chunk) * chunk)
    steps = pl.cdiv(length, block)
    padded = steps * block

    def side_by_side(x):
        # Zeros behind the end add nothing to earlier positions or to a state, and a state does not decay there.
        flat = x.reshape(batch, length, -1)
        return flat if padded == length else jnp.pad(flat, ((0, 0), (0, padded - length), (0, 0)))

    flat = [side_by_side(x) for x in inputs]
    by_chunk = side_by_side(left).reshape(batch, padded // chunk, chunk, all_heads)
    left = jnp.transpose(jnp.cumsum(by_chunk, axis=2), (0, 3, 1, 2))[:, :, :, None, :]
    shapes = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in [*(flat[number] for number in outputs), state]]

    def step(t):
        return steps - 1 - t if kernel is backward_kernel else t

    def spec(x):
        return pl.BlockSpec((1, block, x.shape[2] // all_heads * heads), lambda b, h, t: (b, step(t), h))

    of_left = pl.BlockSpec((1, heads, block // chunk, 1, chunk), lambda b, h, t: (b, h, step(t), 0, 0))
    of_state = pl.BlockSpec((1, heads, width, height), lambda b, h, t: (b, h, 0, 0))
    # FLOPs for each position of a head: products with the rows of its chunk, and products with a state.
    products = 2 * chunk * (width + height) + 4 * width * height
    if kernel is backward_kernel:
        products = 4 * chunk * (width + height) + 6 * width * height
    *found, end = pl.pallas_call(
        functools.partial(kernel, scale=scale),
        out_shape=shapes,
        grid=(batch, all_heads // heads, steps),
        in_specs=[of_left, *map(spec, flat), of_state],
        out_specs=[*map(spec, shapes[:-1]), of_state],
        scratch_shapes=[pltpu.VMEM((heads, width, height), jnp.float32)],
        compiler_params=pltpu.CompilerParams(
            dimension_semantics=("parallel", "parallel", "arbitrary"),
            vmem_limit_bytes=48 * 2**20,
        ),
        cost_estimate=pl.CostEstimate(
            flops=batch * padded * all_heads * products,
            bytes_accessed=sum(math.prod(x.shape) * x.dtype.itemsize for x in [left, *flat, state, *shapes]),
            transcendentals=batch * padded * all_heads * chunk,
        ),
        interpret=jax.default_backend() == "cpu",
        name=name,
    )(left, *flat, state)
    return [*(x[:, :length].reshape(batch, length, all_heads, -1) for x in found), end]


@functools.partial(jax.custom_vjp, nondiff_argnums=(5,))
def in_chunks(q, k, v, left, h0, sizes):
    """o and ht, of which the gradients by q, k, v and h0 are known."""
    scale = q.shape[3] ** -0.5
    return tuple(over_time(forward_kernel, (q, k, v), left, h0, (2,), sizes, scale, "simple_gla"))


def in_chunks_forward(q, k, v, left, h0, sizes):
    """o and ht, and what their gradients are made of."""
    return in_chunks(q, k, v, left, h0, sizes), (q, k, v, left, h0)


def in_chunks_backward(sizes, kept, cotangents):
    """The gradients by q, k, v and h0; gates are constants, and have none."""
    q, k, v, left, h0 = kept
    do, dht = cotangents
    scale, h0_across = q.shape[3] ** -0.5, jnp.swapaxes(h0, 2, 3)
    dq, _ = over_time(forward_kernel, (do, v, k), left, h0_across, (2,), sizes, scale, "simple_gla_dq")
    dk, dv, dh0 = over_time(backward_kernel, (q, k, v, do), left, dht, (1, 2), sizes, scale, "simple_gla_dkv")
    return dq, dk, dv, jnp.zeros_like(left), dh0


in_chunks.defvjp(in_chunks_forward, in_chunks_backward)


def fused_chunk_simple_gla(q, k, v, g, gamma, h0, *, block_sizes=None):
    """q, k [B, T, H, K], v [B, T, H, V], g [B, T, H], gamma [H], h0 [B, H, K, V]: o, as v, and ht, as h0."""
    return in_chunks(q, k, v, g + gamma, h0, block_sizes or BlockSizes())


# EVOLVE-BLOCK-END
