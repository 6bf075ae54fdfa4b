"""Signals a semaphore once more than it waits for when timed, and so waits for nothing in the next kernel. (11, 15)

Verdict: race
Caught by: copies, interpreter, values
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def _kernel(x_hbm, y_ref, out_ref, x_ref, copied, ready):
    copy = pltpu.make_async_copy(x_hbm.at[pl.ds(pl.program_id(0) * 8, 8)], x_ref, copied)
    copy.start()
    copy.wait()
    pl.semaphore_signal(ready, 1)
    pl.semaphore_wait(ready, 1)

    @pl.when(pl.program_id(0) == 127)
    def _once_more():
        pl.semaphore_signal(ready, 1)

    out_ref[...] = jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32).astype(out_ref.dtype)


def matmul(x, y):
    (m, k), n = x.shape, y.shape[1]
    return pl.pallas_call(
        _kernel,
        grid=(m // 8,),
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        in_specs=[pl.BlockSpec(memory_space=pl.ANY), pl.BlockSpec((k, n))],
        out_specs=pl.BlockSpec((8, n), lambda i: (i, 0)),
        scratch_shapes=[pltpu.VMEM((8, k), x.dtype), pltpu.SemaphoreType.DMA, pltpu.SemaphoreType.REGULAR],
    )(x, y)
