"""Gated linear attention with one decay for each head, for callers: the TPU kernel or another implementation."""

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


def chunk_gla(
    q: jax.Array,
    k: jax.Array,
    v: jax.Array,
    gamma: jax.Array,
    *,
    implementation: Choice = _DEFAULT,
    block_sizes: BlockSizes | None = None,
) -> Any:
    """Returns o [B, T, H, V] for q, k [B, T, H, K] and v [B, T, H, V], bfloat16 or float32; sums are in float32.

    o_i is K^-1/2 times the sum over j <= i of exp(gamma (i - j)) (q_i . k_j) v_j, in the dtype of q. gamma [H], float32
    and at most 0, is a constant and has no gradient. The Pallas kernel needs K and V to be multiples of 128.
    `implementation` is "pallas_tpu", "pallas_interpret" (the same kernel on a CPU, slowly), "xla" or "reference", or
    several of these in the order in which they are tried. `block_sizes` are the Pallas kernel's; None means
    `infer_block_sizes`.
    """

    def pallas(q: jax.Array, k: jax.Array, v: jax.Array, gamma: jax.Array) -> Any:
        if q.shape[3] % 128 != 0 or v.shape[3] % 128 != 0:
            raise Unsupported(f"K and V must be multiples of 128, and are {q.shape[3]} and {v.shape[3]}")
        return kernel.chunk_gla(q, k, v, gamma, block_sizes=block_sizes or infer_block_sizes(q, k, v, gamma))

    known = {
        "pallas_tpu": on_backend("tpu", pallas),
        "pallas_interpret": on_backend("cpu", pallas),
        "xla": xla.chunk_gla,
        "reference": reference.chunk_gla,
    }
    return call(known, implementation, q, k, v, jax.lax.stop_gradient(gamma))


def infer_block_sizes(
    q: jax.Array, k: jax.Array, v: jax.Array, gamma: jax.Array, device_kind: str | None = None
) -> BlockSizes:
    """Returns the tuned block sizes for these shapes on a device (None: JAX's first device), or the default sizes."""
    dims = dict(zip("BTHK", q.shape, strict=True)) | {"V": v.shape[3]}
    device = device_kind or jax.devices()[0].device_kind
    return BlockSizes(**tuned.block_sizes(_TABLE, device, q.dtype.name, dims))
