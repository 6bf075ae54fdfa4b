"""The meaning of the fused_cross_entropy kernel, in plain JAX."""

import jax
import jax.numpy as jnp


def fused_cross_entropy(x, w, labels, *, soft_cap=30.0):
    """Returns the loss of each row, [B]: the log-sum-exp of its logits minus the logit of its label.

    For x [B, H] and w [H, V], the logits are soft_cap * tanh(x w / soft_cap), or x w if soft_cap is None. They are in
    float32 or better.
    """
    logits = jnp.dot(x, w, preferred_element_type=jnp.promote_types(x.dtype, jnp.float32))
    if soft_cap is not None:
        logits = soft_cap * jnp.tanh(logits / soft_cap)
    of_label = jnp.take_along_axis(logits, labels[:, None], axis=1)[:, 0]
    return jax.nn.logsumexp(logits, axis=1) - of_label
