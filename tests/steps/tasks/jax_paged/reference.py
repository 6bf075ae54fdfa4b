import jax
import jax.numpy as jnp


def decode(q, k_pages, v_pages, lengths, tables):
    b, h, d = q.shape
    g = k_pages.shape[0]
    k = k_pages[:, tables].reshape(g, b, -1, d).astype(jnp.float32)
    v = v_pages[:, tables].reshape(g, b, -1, d).astype(jnp.float32)
    qg = q.astype(jnp.float32).reshape(b, g, h // g, d)
    s = jnp.einsum("bghd,gbsd->bghs", qg, k, precision="highest")
    s = jnp.where(jnp.arange(k.shape[2]) < lengths[:, None, None, None], s, -jnp.inf)
    o = jnp.einsum("bghs,gbsd->bghd", jax.nn.softmax(s, axis=-1), v, precision="highest")
    return o.reshape(b, h, d).astype(jnp.bfloat16)
