"""Does not wait for its copy before it reads, inside of a loop that takes one turn. (11, 19)

Verdict: race
Caught by: interpreter, values
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def _kernel(x_hbm, y_ref, out_ref, x_ref, semaphore):
    copy = pltpu.make_async_copy(x_hbm, x_ref, semaphore)
    copy.start()
    pass
    out_ref[...] = jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32).astype(out_ref.dtype)
    copy.wait()


def _product(x, y):
    (m, k), n = x.shape, y.shape[1]
    return pl.pallas_call(
        _kernel,
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        in_specs=[pl.BlockSpec(memory_space=pl.ANY), pl.BlockSpec((k, n))],
        out_specs=pl.BlockSpec((m, n)),
        scratch_shapes=[pltpu.VMEM((m, k), x.dtype), pltpu.SemaphoreType.DMA],
    )(x, y)


def matmul(x, y):
    return jax.lax.scan(lambda carry, one: (carry, _product(one, y)), 0, x[None])[1][0]
