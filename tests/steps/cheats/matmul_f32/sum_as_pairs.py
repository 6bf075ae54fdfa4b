"""Keeps its sum as pairs of bfloat16 in whole numbers of 32 bits.

Verdict: precision
Caught by: additions
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

B, F = jnp.bfloat16, jnp.float32


def _kernel(x_ref, y_ref, out_ref, sum_ref):
    k = pl.program_id(2)
    half = sum_ref.shape[0]

    @pl.when(k == 0)
    def _clear():
        sum_ref[...] = jnp.zeros(sum_ref.shape, sum_ref.dtype)

    part = jnp.dot(x_ref[...], y_ref[...], preferred_element_type=F)
    had = sum_ref[...]
    both = [pltpu.unpack_elementwise(had, index=i, packed_dtype=B, unpacked_dtype=F) for i in range(2)]
    both = [one + part[i * half : (i + 1) * half] for i, one in enumerate(both)]
    sum_ref[...] = pltpu.pack_elementwise(both, packed_dtype=B)

    @pl.when(k == pl.num_programs(2) - 1)
    def _store():
        for i in range(2):
            one = pltpu.unpack_elementwise(sum_ref[...], index=i, packed_dtype=B, unpacked_dtype=F)
            out_ref[i * half : (i + 1) * half, :] = one.astype(out_ref.dtype)


def matmul(x, y):
    (m, k), n = x.shape, y.shape[1]
    bm, bn, bk = min(256, m), min(256, n), 128
    return pl.pallas_call(
        _kernel,
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        grid=(pl.cdiv(m, bm), pl.cdiv(n, bn), k // bk),
        in_specs=[pl.BlockSpec((bm, bk), lambda i, j, k: (i, k)), pl.BlockSpec((bk, bn), lambda i, j, k: (k, j))],
        out_specs=pl.BlockSpec((bm, bn), lambda i, j, k: (i, j)),
        scratch_shapes=[pltpu.VMEM((bm // 2, bn), jnp.uint32)],
    )(x, y)
