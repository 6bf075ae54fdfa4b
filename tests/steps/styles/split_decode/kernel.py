"""Flash decoding: keys in splits, each with its own maximum and sum, put together outside; the batch by vmap.

Verdict: ok
"""

import functools

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

# EVOLVE-BLOCK-START
SPLIT = 256


def _kernel(len_ref, q_ref, k_ref, v_ref, o_ref, m_ref, l_ref, *, split, scale):
    i = pl.program_id(0)
    s = lax.dot_general(q_ref[...], k_ref[...], (((1,), (1,)), ((), ())), preferred_element_type=jnp.float32) * scale
    pos = i * split + lax.broadcasted_iota(jnp.int32, s.shape, 1)
    ok = pos < len_ref[0, 0]
    s = jnp.where(ok, s, -1e30)
    m = jnp.max(s, axis=-1, keepdims=True)
    p = jnp.where(ok, jnp.exp(s - m), 0.0)
    m_ref[...] = m
    l_ref[...] = jnp.sum(p, axis=-1, keepdims=True)
    o_ref[...] = jnp.dot(p.astype(v_ref.dtype), v_ref[...], preferred_element_type=jnp.float32)


def _one(q, k, v, length):
    h, d = q.shape
    n = k.shape[0] // SPLIT
    stat = jax.ShapeDtypeStruct((n, h, 1), jnp.float32)
    stat_spec = pl.BlockSpec((None, h, 1), lambda i: (i, 0, 0))
    kv = pl.BlockSpec((SPLIT, d), lambda i: (i, 0))
    o, m, l = pl.pallas_call(
        functools.partial(_kernel, split=SPLIT, scale=d**-0.5),
        grid=(n,),
        in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec((h, d), lambda i: (0, 0)), kv, kv],
        out_specs=[pl.BlockSpec((None, h, d), lambda i: (i, 0, 0)), stat_spec, stat_spec],
        out_shape=[jax.ShapeDtypeStruct((n, h, d), jnp.float32), stat, stat],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",)),
    )(length.reshape(1, 1), q, k, v)
    w = jnp.exp(m - jnp.max(m, axis=0))
    return (jnp.sum(o * w, axis=0) / jnp.sum(l * w, axis=0)).astype(q.dtype)


def decode(q, k, v, lengths):
    return jax.vmap(_one)(q, k, v, lengths)


# EVOLVE-BLOCK-END
