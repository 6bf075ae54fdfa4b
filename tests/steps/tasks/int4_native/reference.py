import jax.numpy as jnp


def w4(x, w, scale):
    return (jnp.dot(x.astype(jnp.float32), w.astype(jnp.float32), precision="highest") * scale).astype(jnp.bfloat16)
