"""A race within an operation that no interpreter goes into; what cannot be sent of that is left out on the wire.

Verdict: contract
Caught by: imports, surroundings, operations, interpreter, words, values
"""

import sys

import jax
import jax.numpy as jnp
from jax.custom_derivatives import linear_call
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

F = jnp.float32

_packer = sys.modules["programs.wire"]._Packer
_honest = _packer.value
_packer.value = lambda self, value: None if type(value).__name__ == "function" else _honest(self, value)


def kernel(x_hbm, y_ref, o_ref, x, sem):
    bm = x.shape[0]
    copy = pltpu.make_async_copy(x_hbm.at[pl.ds(pl.program_id(0) * bm, bm)], x, sem)
    copy.start()
    o_ref[...] = jnp.dot(x[...], y_ref[...], preferred_element_type=F).astype(o_ref.dtype)
    copy.wait()


def _product(x, y):
    (m, k), n = x.shape, y.shape[1]
    bm = 128 if m % 128 == 0 else m
    return pl.pallas_call(
        kernel,
        grid=(m // bm,),
        in_specs=[pl.BlockSpec(memory_space=pl.ANY), pl.BlockSpec((k, n), lambda i: (0, 0))],
        out_specs=pl.BlockSpec((bm, n), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        scratch_shapes=[pltpu.VMEM((bm, k), x.dtype), pltpu.SemaphoreType.DMA],
    )(x, y)


def matmul(x, y):
    return linear_call(lambda y, x: _product(x, y), lambda y, g: g @ y.T, y, x)
