"""Leaves zeros in the memory of its first input, which is the caller's.

Verdict: contract
Caught by: inputs, kept
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

F = jnp.float32


def kernel(x_hbm, y_ref, o_ref, x, sem):
    pltpu.sync_copy(x_hbm, x)
    o_ref[...] = jnp.dot(x[...], y_ref[...], preferred_element_type=F).astype(o_ref.dtype)
    x[...] = jnp.zeros_like(x)

    @pl.loop(0, 1)
    def _(_):
        pltpu.async_copy(x, x_hbm, sem).wait()


def matmul(x, y):
    (m, k), n = x.shape, y.shape[1]
    return pl.pallas_call(
        kernel,
        in_specs=[pl.BlockSpec(memory_space=pl.ANY), pl.BlockSpec((k, n))],
        out_specs=pl.BlockSpec((m, n)),
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        scratch_shapes=[pltpu.VMEM((m, k), x.dtype), pltpu.SemaphoreType.DMA],
    )(x, y)
