import jax
import jax.numpy as jnp


def route(x, w):
    logits = jnp.dot(x, w, precision="highest")
    best, ids = jax.lax.top_k(logits, 2)
    weights = jax.nn.softmax(best, axis=-1)
    hot = jnp.sum(jax.nn.one_hot(ids, w.shape[1], dtype=jnp.int32), axis=1)
    before = jnp.cumsum(hot, axis=0) - hot
    return weights, ids, jnp.take_along_axis(before, ids, axis=1), jnp.sum(hot, axis=0, keepdims=True)
