"""Fused cross-entropy for callers: the TPU kernel or another implementation."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import jax

from .. import tuned
from ..implementations import Choice, call, on_backend
from . import kernel, reference, xla
from .kernel import BlockSizes

_TABLE = Path(__file__).with_name("tuned.json")
_DEFAULT = ("pallas_tpu", "xla")
# The dtypes of x and w that all implementations take.
DTYPES = ("bfloat16", "float32")


def fused_cross_entropy(
    x: jax.Array,
    w: jax.Array,
    labels: jax.Array,
    *,
    soft_cap: float | None = 30.0,
    implementation: Choice = _DEFAULT,
    block_sizes: BlockSizes | None = None,
) -> Any:
    """Returns the loss of each row, [B] float32, for x [B, H] and w [H, V], bfloat16 or float32, and labels [B].

    `soft_cap` is the soft cap of the logits; None means no cap. `implementation` is "pallas_tpu", "pallas_interpret"
    (the same kernel on a CPU, slowly), "xla" or "reference", or several of these in the order in which they are tried.
    `block_sizes` are the Pallas kernel's; None means `infer_block_sizes`.
    """

    def pallas(x: jax.Array, w: jax.Array, labels: jax.Array) -> Any:
        sizes = block_sizes or infer_block_sizes(x, w)
        return kernel.fused_cross_entropy(x, w, labels, soft_cap=soft_cap, block_sizes=sizes)

    known = {
        "pallas_tpu": on_backend("tpu", pallas),
        "pallas_interpret": on_backend("cpu", pallas),
        "xla": functools.partial(xla.fused_cross_entropy, soft_cap=soft_cap),
        "reference": functools.partial(reference.fused_cross_entropy, soft_cap=soft_cap),
    }
    return call(known, implementation, x, w, labels)


def infer_block_sizes(x: jax.Array, w: jax.Array, device_kind: str | None = None) -> BlockSizes:
    """Returns the tuned block sizes for these shapes on a device (None: JAX's first device), or the default sizes."""
    dims = {"B": x.shape[0], "H": x.shape[1], "V": w.shape[1]}
    device = device_kind or jax.devices()[0].device_kind
    return BlockSizes(**tuned.block_sizes(_TABLE, device, x.dtype.name, dims))
