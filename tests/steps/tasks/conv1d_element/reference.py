import jax
import jax.numpy as jnp


def conv1d(x, w, bias):
    _b, t, _d = x.shape
    k = w.shape[0]
    x = jnp.pad(x.astype(jnp.float32), ((0, 0), (k - 1, 0), (0, 0)))
    w = w.astype(jnp.float32)
    y = sum(x[:, i : i + t] * w[i] for i in range(k)) + bias.astype(jnp.float32)
    return jax.nn.silu(y).astype(jnp.bfloat16)
