"""RMS norm for callers: the TPU kernel or another implementation."""

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
# The dtypes of x and weight that all implementations take.
DTYPES = ("bfloat16", "float32")


def rms_norm(
    x: jax.Array,
    weight: jax.Array,
    *,
    eps: float = 1e-6,
    implementation: Choice = _DEFAULT,
    block_sizes: BlockSizes | None = None,
) -> Any:
    """Returns x [B, H] over the root of its rows' mean square, times weight [H]; bfloat16 or float32, float32 inside.

    `implementation` is "pallas_tpu", "pallas_interpret" (the same kernel on a CPU, slowly), "xla" or "reference", or
    several of these in the order in which they are tried. `block_sizes` are the Pallas kernel's; None means
    `infer_block_sizes`.
    """

    def pallas(x: jax.Array, weight: jax.Array) -> Any:
        return kernel.rms_norm(x, weight, eps=eps, block_sizes=block_sizes or infer_block_sizes(x, weight))

    known = {
        "pallas_tpu": on_backend("tpu", pallas),
        "pallas_interpret": on_backend("cpu", pallas),
        "xla": functools.partial(xla.rms_norm, eps=eps),
        "reference": functools.partial(reference.rms_norm, eps=eps),
    }
    return call(known, implementation, x, weight)


def infer_block_sizes(x: jax.Array, weight: jax.Array, device_kind: str | None = None) -> BlockSizes:
    """Returns the tuned block sizes for these shapes on a device (None: JAX's first device), or the default sizes."""
    dims = {"B": x.shape[0], "H": weight.shape[0]}
    device = device_kind or jax.devices()[0].device_kind
    return BlockSizes(**tuned.block_sizes(_TABLE, device, x.dtype.name, dims))
