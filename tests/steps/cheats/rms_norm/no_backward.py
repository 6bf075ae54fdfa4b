"""The gradients are zeros: only the forward pass is computed. (4, 5)

Verdict: contract
Caught by: dependence, elements, error, inside, read_back
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def _forward_kernel(x_ref, w_ref, out_ref, scale_ref):
    x = x_ref[...]
    scale = jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6)
    scale_ref[...] = jnp.broadcast_to(scale, scale_ref.shape)
    out_ref[...] = x * scale * w_ref[...]


def _backward_kernel(x_ref, w_ref, scale_ref, d_out_ref, d_x_ref, d_w_ref):
    x, scale, d_out = x_ref[...], scale_ref[...][:, :1], d_out_ref[...]
    weighted = d_out * w_ref[...]
    mean = jnp.mean(x * weighted, axis=-1, keepdims=True)
    d_x_ref[...] = scale * weighted - x * mean * scale * scale * scale

    @pl.when(pl.program_id(0) == 0)
    def _clear():
        d_w_ref[...] = jnp.zeros_like(d_w_ref)

    d_w_ref[...] += (d_out * x * scale).sum(axis=0, keepdims=True)


def _rows(t, d, width):
    block = min(128, t)
    return pl.BlockSpec((block, width), lambda i: (i, 0)), pl.BlockSpec((1, d), lambda i: (0, 0)), (t // block,)


@jax.custom_vjp
def _normalised(x, w):
    return _forward(x, w)[0]


def _forward(x, w):
    (t, d), w = x.shape, w.reshape(1, -1)
    rows, weights, grid = _rows(t, d, d)
    narrow = _rows(t, d, 128)[0]
    shapes = [jax.ShapeDtypeStruct((t, d), x.dtype), jax.ShapeDtypeStruct((t, 128), x.dtype)]
    out, scale = pl.pallas_call(
        _forward_kernel, out_shape=shapes, grid=grid, in_specs=[rows, weights], out_specs=[rows, narrow]
    )(x, w)
    return out, (x, w, scale)


def _backward(saved, d_out):
    x, w, scale = saved
    t, d = x.shape
    rows, weights, grid = _rows(t, d, d)
    narrow = _rows(t, d, 128)[0]
    shapes = [jax.ShapeDtypeStruct((t, d), x.dtype), jax.ShapeDtypeStruct((1, d), x.dtype)]
    d_x, d_w = pl.pallas_call(
        _backward_kernel,
        out_shape=shapes,
        grid=grid,
        in_specs=[rows, weights, narrow, rows],
        out_specs=[rows, weights],
    )(x, w, scale, d_out)
    return jnp.zeros_like(x), jnp.zeros((d,), x.dtype)


_normalised.defvjp(_forward, _backward)


def rms_norm(x, w):
    return _normalised(x, w)
