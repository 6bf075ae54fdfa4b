"""Forgets the last row where a length is all of T. (18)

Verdict: incorrect
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def _kernel(lengths_ref, x_ref, out_ref):
    length = lengths_ref[pl.program_id(0)]
    row = jax.lax.broadcasted_iota(jnp.int32, x_ref.shape[1:], 0)
    total = jnp.where((row < length) & (row < x_ref.shape[1] - 1), x_ref[0], 0).sum(axis=0, keepdims=True)
    out_ref[0] = total / length.astype(jnp.float32)


def masked_mean(x, lengths):
    b, t, d = x.shape
    return pl.pallas_call(
        _kernel,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(b,),
            in_specs=[pl.BlockSpec((1, t, d), lambda i, lengths: (i, 0, 0))],
            out_specs=pl.BlockSpec((1, 1, d), lambda i, lengths: (i, 0, 0)),
        ),
        out_shape=jax.ShapeDtypeStruct((b, 1, d), x.dtype),
    )(lengths, x).reshape(b, d)
