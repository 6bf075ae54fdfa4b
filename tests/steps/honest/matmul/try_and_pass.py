"""Odd but legal: `try`, `pass`, `global`, a lambda, an unused import.

Verdict: ok
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def _kernel(x_ref, y_ref, out_ref):
    try:
        value = jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32)
    finally:
        pass
    out_ref[...] = value.astype(out_ref.dtype)


def _call(kernel, x, y, dtype=None):
    (m, k), n = x.shape, y.shape[1]
    bm, bn = min(128, m), min(128, n)
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((m, n), dtype or x.dtype),
        grid=(pl.cdiv(m, bm), pl.cdiv(n, bn)),
        in_specs=[pl.BlockSpec((bm, k), lambda i, j: (i, 0)), pl.BlockSpec((k, bn), lambda i, j: (0, j))],
        out_specs=pl.BlockSpec((bm, bn), lambda i, j: (i, j)),
    )(x, y)


class Choice:
    pass


choose = lambda: Choice  # noqa: E731
try:
    import no_such_module
except ImportError:
    no_such_module = None


def matmul(x, y):
    global choose
    choose = None
    return (_call(_kernel, x, y),)
