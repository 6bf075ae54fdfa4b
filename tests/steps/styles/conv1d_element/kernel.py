"""Causal depthwise conv1d: blocks with a halo of 8 rows by pl.Element on the array that is padded before.

Verdict: ok
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

# EVOLVE-BLOCK-START
BT = 128
BD = 128
HALO = 16


def _conv_kernel(x_ref, w_ref, b_ref, o_ref):
    x = x_ref[0].astype(jnp.float32)
    bt = o_ref.shape[1]
    taps = w_ref.shape[0]
    acc = jnp.broadcast_to(b_ref[...].astype(jnp.float32), (bt, o_ref.shape[2]))
    for i in range(taps):
        at = HALO - taps + 1 + i
        acc = acc + x[at : at + bt] * w_ref[i : i + 1, :].astype(jnp.float32)
    o_ref[0] = (acc * jax.nn.sigmoid(acc)).astype(o_ref.dtype)


def conv1d(x, w, bias):
    b, t, d = x.shape
    steps = pl.cdiv(t, BT)
    x = jnp.pad(x, ((0, 0), (HALO, steps * BT - t), (0, 0)))
    return pl.pallas_call(
        _conv_kernel,
        grid=(b, d // BD, steps),
        in_specs=[
            pl.BlockSpec((pl.Element(1), pl.Element(BT + HALO), pl.Element(BD)), lambda b, j, i: (b, i * BT, j * BD)),
            pl.BlockSpec((4, BD), lambda b, j, i: (0, j)),
            pl.BlockSpec((1, BD), lambda b, j, i: (0, j)),
        ],
        out_specs=pl.BlockSpec((1, BT, BD), lambda b, j, i: (b, i, j)),
        out_shape=jax.ShapeDtypeStruct((b, t, d), x.dtype),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "parallel")),
    )(x, w, bias[None])


# EVOLVE-BLOCK-END
