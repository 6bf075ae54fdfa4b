import jax
import jax.numpy as jnp


def dense(x, w, w_scale):
    x = x.astype(jnp.float32)
    scale = jax.lax.reduce_precision(jnp.maximum(jnp.max(jnp.abs(x), axis=-1, keepdims=True), 1e-6) / 127, 8, 23)
    q = jnp.round(jax.lax.reduce_precision(x / scale, 8, 23))
    return (jnp.dot(q, w.astype(jnp.float32), precision="highest") * scale * w_scale).astype(jnp.bfloat16)
