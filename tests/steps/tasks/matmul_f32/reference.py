"""The matmul."""

import jax.numpy as jnp


def matmul(x, y):
    """The product, summed in float32 or better."""
    return jnp.dot(x, y, preferred_element_type=jnp.promote_types(x.dtype, jnp.float32)).astype(x.dtype)
