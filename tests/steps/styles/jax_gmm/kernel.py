"""megablox' gmm with sizes that add up to the number of rows.

Verdict: ok
"""

import jax.numpy as jnp
from jax.experimental.pallas.ops.tpu.megablox import gmm

# EVOLVE-BLOCK-START
TILING = (128, 128, 128)


def grouped(x, w, sizes):
    m = x.shape[0]
    ends = jnp.minimum(jnp.cumsum(sizes), m)
    ends = jnp.concatenate([ends[:-1], jnp.full((1,), m, ends.dtype)])
    sizes = jnp.diff(ends, prepend=0)
    return gmm(x, w, sizes, jnp.float32, TILING)


# EVOLVE-BLOCK-END
