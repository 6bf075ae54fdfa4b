"""Causal attention of grouped heads within segments, for callers: by a TPU's kernel, or what else there is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax

from .. import tuned
from ..implementations import Choice, Unsupported, call, on_backend
from . import kernel, reference, xla
from .kernel import BlockSizes

_TABLE = Path(__file__).with_name("tuned.json")
_DEFAULT = ("pallas_tpu", "xla")
# The dtypes of q, k and v that all implementations take.
DTYPES = ("bfloat16", "float32")


def flash_attention(
    q: jax.Array,
    k: jax.Array,
    v: jax.Array,
    segment_ids: jax.Array,
    *,
    implementation: Choice = _DEFAULT,
    block_sizes: BlockSizes | None = None,
) -> Any:
    """o [B, T, H, D] of q [B, T, H, D] and k, v [B, T, G, D], bfloat16 or float32, in the dtype of q; float32 sums.

    Head h attends with key and value h // (H / G). Position i attends to positions up to i that have its own
    segment_ids [B, T], int32. Scores are scaled by D^-1/2. The Pallas kernel needs D to be a multiple of 128.
    `implementation`: "pallas_tpu", "pallas_interpret" (the same on a CPU, slowly), "xla", "reference"; or several, in
    the order in which they are tried. `block_sizes`: those of the Pallas kernel; None: `infer_block_sizes`.
    """
    if q.shape[2] % k.shape[2] != 0:
        raise ValueError(f"H has to be a multiple of G, and they are {q.shape[2]} and {k.shape[2]}")

    def pallas(q: jax.Array, k: jax.Array, v: jax.Array, segment_ids: jax.Array) -> Any:
        if q.shape[3] % 128 != 0:
            raise Unsupported(f"D must be a multiple of 128, and is {q.shape[3]}")
        return kernel.flash_attention(q, k, v, segment_ids, block_sizes=block_sizes or infer_block_sizes(q, k))

    known = {
        "pallas_tpu": on_backend("tpu", pallas),
        "pallas_interpret": on_backend("cpu", pallas),
        "xla": xla.flash_attention,
        "reference": reference.flash_attention,
    }
    return call(known, implementation, q, k, v, segment_ids)


def infer_block_sizes(q: jax.Array, k: jax.Array, device_kind: str | None = None) -> BlockSizes:
    """Returns what was found for such sizes on such a device (None: JAX's first device), or the default sizes."""
    dims = dict(zip("BTHD", q.shape, strict=True)) | {"G": k.shape[2]}
    device = device_kind or jax.devices()[0].device_kind
    return BlockSizes(**tuned.block_sizes(_TABLE, device, q.dtype.name, dims))
