"""Causal attention whose grid has no empty steps: pairs of blocks from tables that are made with NumPy; base-2 softmax.

Verdict: ok
"""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

# EVOLVE-BLOCK-START
BLOCK = 256


def _kernel(i_ref, j_ref, q_ref, k_ref, v_ref, o_ref, m_ref, l_ref, acc_ref, *, scale):
    step = pl.program_id(1)
    i, j = i_ref[step], j_ref[step]
    bq, bk = q_ref.shape[0], k_ref.shape[0]

    @pl.when(j == 0)
    def _():
        m_ref[...] = jnp.full(m_ref.shape, -1e30, jnp.float32)
        l_ref[...] = jnp.zeros(l_ref.shape, jnp.float32)
        acc_ref[...] = jnp.zeros(acc_ref.shape, jnp.float32)

    def block(is_diagonal):
        s = (
            lax.dot_general(q_ref[...], k_ref[...], (((1,), (1,)), ((), ())), preferred_element_type=jnp.float32)
            * scale
        )
        if is_diagonal:
            row = lax.broadcasted_iota(jnp.int32, (bq, bk), 0)
            col = lax.broadcasted_iota(jnp.int32, (bq, bk), 1)
            s = jnp.where(row >= col, s, -1e30)
        m = m_ref[...]
        new = jnp.maximum(m, jnp.max(s, axis=1, keepdims=True))
        p = jnp.exp2(s - new)
        a = jnp.exp2(m - new)
        m_ref[...] = new
        l_ref[...] = a * l_ref[...] + jnp.sum(p, axis=1, keepdims=True)
        acc_ref[...] = a * acc_ref[...] + jnp.dot(p.astype(v_ref.dtype), v_ref[...], preferred_element_type=jnp.float32)

    lax.cond(i == j, lambda: block(True), lambda: block(False))

    @pl.when(i == j)
    def _():
        o_ref[...] = (acc_ref[...] * pl.reciprocal(l_ref[...])).astype(o_ref.dtype)


def flash(q, k, v):
    h, t, d = q.shape
    n = t // BLOCK
    rows, cols = (a.astype(np.int32) for a in np.tril_indices(n))
    q_map = lambda h, s, i, j: (h, i[s], 0)
    kv_map = lambda h, s, i, j: (h, j[s], 0)
    return pl.pallas_call(
        functools.partial(_kernel, scale=d**-0.5 * math.log2(math.e)),
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=2,
            grid=(h, len(rows)),
            in_specs=[
                pl.BlockSpec((None, BLOCK, d), q_map),
                pl.BlockSpec((None, BLOCK, d), kv_map),
                pl.BlockSpec((None, BLOCK, d), kv_map),
            ],
            out_specs=pl.BlockSpec((None, BLOCK, d), q_map),
            scratch_shapes=[
                pltpu.VMEM((BLOCK, 1), jnp.float32),
                pltpu.VMEM((BLOCK, 1), jnp.float32),
                pltpu.VMEM((BLOCK, d), jnp.float32),
            ],
        ),
        out_shape=jax.ShapeDtypeStruct(q.shape, q.dtype),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "arbitrary")),
    )(jnp.asarray(rows), jnp.asarray(cols), q, k, v)


# EVOLVE-BLOCK-END
