"""chunk_gla as XLA does it best: chunks, by a scan that carries the state. The baseline to beat."""

import jax
import jax.numpy as jnp

# The positions of a chunk. On a v7x, dots are then as wide as the matrix units, and the backward pass keeps few states.
CHUNK = 256


def chunk_gla(q, k, v, gamma):
    """q, k [B, T, H, K], v [B, T, H, V], gamma [H]: o [B, T, H, V] in the dtype of q."""
    batch, length, heads, width = q.shape
    chunk = min(CHUNK, length)
    count = -(-length // chunk)

    def chunks(x):
        """[B, T, H, _] as [chunks, B, H, C, _]."""
        padded = jnp.pad(x, ((0, 0), (0, count * chunk - length), (0, 0), (0, 0)))
        return jnp.transpose(padded.reshape(batch, count, chunk, heads, -1), (1, 0, 3, 2, 4))

    place = jnp.arange(chunk)
    distance = place[:, None] - place[None, :]
    decay = jnp.where(distance >= 0, jnp.exp(gamma[:, None, None] * jnp.maximum(distance, 0)), 0)
    since_start = jnp.exp(gamma[:, None] * (place + 1))[:, :, None]
    until_end = jnp.exp(gamma[:, None] * (chunk - 1 - place))[:, :, None]

    def einsum(formula, x, y):
        return jnp.einsum(formula, x, y, preferred_element_type=jnp.float32)

    def step(state, block):
        q, k, v = block
        weights = (einsum("bhid,bhjd->bhij", q, k) * decay).astype(v.dtype)
        out = einsum("bhij,bhjd->bhid", weights, v)
        out += einsum("bhid,bhde->bhie", q, state.astype(q.dtype)) * since_start
        fading = (v * until_end).astype(v.dtype)
        state = state * jnp.exp(gamma * chunk)[:, None, None] + einsum("bhid,bhie->bhde", k, fading)
        return state, (out * width**-0.5).astype(q.dtype)

    state = jnp.zeros((batch, heads, width, v.shape[3]), jnp.float32)
    _, out = jax.lax.scan(step, state, (chunks(q), chunks(k), chunks(v)))
    return jnp.transpose(out, (1, 0, 3, 2, 4)).reshape(batch, count * chunk, heads, -1)[:, :length]
