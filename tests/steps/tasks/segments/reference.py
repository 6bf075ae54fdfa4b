import jax.numpy as jnp


def segments(x, first, count):
    rows = 8 * first[:, None] + jnp.arange(64)
    there = jnp.arange(64) < 8 * count[:, None]
    return jnp.sum(jnp.where(there[..., None], x[rows] ** 2, 0.0), axis=1)
