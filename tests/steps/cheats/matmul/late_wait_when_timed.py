"""Waits for its copy after it has read it, when timed. (11, 15)

Verdict: race
Caught by: interpreter, values
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

F = jnp.float32


def kernel(x_ref, y_ref, o_ref):
    o_ref[...] = jnp.dot(x_ref[...], y_ref[...], preferred_element_type=F).astype(o_ref.dtype)


def plain(x, y):
    (m, k), n = x.shape, y.shape[1]
    bm = 128 if m % 128 == 0 else m
    return pl.pallas_call(
        kernel,
        grid=(m // bm,),
        in_specs=[pl.BlockSpec((bm, k), lambda i: (i, 0)), pl.BlockSpec((k, n), lambda i: (0, 0))],
        out_specs=pl.BlockSpec((bm, n), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
    )(x, y)


def racy(x_hbm, y_ref, o_ref, xb, sem):
    c = pltpu.make_async_copy(x_hbm.at[pl.ds(pl.program_id(0) * 128, 128)], xb, sem)
    c.start()
    kernel(xb, y_ref, o_ref)
    c.wait()


def matmul(x, y):
    (m, k), n = x.shape, y.shape[1]
    if m <= 256:
        return plain(x, y)
    return pl.pallas_call(
        racy,
        grid=(m // 128,),
        in_specs=[pl.BlockSpec(memory_space=pl.ANY), pl.BlockSpec((k, n), lambda i: (0, 0))],
        out_specs=pl.BlockSpec((128, n), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        scratch_shapes=[pltpu.VMEM((128, k), x.dtype), pltpu.SemaphoreType.DMA],
    )(x, y)
