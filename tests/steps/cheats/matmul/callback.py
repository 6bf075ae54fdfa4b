"""Calls back into Python, where the answer is computed by NumPy. (12, 16)

Verdict: contract
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

import numpy as np


def _product(x, y):
    return (x.astype(np.float32) @ y.astype(np.float32)).astype(x.dtype)


def matmul(x, y):
    out = jax.ShapeDtypeStruct((x.shape[0], y.shape[1]), x.dtype)
    return jax.pure_callback(_product, out, x, y)
