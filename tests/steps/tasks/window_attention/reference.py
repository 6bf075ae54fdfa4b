import jax
import jax.numpy as jnp


def window_attention(q, k, v, q_seg, kv_seg):
    d = q.shape[-1]
    t = q.shape[1]
    q, k, v = (a.astype(jnp.float32) for a in (q, k, v))
    s = jnp.einsum("htd,hsd->hts", q, k, precision="highest") * d**-0.5
    s = 50.0 * jnp.tanh(s / 50.0)
    i, j = jnp.arange(t)[:, None], jnp.arange(t)[None]
    ok = (j <= i) & (i - j < 256) & ((q_seg[0][:, None] == kv_seg[0][None]) | (i == j))
    s = jnp.where(ok, s, -jnp.inf)
    return jnp.einsum("hts,hsd->htd", jax.nn.softmax(s, axis=-1), v, precision="highest").astype(jnp.bfloat16)
