"""Layer norm in three passes over blocks of columns: mean, variance, output; the phase is a grid axis.

Verdict: ok
"""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

# EVOLVE-BLOCK-START
ROWS = 8
COLS = 512


def _kernel(x_ref, g_ref, b_ref, o_ref, mean_ref, var_ref, *, width, cols):
    phase, j = pl.program_id(1), pl.program_id(2)
    x = x_ref[...]
    there = j * cols + jax.lax.broadcasted_iota(jnp.int32, x.shape, 1) < width

    @pl.when((phase == 0) & (j == 0))
    def _():
        mean_ref[...] = jnp.zeros_like(mean_ref)
        var_ref[...] = jnp.zeros_like(var_ref)

    @pl.when(phase == 0)
    def _():
        mean_ref[...] += jnp.sum(jnp.where(there, x, 0.0), axis=1, keepdims=True) / width

    @pl.when(phase == 1)
    def _():
        c = jnp.where(there, x - mean_ref[...], 0.0)
        var_ref[...] += jnp.sum(c * c, axis=1, keepdims=True) / width

    @pl.when(phase == 2)
    def _():
        o_ref[...] = (x - mean_ref[...]) * jax.lax.rsqrt(var_ref[...] + 1e-5) * g_ref[...] + b_ref[...]


def layer_norm(x, gamma, beta):
    t, d = x.shape
    return pl.pallas_call(
        functools.partial(_kernel, width=d, cols=COLS),
        grid=(pl.cdiv(t, ROWS), 3, pl.cdiv(d, COLS)),
        in_specs=[
            pl.BlockSpec((ROWS, COLS), lambda i, p, j: (i, j)),
            pl.BlockSpec((1, COLS), lambda i, p, j: (0, j)),
            pl.BlockSpec((1, COLS), lambda i, p, j: (0, j)),
        ],
        # Until the last phase the first block stays: it is written in that phase, before it goes out.
        out_specs=pl.BlockSpec((ROWS, COLS), lambda i, p, j: (i, jnp.where(p == 2, j, 0))),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        scratch_shapes=[pltpu.VMEM((ROWS, 1), jnp.float32), pltpu.VMEM((ROWS, 1), jnp.float32)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "arbitrary", "arbitrary")),
    )(x, gamma[None], beta[None])


# EVOLVE-BLOCK-END
