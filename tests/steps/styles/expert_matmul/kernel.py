"""Blocks of tokens times their expert's weights: an emit_pipeline whose weights are fetched ahead (use_lookahead).

Verdict: ok
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

# EVOLVE-BLOCK-START


def _outer(expert_ref, x_hbm, w_hbm, o_hbm):
    k, n = w_hbm.shape[1:]

    def inner(x_ref, w_ref, o_ref):
        o_ref[...] = jnp.dot(x_ref[...], w_ref[0], preferred_element_type=jnp.float32)

    pltpu.emit_pipeline(
        inner,
        grid=(expert_ref.shape[0],),
        in_specs=[
            pl.BlockSpec((64, k), lambda b: (b, 0)),
            pl.BlockSpec((1, k, n), lambda b: (expert_ref[b], 0, 0), pipeline_mode=pl.Buffered(2, use_lookahead=True)),
        ],
        out_specs=[pl.BlockSpec((64, n), lambda b: (b, 0))],
    )(x_hbm, w_hbm, o_hbm)


def gated_blocks(x, w, expert):
    any_ = pl.BlockSpec(memory_space=pl.ANY)
    return pl.pallas_call(
        _outer,
        in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), any_, any_],
        out_specs=any_,
        out_shape=jax.ShapeDtypeStruct((x.shape[0], w.shape[2]), jnp.float32),
    )(expert, x, w)


# EVOLVE-BLOCK-END
