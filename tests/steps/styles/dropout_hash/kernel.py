"""Dropout by a murmur hash of the element's place: whole numbers of 32 bits in the kernel.

Verdict: ok
"""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

# EVOLVE-BLOCK-START
ROWS = 16


def _kernel(seed_ref, x_ref, o_ref, *, keep):
    i = pl.program_id(0)
    rows, n = x_ref.shape
    row = jax.lax.broadcasted_iota(jnp.int32, (rows, n), 0) + i * rows
    col = jax.lax.broadcasted_iota(jnp.int32, (rows, n), 1)
    h = (row * n + col).astype(jnp.uint32)
    h ^= seed_ref[0].astype(jnp.uint32) * jnp.uint32(0x9E3779B9)
    h = (h ^ (h >> 16)) * jnp.uint32(0x85EBCA6B)
    h = (h ^ (h >> 13)) * jnp.uint32(0xC2B2AE35)
    h ^= h >> 16
    o_ref[...] = jnp.where(h < jnp.uint32(int(keep * 2**32)), x_ref[...] / keep, 0.0)


def dropout(x, seed):
    m, n = x.shape
    spec = pl.BlockSpec((ROWS, n), lambda i, seed: (i, 0))
    return pl.pallas_call(
        functools.partial(_kernel, keep=0.9),
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1, grid=(pl.cdiv(m, ROWS),), in_specs=[spec], out_specs=spec
        ),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",)),
    )(seed, x)


# EVOLVE-BLOCK-END
