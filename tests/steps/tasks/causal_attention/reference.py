import jax
import jax.numpy as jnp


def flash(q, k, v):
    h, t, d = q.shape
    q, k, v = (a.astype(jnp.float32) for a in (q, k, v))
    g = k.shape[0]
    q = q.reshape(g, h // g, t, d)
    s = jnp.einsum("ghtd,gsd->ghts", q, k, precision="highest") * d**-0.5
    s = jnp.where(jnp.tril(jnp.ones((t, t), bool)), s, -jnp.inf)
    lse = jax.nn.logsumexp(s, axis=-1)
    o = jnp.einsum("ghts,gsd->ghtd", jnp.exp(s - lse[..., None]), v, precision="highest")
    return o.reshape(h, t, d).astype(jnp.bfloat16), lse.reshape(h, t)
