import jax
import jax.numpy as jnp


def activate(x, which):
    w = which[:, None, None]
    out = jnp.where(w == 0, jax.nn.relu(x), jnp.where(w == 1, jax.nn.silu(x), x))
    return jnp.where(w == 2, jax.nn.gelu(x), out)
