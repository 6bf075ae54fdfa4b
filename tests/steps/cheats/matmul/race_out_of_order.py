"""A copy that nobody waits for, behind what the interpreter does not take. (19)

Verdict: race
Caught by: interpreter, values
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def _racing(x_hbm, y_ref, out_ref, x_ref, semaphore):
    copy = pltpu.make_async_copy(x_hbm, x_ref, semaphore)
    copy.start()
    out_ref[...] = jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32).astype(out_ref.dtype)
    copy.wait()


def matmul(x, y):
    (m, k), n = x.shape, y.shape[1]
    return pl.pallas_call(
        _racing,
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        grid=(1, 1),
        in_specs=[pl.BlockSpec(memory_space=pl.ANY), pl.BlockSpec((k, n), lambda i, j: (0, 0))],
        out_specs=pl.BlockSpec((m, n), lambda i, j: (0, 0)),
        scratch_shapes=[pltpu.VMEM((m, k), x.dtype), pltpu.SemaphoreType.DMA],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("arbitrary", "parallel")),
    )(x, y)
