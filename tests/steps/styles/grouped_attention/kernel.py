"""A group's query heads are rows of one product; the bias is added to each head's; ragged keys are masked.

Verdict: ok
"""

import functools

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

# EVOLVE-BLOCK-START
BQ = 32
BK = 128


def _kernel(q_ref, k_ref, v_ref, bias_ref, o_ref, m_ref, l_ref, acc_ref, *, keys, bk, scale):
    j = pl.program_id(3)
    heads, bq, d = q_ref.shape

    @pl.when(j == 0)
    def _():
        m_ref[...] = jnp.full_like(m_ref, -1e30)
        l_ref[...] = jnp.zeros_like(l_ref)
        acc_ref[...] = jnp.zeros_like(acc_ref)

    q = q_ref[...].reshape(heads * bq, d)
    s = lax.dot_general(q, k_ref[...], (((1,), (1,)), ((), ())), preferred_element_type=jnp.float32) * scale
    s = s.reshape(heads, bq, bk) + bias_ref[...][None]
    left = keys - j * bk
    v = v_ref[...]
    if keys % bk:
        s = jnp.where(lax.broadcasted_iota(jnp.int32, s.shape, 2) < left, s, -1e30)
        v = jnp.where(lax.broadcasted_iota(jnp.int32, v.shape, 0) < left, v, 0)
    m = m_ref[...]
    new = jnp.maximum(m, jnp.max(s, axis=2, keepdims=True))
    p = jnp.exp(s - new)
    alpha = jnp.exp(m - new)
    m_ref[...] = new
    l_ref[...] = alpha * l_ref[...] + jnp.sum(p, axis=2, keepdims=True)
    pv = jnp.dot(p.astype(v.dtype).reshape(heads * bq, bk), v, preferred_element_type=jnp.float32)
    acc_ref[...] = alpha * acc_ref[...] + pv.reshape(heads, bq, d)

    @pl.when(j == pl.num_programs(3) - 1)
    def _():
        o_ref[...] = (acc_ref[...] / l_ref[...]).astype(o_ref.dtype)


def attention(q, k, v, bias):
    b, t, h, d = q.shape
    s, g = k.shape[1], k.shape[2]
    r = h // g
    q = jnp.transpose(q.reshape(b, t, g, r, d), (0, 2, 3, 1, 4))
    k, v = (jnp.swapaxes(a, 1, 2) for a in (k, v))
    out = pl.pallas_call(
        functools.partial(_kernel, keys=s, bk=BK, scale=d**-0.5),
        grid=(b, g, t // BQ, pl.cdiv(s, BK)),
        in_specs=[
            pl.BlockSpec((None, None, r, BQ, d), lambda b, g, i, j: (b, g, 0, i, 0)),
            pl.BlockSpec((None, None, BK, d), lambda b, g, i, j: (b, g, j, 0)),
            pl.BlockSpec((None, None, BK, d), lambda b, g, i, j: (b, g, j, 0)),
            pl.BlockSpec((BQ, BK), lambda b, g, i, j: (i, j)),
        ],
        out_specs=pl.BlockSpec((None, None, r, BQ, d), lambda b, g, i, j: (b, g, 0, i, 0)),
        out_shape=jax.ShapeDtypeStruct(q.shape, q.dtype),
        scratch_shapes=[
            pltpu.VMEM((r, BQ, 1), jnp.float32),
            pltpu.VMEM((r, BQ, 1), jnp.float32),
            pltpu.VMEM((r, BQ, d), jnp.float32),
        ],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "parallel", "arbitrary")),
    )(q, k, v, bias)
    return jnp.transpose(out, (0, 3, 1, 2, 4)).reshape(b, t, h, d)


# EVOLVE-BLOCK-END
