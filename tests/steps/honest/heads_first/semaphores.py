"""Legal: a regular semaphore counts the slots that are free, with einshape, and a check for debugging.

Verdict: ok
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

ROWS = 16


def _kernel(scale_ref, x_ref, o_hbm, buf, sems, free):
    i, n = pl.program_id(0), pl.num_programs(0)
    rows = x_ref.shape[0]
    slot = jax.lax.rem(i, 2)
    pl.debug_check(i < n, "a step behind the end")

    def out(step, slot):
        return pltpu.make_async_copy(buf.at[slot], o_hbm.at[:, pl.ds(step * rows, rows)], sems.at[slot])

    @pl.when(i == 0)
    def _():
        pl.semaphore_signal(free, 2)

    @pl.when(i >= 2)
    def _():
        out(i - 2, slot).wait()
        pl.semaphore_signal(free, 1)

    pl.semaphore_wait(free, 1)
    buf[slot] = pltpu.einshape("t(hd)->htd", x_ref[...], d=128) * scale_ref[0, 0]
    out(i, slot).start()

    @pl.when(i == n - 1)
    def _():
        @pl.when(n > 1)
        def _():
            out(n - 2, 1 - slot).wait()
            pl.semaphore_signal(free, 1)

        out(n - 1, slot).wait()
        pl.semaphore_signal(free, 1)
        pl.semaphore_wait(free, 2)


def heads_first(x, scale):
    t, hd = x.shape
    h = hd // 128
    return pl.pallas_call(
        _kernel,
        grid=(t // ROWS,),
        in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec((ROWS, hd), lambda i: (i, 0))],
        out_specs=pl.BlockSpec(memory_space=pl.ANY),
        out_shape=jax.ShapeDtypeStruct((h, t, 128), x.dtype),
        scratch_shapes=[
            pltpu.VMEM((2, h, ROWS, 128), x.dtype),
            pltpu.SemaphoreType.DMA((2,)),
            pltpu.SemaphoreType.REGULAR,
        ],
    )(scale, x)
