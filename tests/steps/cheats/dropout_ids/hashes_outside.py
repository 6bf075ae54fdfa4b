"""Takes the hash outside of the kernel, where shifts and exclusive ors move whole numbers' bits.

Verdict: contract
Caught by: outside
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def _kernel(x_ref, keep_ref, out_ref):
    out_ref[...] = jnp.where(keep_ref[...] == 1, x_ref[...] * 2, 0)


def dropout(x, ids):
    for _ in range(8):
        ids = ids ^ (ids << 13)
        ids = ids ^ (ids >> 17)
        ids = ids ^ (ids << 5)
    keep = ((ids >> 7) & 1).astype(jnp.int32)
    m, n = x.shape
    block = pl.BlockSpec((16, n), lambda i: (i, 0))
    return pl.pallas_call(
        _kernel,
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        grid=(m // 16,),
        in_specs=[block, block],
        out_specs=block,
    )(x, keep)
