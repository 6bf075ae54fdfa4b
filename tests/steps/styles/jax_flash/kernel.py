"""JAX's own flash attention with a bias and segment ids.

Verdict: ok
"""

import math

from jax.experimental.pallas.ops.tpu import flash_attention as fa

# EVOLVE-BLOCK-START
BLOCK = 128


def attention(q, k, v, ab, ids):
    d = q.shape[-1]
    b = min(BLOCK, q.shape[2])
    sizes = fa.BlockSizes(block_q=b, block_k_major=b, block_k=b, block_b=1)
    return fa.flash_attention(
        q,
        k,
        v,
        ab=ab,
        segment_ids=fa.SegmentIds(q=ids, kv=ids),
        causal=True,
        sm_scale=1 / math.sqrt(d),
        block_sizes=sizes,
    )


# EVOLVE-BLOCK-END
