import jax.numpy as jnp


def gated_blocks(x, w, expert):
    b = expert.shape[0]
    k, n = w.shape[1:]
    x = x.astype(jnp.float32).reshape(b, 64, k)
    return jnp.einsum("bmk,bkn->bmn", x, w.astype(jnp.float32)[expert], precision="highest").reshape(64 * b, n)
