import jax.numpy as jnp


def dropout(x, seed):
    m, n = x.shape
    h = jnp.arange(m, dtype=jnp.uint32)[:, None] * jnp.uint32(n) + jnp.arange(n, dtype=jnp.uint32)
    h = h ^ (seed[0].astype(jnp.uint32) * jnp.uint32(0x9E3779B9))
    h = (h ^ (h >> 16)) * jnp.uint32(0x85EBCA6B)
    h = (h ^ (h >> 13)) * jnp.uint32(0xC2B2AE35)
    h = h ^ (h >> 16)
    return jnp.where(h < jnp.uint32(3865470566), x / 0.9, 0.0)
