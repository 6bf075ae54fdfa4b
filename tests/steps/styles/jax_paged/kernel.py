"""JAX's paged attention.

Verdict: ok
"""

import jax.numpy as jnp
from jax.experimental.pallas.ops.tpu.paged_attention import paged_attention

# EVOLVE-BLOCK-START
PAGES = 2


def decode(q, k_pages, v_pages, lengths, tables):
    return paged_attention(
        q.astype(jnp.float32), k_pages, v_pages, lengths, tables, pages_per_compute_block=PAGES
    ).astype(jnp.bfloat16)


# EVOLVE-BLOCK-END
