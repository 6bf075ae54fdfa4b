"""SwiGLU's two products in an emit_pipeline that a grid of output columns runs.

Verdict: ok
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

# EVOLVE-BLOCK-START
BM = 512
DEPTH = 1024
BN = 512


def _outer(x_hbm, gate_hbm, up_hbm, o_hbm, a_ref, b_ref):
    m, k = x_hbm.shape
    (BM, BN), BK = a_ref.shape, min(DEPTH, k)
    n = o_hbm.shape[1]
    nk = k // BK

    def inner(x_ref, gate_ref, up_ref, o_ref):
        step = pl.program_id(2)

        @pl.when(step == 0)
        def _():
            a_ref[...] = jnp.zeros_like(a_ref)
            b_ref[...] = jnp.zeros_like(b_ref)

        x = x_ref[...]
        a_ref[...] += jnp.dot(x, gate_ref[...], preferred_element_type=jnp.float32)
        b_ref[...] += jnp.dot(x, up_ref[...], preferred_element_type=jnp.float32)

        @pl.when(step == nk - 1)
        def _():
            o_ref[...] = (jax.nn.silu(a_ref[...]) * b_ref[...]).astype(o_ref.dtype)

    weights = pl.BlockSpec((BK, BN), lambda i, j, k: (k, j), pipeline_mode=pl.Buffered(3))
    pltpu.emit_pipeline(
        inner,
        grid=(m // BM, n // BN, nk),
        in_specs=[pl.BlockSpec((BM, BK), lambda i, j, k: (i, k)), weights, weights],
        out_specs=[pl.BlockSpec((BM, BN), lambda i, j, k: (i, j))],
    )(x_hbm, gate_hbm, up_hbm, o_hbm)


def swiglu(x, gate, up):
    m, n = x.shape[0], gate.shape[1]
    bm, bn = min(BM, m), min(BN, n)
    any_ = pl.BlockSpec(memory_space=pltpu.HBM)
    return pl.pallas_call(
        _outer,
        in_specs=[any_] * 3,
        out_specs=any_,
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        scratch_shapes=[pltpu.VMEM((bm, bn), jnp.float32), pltpu.VMEM((bm, bn), jnp.float32)],
    )(x, gate, up)


# EVOLVE-BLOCK-END
