import jax
import jax.numpy as jnp


def decode(q, k_pages, v_pages, lengths, tables):
    b, h, d = q.shape
    _, _p, g, _ = k_pages.shape
    k = k_pages[tables].reshape(b, -1, g, d).astype(jnp.float32)
    v = v_pages[tables].reshape(b, -1, g, d).astype(jnp.float32)
    qg = q.astype(jnp.float32).reshape(b, g, h // g, d)
    s = jnp.einsum("bghd,bsgd->bghs", qg, k, precision="highest") * d**-0.5
    s = jnp.where(jnp.arange(k.shape[1]) < lengths[:, None, None, None], s, -jnp.inf)
    o = jnp.einsum("bghs,bsgd->bghd", jax.nn.softmax(s, axis=-1), v, precision="highest")
    return o.reshape(b, h, d).astype(jnp.bfloat16)
