"""Fused residual add and RMS norm with emit_pipeline inside of a kernel whose operands stay in HBM; scratch by run_scoped.

Verdict: ok
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

# EVOLVE-BLOCK-START
ROWS = 16
EPS = 1e-6


def _outer(x_hbm, r_hbm, w_ref, o_hbm, y_hbm):
    t, d = x_hbm.shape

    def inner(x_ref, r_ref, o_ref, y_ref):
        y = x_ref[...].astype(jnp.float32) + r_ref[...].astype(jnp.float32)
        var = jnp.mean(jnp.square(y), axis=-1, keepdims=True)
        o_ref[...] = (y * jax.lax.rsqrt(var + EPS) * w_ref[...].astype(jnp.float32)).astype(o_ref.dtype)
        y_ref[...] = y.astype(y_ref.dtype)

    rows = pl.BlockSpec((ROWS, d), lambda i: (i, 0))
    pltpu.emit_pipeline(inner, grid=(pl.cdiv(t, ROWS),), in_specs=[rows, rows], out_specs=[rows, rows])(
        x_hbm, r_hbm, o_hbm, y_hbm
    )


def add_norm(x, residual, weight):
    hbm = pl.BlockSpec(memory_space=pl.ANY)
    out = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return pl.pallas_call(
        _outer,
        in_specs=[hbm, hbm, pl.BlockSpec(memory_space=pltpu.VMEM)],
        out_specs=[hbm, hbm],
        out_shape=[out, out],
    )(x, residual, weight[None])


# EVOLVE-BLOCK-END
