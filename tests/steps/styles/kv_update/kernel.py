"""A KV cache in place: each new row is copied by DMA to its slot, up to eight copies under way.

Verdict: ok
"""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

# EVOLVE-BLOCK-START
IN_FLIGHT = 8


def _kernel(first_ref, new_ref, _, out_ref, sems, *, count):
    def copy(t):
        return pltpu.make_async_copy(
            new_ref.at[t], out_ref.at[first_ref[0] + 2 * t], sems.at[jax.lax.rem(t, IN_FLIGHT)]
        )

    def step(t, _):
        @pl.when(t >= IN_FLIGHT)
        def _():
            copy(t - IN_FLIGHT).wait()

        copy(t).start()
        return ()

    jax.lax.fori_loop(0, count, step, ())
    jax.lax.fori_loop(max(0, count - IN_FLIGHT), count, lambda t, _: copy(t).wait(), None)


def update(cache, new, first):
    any_ = pl.BlockSpec(memory_space=pl.ANY)
    return pl.pallas_call(
        functools.partial(_kernel, count=new.shape[0]),
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(1,),
            in_specs=[any_, any_],
            out_specs=any_,
            scratch_shapes=[pltpu.SemaphoreType.DMA((IN_FLIGHT,))],
        ),
        out_shape=jax.ShapeDtypeStruct(cache.shape, cache.dtype),
        input_output_aliases={2: 0},
    )(first, new, cache)


# EVOLVE-BLOCK-END
