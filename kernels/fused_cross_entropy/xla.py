"""The fused_cross_entropy as XLA does it best: all logits at once, and its own gradients. The baseline."""

import jax
import jax.numpy as jnp


def fused_cross_entropy(x, w, labels, *, soft_cap=30.0):
    """The loss of each row, [B], of x [B, H], w [H, V] and labels [B], left to XLA as a whole.

    The label's logit is picked by a mask, which fuses with the sums as a gather does not.
    """
    logits = jnp.dot(x, w, preferred_element_type=jnp.float32)
    if soft_cap is not None:
        logits = soft_cap * jnp.tanh(logits / soft_cap)
    is_label = jax.lax.broadcasted_iota(labels.dtype, logits.shape, 1) == labels[:, None]
    return jax.nn.logsumexp(logits, axis=1) - jnp.sum(jnp.where(is_label, logits, 0), axis=1)
