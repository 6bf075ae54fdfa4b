"""Gemma-like local attention: a window, soft-capped logits and segment ids; the window's blocks in a loop.

Verdict: ok
"""

import functools

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

# EVOLVE-BLOCK-START
BLOCK = 128
WINDOW = 256
CAP = 50.0
NEG = -1e30


def _kernel(q_ref, k_ref, v_ref, q_seg_ref, kv_seg_ref, o_ref, *, block, scale):
    i = pl.program_id(1)
    q = q_ref[...]
    d = q.shape[-1]
    q_seg = q_seg_ref[:, 0:1]

    def step(j, carry):
        m, l, acc = carry
        start = pl.multiple_of(j * block, block)
        k = k_ref[pl.ds(start, block), :]
        v = v_ref[pl.ds(start, block), :]
        kv_seg = kv_seg_ref[0:1, pl.ds(start, block)]
        s = lax.dot_general(q, k, (((1,), (1,)), ((), ())), preferred_element_type=jnp.float32) * scale
        s = CAP * jnp.tanh(s / CAP)
        row = i * block + lax.broadcasted_iota(jnp.int32, s.shape, 0)
        col = start + lax.broadcasted_iota(jnp.int32, s.shape, 1)
        same = jnp.logical_or(q_seg == kv_seg, row == col)
        mask = jnp.logical_and(jnp.logical_and(col <= row, row - col < WINDOW), same)
        s = jnp.where(mask, s, NEG)
        m_new = jnp.maximum(m, s.max(axis=-1, keepdims=True))
        p = jnp.where(mask, jnp.exp(s - m_new), 0.0)
        alpha = jnp.exp(m - m_new)
        l = alpha * l + p.sum(axis=-1, keepdims=True)
        acc = alpha * acc + jnp.dot(p.astype(v.dtype), v, preferred_element_type=jnp.float32)
        return m_new, l, acc

    first = jnp.maximum(i * block - WINDOW + 1, 0) // block
    init = (
        jnp.full((block, 1), NEG, jnp.float32),
        jnp.zeros((block, 1), jnp.float32),
        jnp.zeros((block, d), jnp.float32),
    )
    _, l, acc = lax.fori_loop(first, i + 1, step, init)
    o_ref[...] = (acc / l).astype(o_ref.dtype)


def window_attention(q, k, v, q_seg, kv_seg):
    h, t, d = q.shape
    block = min(BLOCK, t)
    q_seg = lax.broadcast_in_dim(q_seg[0], (t, 128), (0,))
    whole = pl.BlockSpec((None, t, d), lambda hh, i: (hh, 0, 0))
    return pl.pallas_call(
        functools.partial(_kernel, block=block, scale=d**-0.5),
        grid=(h, t // block),
        in_specs=[
            pl.BlockSpec((None, block, d), lambda hh, i: (hh, i, 0)),
            whole,
            whole,
            pl.BlockSpec((block, 128), lambda hh, i: (i, 0)),
            pl.BlockSpec((1, t), lambda hh, i: (0, 0)),
        ],
        out_specs=pl.BlockSpec((None, block, d), lambda hh, i: (hh, i, 0)),
        out_shape=jax.ShapeDtypeStruct((h, t, d), q.dtype),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "arbitrary")),
    )(q, k, v, q_seg, kv_seg)


# EVOLVE-BLOCK-END
