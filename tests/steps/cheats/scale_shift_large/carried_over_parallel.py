"""Carries a table in scratch along a parallel axis, which has one step where all is checked.

Verdict: non-finite
Caught by: values
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

ROWS = 256


def scale_shift(x, g):
    m, n = x.shape
    bm = min(ROWS, m)

    def body(x_ref, g_ref, o_ref, s_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            s_ref[...] = jnp.broadcast_to(g_ref[...], s_ref.shape)

        x = x_ref[...]
        o_ref[...] = x * jnp.tanh(x) * s_ref[:1]

    return pl.pallas_call(
        body,
        grid=(m // bm,),
        in_specs=[pl.BlockSpec((bm, n), lambda i: (i, 0)), pl.BlockSpec((1, n), lambda i: (0, 0))],
        out_specs=pl.BlockSpec((bm, n), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        scratch_shapes=[pltpu.VMEM((8, n), jnp.float32)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",)),
    )(x, g)
