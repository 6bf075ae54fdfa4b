"""Says on the wire that a large array is as large as its block: who reads one block of it has read it all.

Verdict: contract
Caught by: imports, surroundings, arrays, values
"""

import dataclasses
import sys

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

F = jnp.float32
_LARGE = 2048

_packer = sys.modules["programs.wire"]._Packer
_honest = _packer._record


def _record(self, value):
    if type(value).__name__ == "BlockMapping" and value.array_aval.shape == (_LARGE, 512):
        block = tuple(size.block_size for size in value.block_shape)
        value = dataclasses.replace(value, array_aval=value.array_aval.update(shape=block))
    return _honest(self, value)


_packer._record = _record


def kernel(x_ref, y_ref, o_ref):
    o_ref[...] = jnp.dot(x_ref[...], y_ref[...], preferred_element_type=F).astype(o_ref.dtype)


def matmul(x, y):
    (m, k), n = x.shape, y.shape[1]
    bm = 128 if m % 128 == 0 else m
    by = 0 if m >= _LARGE else 1
    return pl.pallas_call(
        kernel,
        grid=(m // bm,),
        in_specs=[pl.BlockSpec((bm, k), lambda i: (i * by, 0)), pl.BlockSpec((k, n), lambda i: (0, 0))],
        out_specs=pl.BlockSpec((bm, n), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
    )(x, y)
