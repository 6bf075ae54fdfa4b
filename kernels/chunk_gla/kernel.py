"""Gated linear attention with one decay a head, in chunks, on a TPU core: bfloat16 in and out, float32 sums.

    o_i = s * sum over j <= i of exp(gamma (i - j)) (q_i . k_j) v_j,    s = K^-1/2

Within a chunk that is masked attention, without a softmax; what lies before the chunk is in a state [K, V], which is
carried from chunk to chunk in float32 VMEM scratch: h = exp(gamma C) h + sum over i of exp(gamma (C - 1 - i)) k_i v_i'.
No exponent is ever positive. The grid walks batches, blocks of heads and, innermost and in their order, blocks of time.

Nothing but the inputs is kept for the gradients. That of q has the forward's own form, with do, v and k in the places
of q, k and v. Those of k and v come of a second kernel, which walks time backwards with one state for both.
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


def decays(gamma, chunk):
    """exp(gamma (i - j)) for j <= i, and zero above: [C, C]."""
    distance = jax.lax.broadcasted_iota(jnp.int32, (chunk, chunk), 0)
    distance -= jax.lax.broadcasted_iota(jnp.int32, (chunk, chunk), 1)
    return jnp.where(distance >= 0, jnp.exp(gamma * jnp.maximum(distance, 0).astype(jnp.float32)), 0.0)


def edge_decays(gamma, chunk):
    """From the position before the chunk to each of it, and from each to the chunk's last: [C, 1] both."""
    place = jax.lax.broadcasted_iota(jnp.int32, (chunk, 1), 0).astype(jnp.float32)
    return jnp.exp(gamma * (place + 1)), jnp.exp(gamma * (chunk - 1 - place))


def across(gamma, chunk):
    """The decay over a whole chunk, [1, 1]."""
    return jnp.exp(jnp.full((1, 1), chunk, jnp.float32) * gamma)


