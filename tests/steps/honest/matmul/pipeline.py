"""Legal: a pipeline inside the kernel, its inputs and outputs in HBM.

Verdict: ok
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def _block(x_ref, y_ref, out_ref):
    out_ref[...] = jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32).astype(out_ref.dtype)


def matmul(x, y):
    (m, k), n = x.shape, y.shape[1]
    bm = 128 if m % 128 == 0 else m

    def kernel(x_hbm, y_hbm, out_hbm):
        pltpu.emit_pipeline(
            _block,
            grid=(m // bm,),
            in_specs=[pl.BlockSpec((bm, k), lambda i: (i, 0)), pl.BlockSpec((k, n), lambda i: (0, 0))],
            out_specs=[pl.BlockSpec((bm, n), lambda i: (i, 0))],
        )(x_hbm, y_hbm, out_hbm)

    anywhere = pl.BlockSpec(memory_space=pl.ANY)
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        in_specs=[anywhere, anywhere],
        out_specs=anywhere,
    )(x, y)
