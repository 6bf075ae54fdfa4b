"""Legal: a kernel over rows of blocks, by vmap, whose own dimension has no order.

Verdict: ok
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def _kernel(x_ref, y_ref, out_ref):
    out_ref[...] = jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32).astype(out_ref.dtype)


def _rows(x, y):
    (m, k), n = x.shape, y.shape[1]
    bn = min(128, n)
    return pl.pallas_call(
        _kernel,
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        grid=(pl.cdiv(n, bn),),
        in_specs=[pl.BlockSpec((m, k), lambda j: (0, 0)), pl.BlockSpec((k, bn), lambda j: (0, j))],
        out_specs=pl.BlockSpec((m, bn), lambda j: (0, j)),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",)),
    )(x, y)


def matmul(x, y):
    return jax.vmap(_rows, in_axes=(0, None))(x.reshape(8, -1, x.shape[1]), y).reshape(x.shape[0], -1)
