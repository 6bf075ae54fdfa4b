import jax.numpy as jnp


def mm(x, y):
    return jnp.dot(x.astype(jnp.float32), y.astype(jnp.float32), precision="highest").astype(jnp.bfloat16)
