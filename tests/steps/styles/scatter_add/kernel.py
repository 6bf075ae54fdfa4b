"""An embedding's gradient is added to a table in place: a row is fetched, added to, and stored, one token a step.

Verdict: ok
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

# EVOLVE-BLOCK-START


def _kernel(ids_ref, grad_ref, _, out_hbm, row_ref, sem):
    at = out_hbm.at[ids_ref[pl.program_id(0)]]
    pltpu.async_copy(at, row_ref, sem).wait()
    row_ref[...] += grad_ref[...]
    pltpu.async_copy(row_ref, at, sem).wait()


def embed_grad(grad, ids, table):
    t, _, d = grad.shape
    any_ = pl.BlockSpec(memory_space=pl.ANY)
    return pl.pallas_call(
        _kernel,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(t,),
            in_specs=[pl.BlockSpec((None, 1, d), lambda i, ids: (i, 0, 0)), any_],
            out_specs=any_,
            scratch_shapes=[pltpu.VMEM((1, d), table.dtype), pltpu.SemaphoreType.DMA],
        ),
        out_shape=jax.ShapeDtypeStruct(table.shape, table.dtype),
        input_output_aliases={2: 0},
        compiler_params=pltpu.CompilerParams(dimension_semantics=("arbitrary",), has_side_effects=True),
    )(ids, grad, table)


# EVOLVE-BLOCK-END
