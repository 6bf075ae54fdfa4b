"""Keys and values of combined pages are taken apart by strided loads of a reference that is seen flat.

Verdict: ok
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

# EVOLVE-BLOCK-START
ROWS = 8


def _kernel(x_ref, scale_ref, k_ref, v_ref):
    rows, heads2, d = x_ref.shape
    flat = x_ref.reshape(rows * heads2, d)
    n = rows * heads2 // 2
    k_ref[...] = (flat[pl.ds(0, n, stride=2), :] * scale_ref[...]).reshape(k_ref.shape)
    v_ref[...] = flat[pl.ds(1, n, stride=2), :].reshape(v_ref.shape)


def deinterleave(x, scale):
    t, g2, d = x.shape
    half = pl.BlockSpec((ROWS, g2 // 2, d), lambda i: (i, 0, 0))
    out = jax.ShapeDtypeStruct((t, g2 // 2, d), x.dtype)
    return pl.pallas_call(
        _kernel,
        grid=(t // ROWS,),
        in_specs=[pl.BlockSpec((ROWS, g2, d), lambda i: (i, 0, 0)), pl.BlockSpec((1, d), lambda i: (0, 0))],
        out_specs=[half, half],
        out_shape=[out, out],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",)),
    )(x, scale[None])


# EVOLVE-BLOCK-END
