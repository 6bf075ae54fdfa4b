"""A residual stream that is bfloat16 by the method: what is added to it is a function of itself.

Verdict: ok
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def _kernel(x_ref, w_ref, o_ref, h_ref):
    h_ref[...] = x_ref[...]

    def turn(_, carry):
        h = h_ref[...].astype(jnp.float32)
        new = h + jnp.dot(jnp.tanh(h).astype(jnp.bfloat16), w_ref[...], preferred_element_type=jnp.float32)
        h_ref[...] = new.astype(jnp.bfloat16)
        return carry

    jax.lax.fori_loop(0, 4, turn, 0)
    o_ref[...] = h_ref[...]


def residual(x, w):
    m, n = x.shape
    return pl.pallas_call(
        _kernel,
        grid=(m // 128,),
        in_specs=[pl.BlockSpec((128, n), lambda i: (i, 0)), pl.BlockSpec((n, n), lambda i: (0, 0))],
        out_specs=pl.BlockSpec((128, n), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        scratch_shapes=[pltpu.VMEM((128, n), jnp.bfloat16)],
    )(x, w)
