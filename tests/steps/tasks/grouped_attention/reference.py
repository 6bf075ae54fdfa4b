import jax
import jax.numpy as jnp


def attention(q, k, v, bias):
    b, t, h, d = q.shape
    g = k.shape[2]
    q, k, v = (a.astype(jnp.float32) for a in (q, k, v))
    q = q.reshape(b, t, g, h // g, d)
    s = jnp.einsum("btgrd,bsgd->bgrts", q, k, precision="highest") * d**-0.5 + bias.astype(jnp.float32)
    o = jnp.einsum("bgrts,bsgd->btgrd", jax.nn.softmax(s, axis=-1), v, precision="highest")
    return o.reshape(b, t, h, d).astype(jnp.bfloat16)
