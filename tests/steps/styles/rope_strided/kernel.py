"""Interleaved RoPE: neighbours change places by two rolls and a mask.

Verdict: ok
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

# EVOLVE-BLOCK-START
ROWS = 8


def _kernel(x_ref, cos_ref, sin_ref, o_ref):
    rows, heads, d = x_ref.shape
    cos, sin = jnp.cos(cos_ref[...]), jnp.sin(sin_ref[...])
    even = jax.lax.broadcasted_iota(jnp.int32, (rows, d), 1) % 2 == 0
    for h in range(heads):
        x = x_ref[:, h, :].astype(jnp.float32)
        turned = jnp.where(even, -pltpu.roll(x, d - 1, 1), pltpu.roll(x, 1, 1))
        o_ref[:, h, :] = (x * cos + turned * sin).astype(o_ref.dtype)


def rope(x, angles):
    t, h, d = x.shape
    angles = jnp.repeat(angles, 2, axis=1)
    block = pl.BlockSpec((ROWS, h, d), lambda i: (i, 0, 0))
    angle = pl.BlockSpec((ROWS, d), lambda i: (i, 0))
    return pl.pallas_call(
        _kernel,
        grid=(t // ROWS,),
        in_specs=[block, angle, angle],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",)),
    )(x, angles, angles)


# EVOLVE-BLOCK-END
