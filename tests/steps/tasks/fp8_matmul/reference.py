import jax.numpy as jnp


def fp8(x, w, scale):
    return (jnp.dot(x.astype(jnp.float32), w.astype(jnp.float32), precision="highest") * scale).astype(jnp.bfloat16)
