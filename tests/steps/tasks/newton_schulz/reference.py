"""Newton-Schulz."""

import jax
import jax.numpy as jnp


def newton_schulz(g):
    """Rounded where the method rounds."""

    def rounded(a):
        return jax.lax.reduce_precision(a, 8, 7)

    g = g.astype(jnp.float32)
    x = rounded(g / (jnp.sqrt(jnp.sum(g * g, axis=(1, 2), keepdims=True)) + 1e-6))
    for _ in range(4):
        square = rounded(jnp.einsum("bmn,bkn->bmk", x, x))
        x = rounded(1.5 * x - 0.5 * jnp.einsum("bmk,bkn->bmn", square, x))
    return x.astype(jnp.bfloat16)
