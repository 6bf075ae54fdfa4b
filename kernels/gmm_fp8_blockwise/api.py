"""The grouped matmul in 8-bit floats for callers: the TPU kernel or another implementation."""

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
# The dtypes of lhs and rhs that all implementations take.
DTYPES = ("bfloat16", "float32")


def gmm_fp8_blockwise(
    lhs: jax.Array,
    rhs: jax.Array,
    group_sizes: jax.Array,
    *,
    implementation: Choice = _DEFAULT,
    block_sizes: BlockSizes | None = None,
) -> Any:
    """Returns lhs [M, K] @ rhs [G, K, N] of each row's group, both rounded to float8_e4m3fn in tiles: float32 [M, N].

    Group g has the next `group_sizes[g]` rows, or what is left of them; the last group has all rows that are left. M, K
    and N must be multiples of 128. The result is differentiable by lhs and rhs. `implementation` is "pallas_tpu",
    "pallas_interpret" (the same kernel on a CPU, slowly), "xla" or "reference", or several of these in the order in
    which they are tried. `block_sizes` are the Pallas kernels'; None means `infer_block_sizes`.
    """
    if any(size % kernel.TILE != 0 for size in (*lhs.shape, *rhs.shape[1:])):
        raise ValueError(f"lhs {lhs.shape} and rhs {rhs.shape}: M, K and N have to be multiples of {kernel.TILE}")

    def pallas(lhs: jax.Array, rhs: jax.Array, group_sizes: jax.Array) -> Any:
        sizes = block_sizes or infer_block_sizes(lhs, rhs)
        return kernel.gmm_fp8_blockwise(lhs, rhs, group_sizes, block_sizes=sizes)

    known = {
        "pallas_tpu": on_backend("tpu", pallas),
        "pallas_interpret": on_backend("cpu", pallas),
        "xla": xla.gmm_fp8_blockwise,
        "reference": reference.gmm_fp8_blockwise,
    }
    return call(known, implementation, lhs, rhs, group_sizes)


def infer_block_sizes(lhs: jax.Array, rhs: jax.Array, device_kind: str | None = None) -> BlockSizes:
    """Returns the tuned block sizes for these shapes on a device (None: JAX's first device), or the default sizes."""
    dims = {"M": lhs.shape[0], "K": lhs.shape[1], "N": rhs.shape[2], "G": rhs.shape[0]}
    device = device_kind or jax.devices()[0].device_kind
    return BlockSizes(**tuned.block_sizes(_TABLE, device, lhs.dtype.name, dims))
