import jax
import jax.numpy as jnp


def group_norm(x, gamma, beta):
    b, s, c = x.shape
    y = x.reshape(b, s, c // 128, 128)
    mean = jnp.mean(y, axis=(1, 3), keepdims=True)
    var = jnp.mean((y - mean) ** 2, axis=(1, 3), keepdims=True)
    return ((y - mean) * jax.lax.rsqrt(var + 1e-5)).reshape(b, s, c) * gamma + beta
