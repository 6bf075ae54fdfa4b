"""Legal: pl.core_map over references, its work by emit_pipeline.

Verdict: ok
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

ROWS = 64


def scale_shift(x, g):
    m, n = x.shape
    rows = min(ROWS, m)

    def body(refs):
        x_ref, g_ref, o_ref = refs

        @pl.core_map(pltpu.create_tensorcore_mesh("core", num_cores=1))
        def _():
            def inner(x_ref, g_ref, o_ref):
                x = x_ref[...]
                o_ref[...] = x * jnp.tanh(x) * g_ref[...]

            pltpu.emit_pipeline(
                inner,
                grid=(m // rows,),
                in_specs=[pl.BlockSpec((rows, n), lambda i: (i, 0)), pl.BlockSpec((1, n), lambda i: (0, 0))],
                out_specs=[pl.BlockSpec((rows, n), lambda i: (i, 0))],
            )(x_ref, g_ref, o_ref)

    _, _, out = pl.run_state(body)((x, g, jnp.zeros_like(x)))
    return out
