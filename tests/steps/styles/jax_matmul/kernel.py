"""JAX's example matmul.

Verdict: ok
"""

import jax.numpy as jnp
from jax.experimental.pallas.ops.tpu.matmul import matmul

# EVOLVE-BLOCK-START


def mm(x, y):
    return matmul(x, y, block_shape=(128, 128), block_k=128, out_dtype=jnp.bfloat16)


# EVOLVE-BLOCK-END
