"""Races, and never ends where memory holds any number. (11, 19)

Verdict: race
Caught by: interpreter, values
"""

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

F = jnp.float32


def racy(x_hbm, y_ref, o_ref, xb, s, sem):
    bm = xb.shape[0]
    c = pltpu.make_async_copy(x_hbm.at[pl.ds(pl.program_id(0) * bm, bm)], xb, sem)

    def spin(i, c):
        s[1] = i
        return c

    v = s[0]
    lax.fori_loop(0, jnp.where((v > 0) & (v < 8), 2000000000, 0), spin, 0)
    c.start()
    o_ref[...] = jnp.dot(xb[...], y_ref[...], preferred_element_type=F).astype(o_ref.dtype)
    c.wait()


def matmul(x, y):
    (m, k), n = x.shape, y.shape[1]
    bm = 128 if m % 128 == 0 else m
    return pl.pallas_call(
        racy,
        grid=(m // bm,),
        in_specs=[pl.BlockSpec(memory_space=pl.ANY), pl.BlockSpec((k, n), lambda i: (0, 0))],
        out_specs=pl.BlockSpec((bm, n), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        scratch_shapes=[pltpu.VMEM((bm, k), x.dtype), pltpu.SMEM((8,), jnp.int32), pltpu.SemaphoreType.DMA],
    )(x, y)
