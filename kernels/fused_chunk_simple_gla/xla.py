"""fused_chunk_simple_gla as XLA does it best: chunks, by a scan that carries the state. The baseline to beat."""

import jax
import jax.numpy as jnp

# The positions of a chunk. On a v7x, dots are then as wide as the matrix units, and the backward pass keeps few states.
CHUNK = 256


def fused_chunk_simple_gla(q, k, v, g, gamma, h0):
    """q, k [B, T, H, K], v [B, T, H, V], g [B, T, H], gamma [H], h0 [B, H, K, V]: o, as v, and ht, as h0."""
    batch, length, heads, width = q.shape
    chunk = min(CHUNK, length)
    count = -(-length // chunk)

    def chunks(x):
        """[B, T, H, _] as [chunks, B, H, C, _]."""
        padded = jnp.pad(x, ((0, 0), (0, count * chunk - length), (0, 0), (0, 0)))
        return jnp.transpose(padded.reshape(batch, count, chunk, heads, -1), (1, 0, 3, 2, 4))

    is_seen = jnp.arange(chunk)[:, None] >= jnp.arange(chunk)[None, :]

    def einsum(formula, x, y):
        return jnp.einsum(formula, x, y, preferred_element_type=jnp.float32)

    def step(state, block):
        q, k, v, left = block
        last = left[:, :, -1:]
        decay = jnp.exp(jnp.where(is_seen, left - jnp.swapaxes(left, 2, 3), -jnp.inf))
        weights = (einsum("bhid,bhjd->bhij", q, k) * decay).astype(v.dtype)
        out = einsum("bhij,bhjd->bhid", weights, v)
        out += einsum("bhid,bhde->bhie", q, state.astype(q.dtype)) * jnp.exp(left)
        fading = (v * jnp.exp(last - left)).astype(v.dtype)
        state = state * jnp.exp(last) + einsum("bhid,bhie->bhde", k, fading)
        return state, (out * width**-0.5).astype(q.dtype)

    left = jnp.cumsum(chunks((g + gamma)[..., None]), axis=3)
    ht, out = jax.lax.scan(step, h0.astype(jnp.float32), (chunks(q), chunks(k), chunks(v), left))
    out = jnp.transpose(out, (1, 0, 3, 2, 4)).reshape(batch, count * chunk, heads, -1)[:, :length]
    return out, ht.astype(h0.dtype)
