"""Attention over a paged cache for callers: the TPU kernel or another implementation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax

from .. import tuned
from ..implementations import Choice, call, on_backend
from . import kernel, reference, xla
from .kernel import BlockSizes

_TABLE = Path(__file__).with_name("tuned.json")
_DEFAULT = ("pallas_tpu", "xla")
# The dtypes of q and kv_pages that all implementations take.
DTYPES = ("bfloat16", "float32")


def ragged_paged_attention(
    q: jax.Array,
    kv_pages: jax.Array,
    kv_lens: jax.Array,
    page_indices: jax.Array,
    q_lens: jax.Array,
    *,
    implementation: Choice = _DEFAULT,
    block_sizes: BlockSizes | None = None,
) -> Any:
    """Returns causal attention of q [T, H, D] over each sequence's positions: out [T, H, D] in the dtype of q.

    Sequence s has the next `q_lens[s]` rows of q, or what is left of them. They are the last of its `kv_lens[s]`
    positions. Rows of no sequence give zeros. Position p is number p % B of page `page_indices[s, p // B]` of kv_pages
    [P, 2, G, B, D], which has keys at 0 and values at 1. H is a multiple of G, and H / G heads of q share a head of
    keys. The whole cache must be finite. There are no gradients. `implementation` is "pallas_tpu", "pallas_interpret"
    (the same kernel on a CPU, slowly), "xla" or "reference", or several of these in the order in which they are tried.
    `block_sizes` are the Pallas kernel's; None means `infer_block_sizes`.
    """
    if q.shape[1] % kv_pages.shape[2] != 0:
        raise ValueError(f"{q.shape[1]} heads of q have to be a multiple of the {kv_pages.shape[2]} of keys")

    def pallas(
        q: jax.Array, kv_pages: jax.Array, kv_lens: jax.Array, page_indices: jax.Array, q_lens: jax.Array
    ) -> Any:
        sizes = block_sizes or infer_block_sizes(q, kv_pages, page_indices)
        return kernel.ragged_paged_attention(q, kv_pages, kv_lens, page_indices, q_lens, block_sizes=sizes)

    known = {
        "pallas_tpu": on_backend("tpu", pallas),
        "pallas_interpret": on_backend("cpu", pallas),
        "xla": xla.ragged_paged_attention,
        "reference": reference.ragged_paged_attention,
    }
    return call(known, implementation, q, kv_pages, kv_lens, page_indices, q_lens)


def infer_block_sizes(
    q: jax.Array, kv_pages: jax.Array, page_indices: jax.Array, device_kind: str | None = None
) -> BlockSizes:
    """Returns the tuned block sizes for these shapes on a device (None: JAX's first device), or the default sizes."""
    held, _, groups, page, _ = kv_pages.shape
    dims = dict(zip("THDSW", (*q.shape, *page_indices.shape), strict=True)) | {"G": groups, "P": held, "B": page}
    device = device_kind or jax.devices()[0].device_kind
    return BlockSizes(**tuned.block_sizes(_TABLE, device, q.dtype.name, dims))
