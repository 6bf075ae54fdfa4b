import jax.numpy as jnp


def w8a8(x, w, x_scale, w_scale):
    acc = jnp.matmul(x.astype(jnp.int32), w.astype(jnp.int32))
    return (acc.astype(jnp.float32) * x_scale * w_scale).astype(jnp.bfloat16)
