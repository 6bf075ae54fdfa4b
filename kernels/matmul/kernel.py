"""Tiled matrix multiplication on a TPU core: out = x @ y, bfloat16 in and out, float32 inside.

The grid walks output blocks (i, j) and, innermost, blocks k of the contraction. A block of `out` is
accumulated in a float32 VMEM scratch buffer over all k and rounded once, at the end, so the result does
not depend on BLOCK_K but for the order of the sums. Ragged shapes are legal: a block that sticks out of
the array has undefined values there, which matter only along K, where they are masked.
"""

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

# EVOLVE-BLOCK-START
BLOCK_M = 512
BLOCK_N = 512
BLOCK_K = 512


@dataclass(frozen=True, slots=True)
class BlockSizes:
    """Rows and columns of a block of `out`, and how much of K is multiplied at a time."""

    block_m: int = BLOCK_M
    block_n: int = BLOCK_N
    block_k: int = BLOCK_K


def matmul_kernel(x_ref, y_ref, out_ref, acc_ref, *, k_size, block_k):
    """Adds the product of one block of x and one of y to the accumulator."""
    k = pl.program_id(2)

    @pl.when(k == 0)
    def _clear():
        acc_ref[...] = jnp.zeros_like(acc_ref)

    x, y = x_ref[...], y_ref[...]
    if k_size % block_k != 0:
        left = k_size - k * block_k
        x = jnp.where(jax.lax.broadcasted_iota(jnp.int32, x.shape, 1) < left, x, 0)
        y = jnp.where(jax.lax.broadcasted_iota(jnp.int32, y.shape, 0) < left, y, 0)
    acc_ref[...] += jnp.dot(x, y, preferred_element_type=jnp.float32)

    @pl.when(k == pl.num_programs(2) - 1)
    def _store():
        out_ref[...] = acc_ref[...].astype(out_ref.dtype)


def matmul(x, y, *, block_sizes=None):
    """x [M, K] @ y [K, N] in the dtype of x."""
    sizes = block_sizes or BlockSizes()
    (m, k), n = x.shape, y.shape[1]
    bm, bn, bk = min(sizes.block_m, m), min(sizes.block_n, n), min(sizes.block_k, k)
    return pl.pallas_call(
        functools.partial(matmul_kernel, k_size=k, block_k=bk),
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        grid=(pl.cdiv(m, bm), pl.cdiv(n, bn), pl.cdiv(k, bk)),
        in_specs=[
            pl.BlockSpec((bm, bk), lambda i, j, k: (i, k)),
            pl.BlockSpec((bk, bn), lambda i, j, k: (k, j)),
        ],
        out_specs=pl.BlockSpec((bm, bn), lambda i, j, k: (i, j)),
        scratch_shapes=[pltpu.VMEM((bm, bn), jnp.float32)],
        compiler_params=pltpu.CompilerParams(
            dimension_semantics=("parallel", "parallel", "arbitrary"),
            vmem_limit_bytes=48 * 2**20,
        ),
        cost_estimate=pl.CostEstimate(
            flops=2 * m * n * k,
            bytes_accessed=(m * k + k * n + m * n) * x.dtype.itemsize,
            transcendentals=0,
        ),
        interpret=jax.default_backend() == "cpu",
        name="matmul",
    )(x, y)


# EVOLVE-BLOCK-END
