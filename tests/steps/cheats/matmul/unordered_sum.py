"""Says only of the last dimension, which it sums over, that its order does not matter. (19)

Verdict: race
Caught by: order, interpreter, values
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def _adding(x_ref, y_ref, out_ref, sum_ref):
    k = pl.program_id(2)

    @pl.when(k == 0)
    def _clear():
        sum_ref[...] = jnp.zeros_like(sum_ref)

    sum_ref[...] += jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32)

    @pl.when(k == pl.num_programs(2) - 1)
    def _store():
        out_ref[...] = sum_ref[...].astype(out_ref.dtype)


def matmul(x, y):
    (m, k), n = x.shape, y.shape[1]
    bm, bn, bk = min(128, m), min(128, n), 128
    return pl.pallas_call(
        _adding,
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        grid=(pl.cdiv(m, bm), pl.cdiv(n, bn), k // bk),
        in_specs=[pl.BlockSpec((bm, bk), lambda i, j, k: (i, k)), pl.BlockSpec((bk, bn), lambda i, j, k: (k, j))],
        out_specs=pl.BlockSpec((bm, bn), lambda i, j, k: (i, j)),
        scratch_shapes=[pltpu.VMEM((bm, bn), jnp.float32)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("arbitrary", "arbitrary", "parallel")),
    )(x, y)
