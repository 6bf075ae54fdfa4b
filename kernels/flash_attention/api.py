"""Causal attention of grouped heads within segments, for callers: the TPU kernel or another implementation."""

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
    """Returns o [B, T, H, D] for q [B, T, H, D] and k, v [B, T, G, D], bfloat16 or float32; sums are in float32.

    o has the dtype of q. Head h attends with key and value h // (H / G). Position i attends to the positions up to i
    that have the same segment_ids [B, T], int32. Scores are scaled by D^-1/2. The Pallas kernel needs D to be a
    multiple of 128. `implementation` is "pallas_tpu", "pallas_interpret" (the same kernel on a CPU, slowly), "xla" or
    "reference", or several of these in the order in which they are tried. `block_sizes` are the Pallas kernel's; None
    means `infer_block_sizes`.
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
    """Returns the tuned block sizes for these shapes on a device (None: JAX's first device), or the default sizes."""
    dims = dict(zip("BTHD", q.shape, strict=True)) | {"G": k.shape[2]}
    device = device_kind or jax.devices()[0].device_kind
    return BlockSizes(**tuned.block_sizes(_TABLE, device, q.dtype.name, dims))
