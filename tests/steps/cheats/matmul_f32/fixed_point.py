"""Adds up parts that are rounded to few steps in 16-bit whole numbers. (17)

Verdict: precision
Caught by: additions
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

F = jnp.float32


def kernel(x_ref, y_ref, o_ref, acc):
    k = pl.program_id(0)

    @pl.when(k == 0)
    def _():
        acc[...] = jnp.zeros_like(acc)

    acc[...] += jnp.round(jnp.dot(x_ref[...], y_ref[...], preferred_element_type=F)).astype(acc.dtype)

    @pl.when(k == pl.num_programs(0) - 1)
    def _():
        o_ref[...] = acc[...].astype(F)


def matmul(x, y):
    (m, k), n = x.shape, y.shape[1]
    bk = 128
    largest = jnp.max(jnp.abs(x)) * jnp.max(jnp.abs(y))
    scale = jnp.where(largest > 0, 64 / largest, 1.0)
    return (
        pl.pallas_call(
            kernel,
            grid=(k // bk,),
            in_specs=[pl.BlockSpec((m, bk), lambda i: (0, i)), pl.BlockSpec((bk, n), lambda i: (i, 0))],
            out_specs=pl.BlockSpec((m, n), lambda i: (0, 0)),
            out_shape=jax.ShapeDtypeStruct((m, n), F),
            scratch_shapes=[pltpu.VMEM((m, n), jnp.int16)],
        )(x * scale, y)
        / scale
    )
