import jax
import jax.numpy as jnp


def flash(q, k, v):
    t, d = q.shape[1:]
    q, k, v = (a.astype(jnp.float32) for a in (q, k, v))
    s = jnp.einsum("htd,hsd->hts", q, k, precision="highest") * d**-0.5
    s = jnp.where(jnp.tril(jnp.ones((t, t), bool)), s, -jnp.inf)
    return jnp.einsum("hts,hsd->htd", jax.nn.softmax(s, axis=-1), v, precision="highest").astype(jnp.bfloat16)
