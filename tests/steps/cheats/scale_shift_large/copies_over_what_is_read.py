"""Has three blocks in two slots: a copy runs over what is still read. Checked cases have two blocks.

Verdict: incorrect
Caught by: values
"""

import functools
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def scale_shift(x, g):
    m, n = x.shape
    bm = min(128, m // 2)
    steps = m // bm

    def run(x_hbm, g_ref, o_ref, x_buf, in_sem):
        def load(i):
            slot = jax.lax.rem(i, 2)
            return pltpu.make_async_copy(x_hbm.at[pl.ds(i * bm, bm)], x_buf.at[slot], in_sem.at[slot])

        i = pl.program_id(0)

        @pl.when(i == 0)
        def _():
            load(0).start()
            load(1).start()

        load(i).wait()

        @pl.when(i + 2 < steps)
        def _():
            load(i + 2).start()

        x = x_buf[jax.lax.rem(i, 2)]
        o_ref[...] = x * jnp.tanh(x) * g_ref[...]

    return pl.pallas_call(
        run,
        grid=(steps,),
        in_specs=[pl.BlockSpec(memory_space=pl.ANY), pl.BlockSpec((1, n), lambda i: (0, 0))],
        out_specs=pl.BlockSpec((bm, n), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        scratch_shapes=[pltpu.VMEM((2, bm, n), x.dtype), pltpu.SemaphoreType.DMA((2,))],
    )(x, g)
