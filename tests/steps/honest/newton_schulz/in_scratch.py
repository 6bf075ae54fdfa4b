"""The iterate stays in bfloat16 scratch from turn to turn; what is added to it is a product of itself.

Verdict: ok
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def _kernel(g_ref, out_ref, x_ref):
    g = g_ref[...].astype(jnp.float32)
    square = jnp.sum(jnp.sum(g * g, axis=1, keepdims=True), axis=0, keepdims=True)
    x_ref[...] = (g / (jnp.sqrt(square) + 1e-6)).astype(x_ref.dtype)

    def turn(_, carry):
        x = x_ref[...]
        a = jax.lax.dot_general(x, x, (((1,), (1,)), ((), ())), preferred_element_type=jnp.float32)
        down = jnp.dot(a.astype(x.dtype), x, preferred_element_type=jnp.float32)
        x_ref[...] = (1.5 * x.astype(jnp.float32) - 0.5 * down).astype(x.dtype)
        return carry

    jax.lax.fori_loop(0, 4, turn, 0)
    out_ref[...] = x_ref[...]


def newton_schulz(g):
    b, m, n = g.shape
    block = pl.BlockSpec((None, m, n), lambda i: (i, 0, 0))
    return pl.pallas_call(
        _kernel,
        grid=(b,),
        in_specs=[block],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct(g.shape, g.dtype),
        scratch_shapes=[pltpu.VMEM((m, n), g.dtype)],
    )(g)
