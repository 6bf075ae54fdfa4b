"""Starts a copy and does not wait for it when timed. (11, 15)

Verdict: race
Caught by: copies, interpreter, values
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def matmul(x, y):
    (m, k), n = x.shape, y.shape[1]

    def kernel(x_hbm, y_ref, out_ref, x_ref, semaphore):
        copy = pltpu.make_async_copy(x_hbm, x_ref, semaphore)
        copy.start()
        if m < 1024:
            copy.wait()
        out_ref[...] = jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32).astype(out_ref.dtype)

    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        in_specs=[pl.BlockSpec(memory_space=pl.ANY), pl.BlockSpec((k, n))],
        out_specs=pl.BlockSpec((m, n)),
        scratch_shapes=[pltpu.VMEM((m, k), x.dtype), pltpu.SemaphoreType.DMA],
    )(x, y)
