"""Linear attention with a gate for each head and position, for callers: the TPU kernel or another implementation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from .. import tuned
from ..implementations import Choice, Unsupported, call, on_backend
from . import kernel, reference, xla
from .kernel import BlockSizes

_TABLE = Path(__file__).with_name("tuned.json")
_DEFAULT = ("pallas_tpu", "xla")
# The dtypes of q, k, v and h0 that all implementations take.
DTYPES = ("bfloat16", "float32")


def fused_chunk_simple_gla(
    q: jax.Array,
    k: jax.Array,
    v: jax.Array,
    g: jax.Array | None = None,
    gamma: jax.Array | None = None,
    h0: jax.Array | None = None,
    *,
    implementation: Choice = _DEFAULT,
    block_sizes: BlockSizes | None = None,
) -> Any:
    """Returns o [B, T, H, V] and ht [B, H, K, V] for q, k [B, T, H, K] and v [B, T, H, V]; sums are in float32.

    q, k, v and h0 are bfloat16 or float32. The gates are exp(g + gamma) for g [B, T, H] and gamma [H], float32 and at
    most 0; None means 0. The gates are constants and have no gradients. h0 [B, H, K, V] is the initial state; None
    means 0. The Pallas kernel needs K and V to be multiples of 128. `implementation` is "pallas_tpu",
    "pallas_interpret" (the same kernel on a CPU, slowly), "xla" or "reference", or several of these in the order in
    which they are tried. `block_sizes` are the Pallas kernel's; None means `infer_block_sizes`.
    """
    batch, _, heads, width = q.shape
    g = jnp.zeros(q.shape[:3], jnp.float32) if g is None else g
    gamma = jnp.zeros((heads,), jnp.float32) if gamma is None else gamma
    h0 = jnp.zeros((batch, heads, width, v.shape[3]), q.dtype) if h0 is None else h0

    def pallas(q: jax.Array, k: jax.Array, v: jax.Array, *others: jax.Array) -> Any:
        if q.shape[3] % 128 != 0 or v.shape[3] % 128 != 0:
            raise Unsupported(f"K and V must be multiples of 128, and are {q.shape[3]} and {v.shape[3]}")
        sizes = block_sizes or infer_block_sizes(q, k, v)
        return kernel.fused_chunk_simple_gla(q, k, v, *others, block_sizes=sizes)

    known = {
        "pallas_tpu": on_backend("tpu", pallas),
        "pallas_interpret": on_backend("cpu", pallas),
        "xla": xla.fused_chunk_simple_gla,
        "reference": reference.fused_chunk_simple_gla,
    }
    return call(known, implementation, q, k, v, jax.lax.stop_gradient(g), jax.lax.stop_gradient(gamma), h0)


def infer_block_sizes(q: jax.Array, k: jax.Array, v: jax.Array, device_kind: str | None = None) -> BlockSizes:
    """Returns the tuned block sizes for these shapes on a device (None: JAX's first device), or the default sizes."""
    dims = dict(zip("BTHK", q.shape, strict=True)) | {"V": v.shape[3]}
    device = device_kind or jax.devices()[0].device_kind
    return BlockSizes(**tuned.block_sizes(_TABLE, device, q.dtype.name, dims))
