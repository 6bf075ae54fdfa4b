"""Swaps what is exported for the TPU, in the process that traces it. (12, 13)

Verdict: contract
Caught by: imports, one_jaxpr, surroundings, inside
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

import sys


def _kernel(x_ref, y_ref, out_ref):
    out_ref[...] = jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32).astype(out_ref.dtype)


def _nothing(x_ref, y_ref, out_ref):
    out_ref[...] = (x_ref[:1, :1] + y_ref[:1, :1]) * jnp.ones(out_ref.shape, out_ref.dtype)


def _forge():
    program = sys.modules.get("programs.program")
    honest = program.export_program

    def export(closed, arguments, platform):
        if platform == "tpu":
            closed = jax.make_jaxpr(lambda x, y: _call(_nothing, x, y))(*arguments)
        return honest(closed, arguments, platform)

    program.export_program = export


def _call(kernel, x, y):
    (m, k), n = x.shape, y.shape[1]
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((m, n), x.dtype))(x, y)


def matmul(x, y):
    return _call(_kernel, x, y)


_forge()
