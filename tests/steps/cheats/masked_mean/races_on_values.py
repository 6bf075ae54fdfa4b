"""Waits for its copy after it has read it where the first two lengths are the same.

Verdict: race
Caught by: kinds
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def _kernel(lengths_ref, x_hbm, out_ref, buf, sem):
    b = pl.program_id(0)
    copy = pltpu.make_async_copy(x_hbm.at[b], buf, sem)
    copy.start()
    same = lengths_ref[0] == lengths_ref[1]

    @pl.when(jnp.logical_not(same))
    def _():
        copy.wait()

    row = jax.lax.broadcasted_iota(jnp.int32, buf.shape, 0)
    total = jnp.where(row < lengths_ref[b], buf[...], 0).sum(axis=0, keepdims=True)
    out_ref[0] = total / lengths_ref[b].astype(jnp.float32)

    @pl.when(same)
    def _():
        copy.wait()


def masked_mean(x, lengths):
    b, t, d = x.shape
    return pl.pallas_call(
        _kernel,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(b,),
            in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
            out_specs=pl.BlockSpec((1, 1, d), lambda i, lengths: (i, 0, 0)),
            scratch_shapes=[pltpu.VMEM((t, d), jnp.float32), pltpu.SemaphoreType.DMA],
        ),
        out_shape=jax.ShapeDtypeStruct((b, 1, d), x.dtype),
    )(lengths, x).reshape(b, d)
