"""3x3 convolution as nine shifted matmuls; an output row a step, three input rows by three specs of one array.

Verdict: ok
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

# EVOLVE-BLOCK-START


def _conv_kernel(top_ref, mid_ref, low_ref, w_ref, o_ref):
    width, out = o_ref.shape
    acc = jnp.zeros((width, out), jnp.float32)
    for dy, ref in enumerate((top_ref, mid_ref, low_ref)):
        for dx in range(3):
            acc += jnp.dot(ref[dx : dx + width, :], w_ref[dy, dx], preferred_element_type=jnp.float32)
    o_ref[...] = jnp.maximum(acc, 0).astype(o_ref.dtype)


def conv3x3(x, w):
    b, h, width, c = x.shape
    out = w.shape[-1]
    x = jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))

    def row(dy):
        return pl.BlockSpec((pl.squeezed, pl.squeezed, width + 2, c), lambda n, y: (n, y + dy, 0, 0))

    return pl.pallas_call(
        _conv_kernel,
        grid=(b, h),
        in_specs=[row(0), row(1), row(2), pl.BlockSpec(w.shape, lambda n, y: (0, 0, 0, 0))],
        out_specs=pl.BlockSpec((None, None, width, out), lambda n, y: (n, y, 0, 0)),
        out_shape=jax.ShapeDtypeStruct((b, h, width, out), x.dtype),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "arbitrary")),
    )(x, x, x, w)


# EVOLVE-BLOCK-END
