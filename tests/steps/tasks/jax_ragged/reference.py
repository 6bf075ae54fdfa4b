import jax
import jax.numpy as jnp


def decode(q, kv_pages, lengths, tables):
    b, h, d = q.shape
    _, _p, g2, _ = kv_pages.shape
    g = g2 // 2
    kv = kv_pages[tables].reshape(b, -1, g2, d).astype(jnp.float32)
    k, v = kv[:, :, 0::2], kv[:, :, 1::2]
    qg = q.astype(jnp.float32).reshape(b, g, h // g, d)
    s = jnp.einsum("bghd,bsgd->bghs", qg, k, precision="highest") * d**-0.5
    s = jnp.where(jnp.arange(k.shape[1]) < lengths[:, None, None, None], s, -jnp.inf)
    o = jnp.einsum("bghs,bsgd->bghd", jax.nn.softmax(s, axis=-1), v, precision="highest")
    return o.reshape(b, h, d).astype(jnp.bfloat16)
