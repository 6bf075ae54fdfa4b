"""Cumulative sums along rows: log-step shifts by pltpu.roll within a block, a carry in scratch between blocks.

Verdict: ok
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

# EVOLVE-BLOCK-START
BM = 8
BN = 256


def _cumsum_kernel(x_ref, o_ref, carry_ref):
    j = pl.program_id(1)

    @pl.when(j == 0)
    def _():
        carry_ref[...] = jnp.zeros_like(carry_ref)

    x = x_ref[...]
    bm, bn = x.shape
    col = jax.lax.broadcasted_iota(jnp.int32, x.shape, 1)
    shift = 1
    while shift < bn:
        x = x + jnp.where(col >= shift, pltpu.roll(x, shift, 1), 0.0)
        shift *= 2
    x = x + carry_ref[:, :1]
    o_ref[...] = x
    carry_ref[...] = jnp.broadcast_to(x[:, bn - 1 :], carry_ref.shape)


def cumsum(x):
    m, n = x.shape
    spec = pl.BlockSpec((BM, BN), lambda i, j: (i, j))
    return pl.pallas_call(
        _cumsum_kernel,
        grid=(pl.cdiv(m, BM), pl.cdiv(n, BN)),
        in_specs=[spec],
        out_specs=spec,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        scratch_shapes=[pltpu.VMEM((BM, 128), jnp.float32)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "arbitrary")),
    )(x)


# EVOLVE-BLOCK-END
