"""RMS norm with custom_vjp: the weight's gradient is summed over the grid in an output block that stays.

Verdict: ok
"""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

# EVOLVE-BLOCK-START
ROWS = 16
EPS = 1e-6


def _fwd_kernel(x_ref, w_ref, o_ref, rstd_ref):
    x = x_ref[...]
    rstd = jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + EPS)
    rstd_ref[...] = rstd
    o_ref[...] = x * rstd * w_ref[...]


def _bwd_kernel(x_ref, w_ref, rstd_ref, do_ref, dx_ref, dw_ref, *, tokens, rows):
    i = pl.program_id(0)

    @pl.when(i == 0)
    def _():
        dw_ref[...] = jnp.zeros_like(dw_ref)

    x, rstd, do = x_ref[...], rstd_ref[...], do_ref[...]
    xhat = x * rstd
    wdo = do * w_ref[...]
    dx_ref[...] = rstd * (wdo - xhat * jnp.mean(xhat * wdo, axis=-1, keepdims=True))
    there = i * rows + jax.lax.broadcasted_iota(jnp.int32, (rows, 1), 0) < tokens
    dw_ref[...] += jnp.sum(jnp.where(there, do * xhat, 0.0), axis=0, keepdims=True)


def _fwd(x, w):
    t, d = x.shape
    row = pl.BlockSpec((ROWS, d), lambda i: (i, 0))
    out, rstd = pl.pallas_call(
        _fwd_kernel,
        grid=(pl.cdiv(t, ROWS),),
        in_specs=[row, pl.BlockSpec((1, d), lambda i: (0, 0))],
        out_specs=[row, pl.BlockSpec((ROWS, 1), lambda i: (i, 0))],
        out_shape=[jax.ShapeDtypeStruct((t, d), x.dtype), jax.ShapeDtypeStruct((t, 1), jnp.float32)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",)),
    )(x, w[None])
    return out, (x, w, rstd)


def _bwd(saved, do):
    x, w, rstd = saved
    t, d = x.shape
    row = pl.BlockSpec((ROWS, d), lambda i: (i, 0))
    vec = pl.BlockSpec((1, d), lambda i: (0, 0))
    dx, dw = pl.pallas_call(
        functools.partial(_bwd_kernel, tokens=t, rows=ROWS),
        grid=(pl.cdiv(t, ROWS),),
        in_specs=[row, vec, pl.BlockSpec((ROWS, 1), lambda i: (i, 0)), row],
        out_specs=[row, vec],
        out_shape=[jax.ShapeDtypeStruct((t, d), x.dtype), jax.ShapeDtypeStruct((1, d), jnp.float32)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("arbitrary",)),
    )(x, w[None], rstd, do)
    return dx, dw[0]


@jax.custom_vjp
def norm(x, w):
    return _fwd(x, w)[0]


norm.defvjp(_fwd, _bwd)
# EVOLVE-BLOCK-END
