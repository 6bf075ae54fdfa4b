import jax.numpy as jnp


def wgrad(x, dy):
    dw = jnp.dot(x.astype(jnp.float32).T, dy.astype(jnp.float32), precision="highest")
    return dw, jnp.sum(dy.astype(jnp.float32), axis=0)
