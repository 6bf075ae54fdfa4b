"""Legal: JAX's splash attention, whose maxima and sums are outputs that nobody uses.

Verdict: ok
"""

import jax
from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_kernel as splash
from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_mask as mask_lib

BLOCK = 256


def attention(q, k, v):
    _, h, t, d = q.shape
    mask = mask_lib.MultiHeadMask([mask_lib.LocalMask((t, t), (255, 0), 0) for _ in range(h)])
    b = min(BLOCK, t)
    kernel = splash.make_splash_mha_single_device(
        mask, block_sizes=splash.BlockSizes(block_q=b, block_kv=b, block_kv_compute=b)
    )
    return jax.vmap(kernel)(q, k, v)
