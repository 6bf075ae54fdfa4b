import jax.numpy as jnp


def update(cache, new, first):
    return cache.at[first[0] + 2 * jnp.arange(new.shape[0])].set(new)
