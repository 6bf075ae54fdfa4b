"""Blocks by the size; a loop over K that is unrolled, and its first step apart.

Verdict: ok
"""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def _steps(x_ref, y_ref, out_ref, *, bk, steps):
    total = jnp.dot(x_ref[:, :bk], y_ref[:bk, :], preferred_element_type=jnp.float32)
    for step in range(1, steps):
        at = slice(step * bk, (step + 1) * bk)
        total += jnp.dot(x_ref[:, at], y_ref[at, :], preferred_element_type=jnp.float32)
    out_ref[...] = total.astype(out_ref.dtype)


def matmul(x, y):
    (m, k), n = x.shape, y.shape[1]
    bm, bn = (512, 256) if m >= 1024 else (min(128, m), min(128, n))
    bk = 64 if m >= 1024 else 128
    return pl.pallas_call(
        functools.partial(_steps, bk=bk, steps=k // bk),
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        grid=(pl.cdiv(m, bm), pl.cdiv(n, bn)),
        in_specs=[pl.BlockSpec((bm, k), lambda i, j: (i, 0)), pl.BlockSpec((k, bn), lambda i, j: (0, j))],
        out_specs=pl.BlockSpec((bm, bn), lambda i, j: (i, j)),
        compiler_params=pltpu.CompilerParams(
            dimension_semantics=("parallel", "arbitrary"), vmem_limit_bytes=64 * 2**20
        ),
        cost_estimate=pl.CostEstimate(
            flops=2 * m * n * k, transcendentals=0, bytes_accessed=2 * (m * k + k * n + m * n)
        ),
    )(x, y)
