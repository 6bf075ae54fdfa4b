import jax
import jax.numpy as jnp


def add_norm(x, residual, weight):
    y = x.astype(jnp.float32) + residual.astype(jnp.float32)
    n = y * jax.lax.rsqrt(jnp.mean(y * y, axis=-1, keepdims=True) + 1e-6) * weight.astype(jnp.float32)
    return n.astype(jnp.bfloat16), y.astype(jnp.bfloat16)
