import jax.numpy as jnp


def w4a16(x, w, scale):
    w = w.astype(jnp.int32)
    low, high = (w << 28) >> 28, w >> 4
    k2, n = w.shape
    full = jnp.stack([low, high], axis=1).reshape(2 * k2, n).astype(jnp.float32)
    g = scale.shape[0]
    full = (full.reshape(g, 2 * k2 // g, n) * scale[:, None].astype(jnp.float32)).reshape(2 * k2, n)
    return jnp.dot(x.astype(jnp.float32), full, precision="highest").astype(jnp.bfloat16)
