"""Group norm, a group a step; sums of rows in a loop with unroll, then of lanes.

Verdict: ok
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

# EVOLVE-BLOCK-START
LANES = 128


def _kernel(x_ref, g_ref, b_ref, o_ref):
    rows = x_ref.shape[0]
    count = rows * x_ref.shape[1]

    def total(of):
        def add(r, acc):
            return acc + of(x_ref[pl.ds(pl.multiple_of(r * 8, 8), 8), :])

        acc = jax.lax.fori_loop(0, rows // 8, add, jnp.zeros((8, x_ref.shape[1]), jnp.float32), unroll=2)
        return jnp.sum(acc, keepdims=True)

    with jax.named_scope("statistics"):
        mean = total(lambda x: x) / count
        var = total(lambda x: jnp.square(x - mean)) / count
        inv = jax.lax.rsqrt(var + 1e-5)
    o_ref[...] = (x_ref[...] - mean) * inv * g_ref[...] + b_ref[...]


def group_norm(x, gamma, beta):
    b, s, c = x.shape
    block = pl.BlockSpec((None, s, LANES), lambda i, j: (i, 0, j))
    vec = pl.BlockSpec((1, LANES), lambda i, j: (0, j))
    return pl.pallas_call(
        _kernel,
        grid=(b, c // LANES),
        in_specs=[block, vec, vec],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        compiler_params=pltpu.CompilerParams(dimension_semantics=(pltpu.PARALLEL, pltpu.PARALLEL)),
    )(x, gamma[None], beta[None])


# EVOLVE-BLOCK-END