def forward_kernel(gamma_ref, q_ref, k_ref, v_ref, o_ref, decay_ref, state_ref, *, scale):
    """One block of time of some heads: q, k, v, o [1, BLOCK_T, heads * width]."""
    heads, chunk, _ = decay_ref.shape
    _, width, height = state_ref.shape
    gammas = [gamma_ref[pl.program_id(1) * heads + head] for head in range(heads)]

    @pl.when(pl.program_id(2) == 0)
    def _start():
        state_ref[...] = jnp.zeros_like(state_ref)
        for head in range(heads):
            decay_ref[head] = decays(gammas[head], chunk)

    def one_chunk(number, _):
        rows = pl.ds(pl.multiple_of(number * chunk, chunk), chunk)
        for head in range(heads):
            of_k, of_v = pl.ds(head * width, width), pl.ds(head * height, height)
            q, k, v = q_ref[0, rows, of_k], k_ref[0, rows, of_k], v_ref[0, rows, of_v]
            since_start, until_end = edge_decays(gammas[head], chunk)
            state = state_ref[head]
            weights = dot(q, k, (1, 1)) * decay_ref[head]
            out = dot(weights.astype(v.dtype), v) + dot(q, state.astype(q.dtype)) * since_start
            o_ref[0, rows, of_v] = (out * scale).astype(o_ref.dtype)
            fading = (v * until_end).astype(v.dtype)
            state_ref[head] = state * across(gammas[head], chunk) + dot(k, fading, (0, 0))
        return _

    jax.lax.fori_loop(0, q_ref.shape[1] // chunk, one_chunk, None)


def backward_kernel(gamma_ref, q_ref, k_ref, v_ref, do_ref, dk_ref, dv_ref, decay_ref, state_ref, *, scale):
    """The gradients by k and v in one block of time, from its last chunk to its first, of blocks last to first."""
    heads, chunk, _ = decay_ref.shape
    _, width, height = state_ref.shape
    count = q_ref.shape[1] // chunk
    gammas = [gamma_ref[pl.program_id(1) * heads + head] for head in range(heads)]

    @pl.when(pl.program_id(2) == 0)
    def _start():
        state_ref[...] = jnp.zeros_like(state_ref)
        for head in range(heads):
            decay_ref[head] = decays(gammas[head], chunk)

    def one_chunk(number, _):
        rows = pl.ds(pl.multiple_of((count - 1 - number) * chunk, chunk), chunk)
        for head in range(heads):
            of_k, of_v = pl.ds(head * width, width), pl.ds(head * height, height)
            q, k, v, do = q_ref[0, rows, of_k], k_ref[0, rows, of_k], v_ref[0, rows, of_v], do_ref[0, rows, of_v]
            since_start, until_end = edge_decays(gammas[head], chunk)
            state = state_ref[head]
            narrow = state.astype(q.dtype)
            weights = dot(q, k, (1, 1)) * decay_ref[head]
            d_weights = dot(do, v, (1, 1)) * decay_ref[head]
            dv = dot(weights.astype(q.dtype), do, (0, 0)) + dot(k, narrow) * until_end
            dk = dot(d_weights.astype(q.dtype), q, (0, 0)) + dot(v, narrow, (1, 1)) * until_end
            dv_ref[0, rows, of_v] = (dv * scale).astype(dv_ref.dtype)
            dk_ref[0, rows, of_k] = (dk * scale).astype(dk_ref.dtype)
            fading = (do * since_start).astype(do.dtype)
            state_ref[head] = state * across(gammas[head], chunk) + dot(q, fading, (0, 0))
        return _

    jax.lax.fori_loop(0, count, one_chunk, None)


def over_time(kernel, gamma, inputs, outputs, sizes, scale, name):
    """A kernel over inputs [B, T, H, _], the first two of one width, for outputs like those of these numbers."""
    batch, length, all_heads, width = inputs[0].shape
    height = inputs[2].shape[3]
    chunk, heads = sizes.chunk, math.gcd(sizes.block_h, all_heads)
    block = min(sizes.block_t, pl.cdiv(length, chunk) * chunk)
    steps = pl.cdiv(length, block)

    def side_by_side(x):
        # Zeros behind the end add nothing to earlier positions, whether time is walked forwards or backwards.
        flat = x.reshape(batch, length, -1)
        return flat if length % block == 0 else jnp.pad(flat, ((0, 0), (0, steps * block - length), (0, 0)))

    flat = [side_by_side(x) for x in inputs]
    shapes = [jax.ShapeDtypeStruct(flat[number].shape, flat[number].dtype) for number in outputs]

    def spec(x):
        wide = x.shape[2] // all_heads * heads
        if kernel is backward_kernel:
            return pl.BlockSpec((1, block, wide), lambda b, h, t: (b, steps - 1 - t, h))
        return pl.BlockSpec((1, block, wide), lambda b, h, t: (b, t, h))

    # FLOPs for each position of a head: products with the rows of its chunk, and products with a state.
    products = 2 * chunk * (width + height) + 4 * width * height
    if kernel is backward_kernel:
        products = 4 * chunk * (width + height) + 6 * width * height
    found = pl.pallas_call(
        functools.partial(kernel, scale=scale),
        out_shape=shapes,
        grid=(batch, all_heads // heads, steps),
        in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), *map(spec, flat)],
        out_specs=[spec(x) for x in shapes],
        scratch_shapes=[
            pltpu.VMEM((heads, chunk, chunk), jnp.float32),
            pltpu.VMEM((heads, width, height), jnp.float32),
        ],
        compiler_params=pltpu.CompilerParams(
            dimension_semantics=("parallel", "parallel", "arbitrary"),
            vmem_limit_bytes=48 * 2**20,
        ),
        cost_estimate=pl.CostEstimate(
            flops=batch * steps * block * all_heads * products,
            bytes_accessed=sum(math.prod(x.shape) * x.dtype.itemsize for x in [*flat, *shapes]),
            transcendentals=2 * batch * steps * block * all_heads,
        ),
        interpret=jax.default_backend() == "cpu",
        name=name,
    )(gamma, *flat)
    return [x[:, :length].reshape(batch, length, all_heads, -1) for x in found]


@functools.partial(jax.custom_vjp, nondiff_argnums=(4,))
def in_chunks(q, k, v, gamma, sizes):
    """o, of which the gradients by q, k and v are known."""
    (o,) = over_time(forward_kernel, gamma, (q, k, v), (2,), sizes, q.shape[3] ** -0.5, "chunk_gla")
    return o


def in_chunks_forward(q, k, v, gamma, sizes):
    """o, and what its gradients are made of."""
    return in_chunks(q, k, v, gamma, sizes), (q, k, v, gamma)


def in_chunks_backward(sizes, kept, do):
    """The gradients by q, k and v; gamma is a constant, and has none."""
    q, k, v, gamma = kept
    scale = q.shape[3] ** -0.5
    (dq,) = over_time(forward_kernel, gamma, (do, v, k), (2,), sizes, scale, "chunk_gla_dq")
    dk, dv = over_time(backward_kernel, gamma, (q, k, v, do), (1, 2), sizes, scale, "chunk_gla_dkv")
    return dq, dk, dv, jnp.zeros_like(gamma)


in_chunks.defvjp(in_chunks_forward, in_chunks_backward)


def chunk_gla(q, k, v, gamma, *, block_sizes=None):
    """q, k [B, T, H, K], v [B, T, H, V], gamma [H] float32, at most 0: o [B, T, H, V] in the dtype of q."""
    return in_chunks(q, k, v, gamma, block_sizes or BlockSizes())


# EVOLVE-BLOCK-END
