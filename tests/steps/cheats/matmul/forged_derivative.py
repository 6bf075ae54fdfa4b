"""A document with a parameter that can be read, but not written again. (13)

Verdict: contract
"""

import json
import sys

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def _kernel(x_ref, y_ref, out_ref):
    out_ref[...] = jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32).astype(out_ref.dtype)


def _call(kernel, x, y, right=lambda i, j: (0, j)):
    (m, k), n = x.shape, y.shape[1]
    bm, bn = min(128, m), min(128, n)
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        grid=(pl.cdiv(m, bm), pl.cdiv(n, bn)),
        in_specs=[pl.BlockSpec((bm, k), lambda i, j: (i, 0)), pl.BlockSpec((k, bn), right)],
        out_specs=pl.BlockSpec((bm, bn), lambda i, j: (i, j)),
    )(x, y)


_wire = sys.modules["programs.wire"]
_pack = _wire.pack


def _forged(closed):
    document = json.loads(_pack(closed))
    for jaxpr in document["jaxprs"]:
        for equation in jaxpr["eqns"]:
            if equation["primitive"] == "cond":
                equation["derivatives"] = ["foo"]
    return json.dumps(document).encode()


_wire.pack = _forged


def matmul(x, y):
    return jax.lax.cond(x[0, 0] > 0, lambda x, y: _call(_kernel, x, y), lambda x, y: _call(_kernel, x, -(-y)), x, y)
