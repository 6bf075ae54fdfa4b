import jax


def top8(scores):
    return jax.lax.top_k(scores, 8)
