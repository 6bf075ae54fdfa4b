"""The matmul for callers: the TPU kernel or another implementation."""

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
# The dtypes of x and y that all implementations take.
DTYPES = ("bfloat16", "float32")


def matmul(
    x: jax.Array, y: jax.Array, *, implementation: Choice = _DEFAULT, block_sizes: BlockSizes | None = None
) -> Any:
    """Returns x [M, K] @ y [K, N] in the dtype of x, bfloat16 or float32; sums are in float32.

    `implementation` is "pallas_tpu", "pallas_interpret" (the same kernel on a CPU, slowly), "xla" or "reference", or
    several of these in the order in which they are tried. `block_sizes` are the Pallas kernel's; None means
    `infer_block_sizes`.
    """

    def pallas(x: jax.Array, y: jax.Array) -> Any:
        return kernel.matmul(x, y, block_sizes=block_sizes or infer_block_sizes(x, y))

    known = {
        "pallas_tpu": on_backend("tpu", pallas),
        "pallas_interpret": on_backend("cpu", pallas),
        "xla": xla.matmul,
        "reference": reference.matmul,
    }
    return call(known, implementation, x, y)


def infer_block_sizes(x: jax.Array, y: jax.Array, device_kind: str | None = None) -> BlockSizes:
    """Returns the tuned block sizes for these shapes on a device (None: JAX's first device), or the default sizes."""
    dims = {"M": x.shape[0], "N": y.shape[1], "K": x.shape[1]}
    device = device_kind or jax.devices()[0].device_kind
    return BlockSizes(**tuned.block_sizes(_TABLE, device, x.dtype.name, dims))
