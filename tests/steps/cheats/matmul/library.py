"""No kernel at all: the library's matmul. (16)

Verdict: contract
Caught by: kernels, inside, outside, words
"""

import jax.numpy as jnp


def matmul(x, y):
    return jnp.dot(x, y, preferred_element_type=jnp.float32).astype(x.dtype)
