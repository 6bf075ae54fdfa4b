"""Legal: pl.kernel on a mesh of one TensorCore, its copies double-buffered by hand.

Verdict: ok
"""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

BLOCK_M = 64


def scale_shift(x, g):
    m, n = x.shape
    bm = min(BLOCK_M, m)
    steps = m // bm
    mesh = pltpu.create_tensorcore_mesh("core", num_cores=1)

    @functools.partial(
        pl.kernel,
        out_type=jax.ShapeDtypeStruct(x.shape, x.dtype),
        mesh=mesh,
        scratch_types=[
            pltpu.VMEM((2, bm, n), x.dtype),
            pltpu.VMEM((2, bm, n), x.dtype),
            pltpu.VMEM((1, n), g.dtype),
            pltpu.SemaphoreType.DMA((2,)),
            pltpu.SemaphoreType.DMA((2,)),
            pltpu.SemaphoreType.DMA,
        ],
    )
    def run(x_hbm, g_hbm, o_hbm, x_buf, o_buf, g_buf, in_sem, out_sem, g_sem):
        def load(i, slot):
            return pltpu.make_async_copy(x_hbm.at[pl.ds(i * bm, bm)], x_buf.at[slot], in_sem.at[slot])

        def store(i, slot):
            return pltpu.make_async_copy(o_buf.at[slot], o_hbm.at[pl.ds(i * bm, bm)], out_sem.at[slot])

        pltpu.async_copy(g_hbm, g_buf, g_sem).wait()
        load(0, 0).start()

        @pl.loop(0, steps)
        def _(i):
            slot = jax.lax.rem(i, 2)

            @pl.when(i + 1 < steps)
            def _():
                load(i + 1, 1 - slot).start()

            load(i, slot).wait()

            @pl.when(i >= 2)
            def _():
                store(i - 2, slot).wait()

            x = x_buf[slot]
            o_buf[slot] = x * jnp.tanh(x) * g_buf[...]
            store(i, slot).start()

        for back in range(min(2, steps), 0, -1):
            store(steps - back, (steps - back) % 2).wait()

    return run(x, g)
