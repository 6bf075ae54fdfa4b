"""The largest is zero at least: wrong where all values of a row are negative.

Verdict: incorrect
Caught by: sets
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def body(x_ref, m_ref, a_ref):
    x = x_ref[...]
    most = jnp.maximum(x.max(axis=1, keepdims=True), 0.0)
    col = jax.lax.broadcasted_iota(jnp.int32, x.shape, 1)
    m_ref[...] = most
    a_ref[...] = jnp.where(x >= most, col, x.shape[1]).min(axis=1, keepdims=True)


def best(x):
    m, n = x.shape
    one = pl.BlockSpec((16, 1), lambda i: (i, 0))
    return pl.pallas_call(
        body,
        grid=(m // 16,),
        in_specs=[pl.BlockSpec((16, n), lambda i: (i, 0))],
        out_specs=(one, one),
        out_shape=(jax.ShapeDtypeStruct((m, 1), x.dtype), jax.ShapeDtypeStruct((m, 1), jnp.int32)),
    )(x)
