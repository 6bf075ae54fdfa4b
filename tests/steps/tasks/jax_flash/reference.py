import jax
import jax.numpy as jnp


def attention(q, k, v, ab, ids):
    d, t = q.shape[-1], q.shape[2]
    q, k, v, ab = (a.astype(jnp.float32) for a in (q, k, v, ab))
    logits = jnp.einsum("bhtd,bhsd->bhts", q, k, precision="highest") + ab
    logits = logits * d**-0.5
    same = ids[:, :, None] == ids[:, None, :]
    logits = jnp.where((same & jnp.tril(jnp.ones((t, t), bool)))[:, None], logits, -jnp.inf)
    return jnp.einsum("bhts,bhsd->bhtd", jax.nn.softmax(logits, axis=-1), v, precision="highest").astype(jnp.bfloat16)
