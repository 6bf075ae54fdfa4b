import jax.numpy as jnp


def grouped(x, w, sizes):
    m = x.shape[0]
    ends = jnp.minimum(jnp.cumsum(sizes), m)
    row = jnp.arange(m)
    group = jnp.sum(row[:, None] >= ends[None, :-1], axis=1)
    return jnp.einsum("mk,mkn->mn", x.astype(jnp.float32), w.astype(jnp.float32)[group], precision="highest")
