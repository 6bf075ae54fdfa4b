import jax
import jax.numpy as jnp


def decode(q, k, v, lengths):
    d = q.shape[-1]
    q, k, v = (a.astype(jnp.float32) for a in (q, k, v))
    s = jnp.einsum("bhd,bsd->bhs", q, k, precision="highest") * d**-0.5
    s = jnp.where(jnp.arange(k.shape[1]) < lengths[:, None, None], s, -jnp.inf)
    return jnp.einsum("bhs,bsd->bhd", jax.nn.softmax(s, axis=-1), v, precision="highest").astype(jnp.bfloat16)
