"""Keeps its sum in a bfloat16 scratch, and sums it with each product along an axis that both are put along.

Verdict: precision
Caught by: additions
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def _kernel(x_ref, y_ref, out_ref, sum_ref):
    sum_ref[...] = jnp.zeros_like(sum_ref)
    for start in range(0, x_ref.shape[1], 128):
        at = pl.ds(start, 128)
        part = jnp.dot(x_ref[:, at], y_ref[at, :], preferred_element_type=jnp.float32)
        both = jnp.stack([sum_ref[...].astype(jnp.float32), part])
        sum_ref[...] = both.sum(axis=0).astype(jnp.bfloat16)
    out_ref[...] = sum_ref[...].astype(jnp.float32)


def matmul(x, y):
    (m, k), n = x.shape, y.shape[1]
    bm, bn = min(128, m), min(128, n)
    return pl.pallas_call(
        _kernel,
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        grid=(pl.cdiv(m, bm), pl.cdiv(n, bn)),
        in_specs=[pl.BlockSpec((bm, k), lambda i, j: (i, 0)), pl.BlockSpec((k, bn), lambda i, j: (0, j))],
        out_specs=pl.BlockSpec((bm, bn), lambda i, j: (i, j)),
        scratch_shapes=[pltpu.VMEM((bm, bn), jnp.bfloat16)],
    )(x, y)
