"""A router's choice."""

import jax


def router(scores):
    """The softmax of two is what their probabilities among all are, scaled to add up to one."""
    best, ids = jax.lax.top_k(scores, 2)
    return jax.nn.softmax(best, axis=-1), ids
