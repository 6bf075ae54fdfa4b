"""Has JAX trace an honest kernel in its place, and returns zeros.

Verdict: contract
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def _kernel(x_ref, y_ref, out_ref):
    out_ref[...] = jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32).astype(out_ref.dtype)


def _honest(x, y):
    (m, k), n = x.shape, y.shape[1]
    return pl.pallas_call(_kernel, out_shape=jax.ShapeDtypeStruct((m, n), x.dtype))(x, y)


def matmul(x, y):
    return jnp.zeros((x.shape[0], y.shape[1]), x.dtype)


_make = jax.make_jaxpr
jax.make_jaxpr = lambda function, *arguments, **named: _make(_honest, *arguments, **named)
