"""The place of each row's largest element."""

import jax.numpy as jnp


def best(x):
    """The first of equals."""
    return jnp.argmax(x, axis=1, keepdims=True).astype(jnp.int32)
