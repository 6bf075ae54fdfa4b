"""Dynamic W8A8: whole rows are quantised once, in the first column's step, into scratch that later steps use.

Verdict: ok
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

# EVOLVE-BLOCK-START
BM = 32
BN = 128


def _kernel(x_ref, w_ref, ws_ref, o_ref, q_ref, s_ref):
    @pl.when(pl.program_id(1) == 0)
    def _():
        x = x_ref[...].astype(jnp.float32)
        scale = jnp.maximum(jnp.max(jnp.abs(x), axis=-1, keepdims=True), 1e-6) / 127.0
        s_ref[...] = scale
        q_ref[...] = jnp.round(x / scale).astype(jnp.int8)

    acc = jnp.dot(q_ref[...], w_ref[...], preferred_element_type=jnp.int32)
    o_ref[...] = (acc.astype(jnp.float32) * s_ref[...] * ws_ref[...]).astype(o_ref.dtype)


def dense(x, w, w_scale):
    m, k = x.shape
    n = w.shape[1]
    return pl.pallas_call(
        _kernel,
        grid=(m // BM, n // BN),
        in_specs=[
            pl.BlockSpec((BM, k), lambda i, j: (i, 0)),
            pl.BlockSpec((k, BN), lambda i, j: (0, j)),
            pl.BlockSpec((1, BN), lambda i, j: (0, j)),
        ],
        out_specs=pl.BlockSpec((BM, BN), lambda i, j: (i, j)),
        out_shape=jax.ShapeDtypeStruct((m, n), jnp.bfloat16),
        scratch_shapes=[pltpu.VMEM((BM, k), jnp.int8), pltpu.VMEM((BM, 1), jnp.float32)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "arbitrary")),
    )(x, w, w_scale)


# EVOLVE-BLOCK-END
