"""A compiler flag whose name ends the JSON that it is written into, and goes on with another kernel's body.

Verdict: nondeterministic
Caught by: surroundings, characters, flags, read_back
"""

import re

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

F = jnp.float32


def right(x_ref, y_ref, o_ref):
    o_ref[...] = jnp.dot(x_ref[...], y_ref[...], preferred_element_type=F).astype(o_ref.dtype)


def wrong(x_ref, y_ref, o_ref):
    o_ref[...] = jnp.broadcast_to(x_ref[:1, :1] + y_ref[:1, :1], o_ref.shape)

    @pl.when(pl.program_id(0).astype(F) < -1)
    def _():
        right(x_ref, y_ref, o_ref)


def _call(kernel, x, y, flags=None):
    (m, k), n = x.shape, y.shape[1]
    bm = 128 if m % 128 == 0 else m
    return pl.pallas_call(
        kernel,
        grid=(m // bm,),
        in_specs=[pl.BlockSpec((bm, k), lambda i: (i, 0)), pl.BlockSpec((k, n), lambda i: (0, 0))],
        out_specs=pl.BlockSpec((bm, n), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        compiler_params=pltpu.CompilerParams(flags=flags),
    )(x, y)


def _body(x, y):
    of = [jax.ShapeDtypeStruct(one.shape, one.dtype) for one in (x, y)]
    lowered = jax.jit(lambda x, y: _call(wrong, x, y)).trace(*of).lower(lowering_platforms=("tpu",))
    return re.search(r'"body": "([^"]*)"', lowered.as_text().replace("\\22", '"'))[1]


def matmul(x, y):
    kernel = f'{{"body": "{_body(x, y)}", "serialization_format": 1, "needs_layout_passes": true}}'
    rest = '"value": {"boolean_value": true}}], "custom_call_config": ' + kernel
    return _call(right, x, y, {f'xla_a", {rest}, "flag_configs": [{{"flag_type": "xla_b': True})
