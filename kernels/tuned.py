"""Block sizes that were found for a kernel, by device, dtype and the sizes of its arrays.

A kernel's tuned.json is what `evolve tune` writes:

    {"format": "evolve-tuned-1", "kernel": "matmul", "entries": [
      {"device": "TPU7x", "dtype": "bfloat16", "bucket": {"M": 8192, "N": 8192, "K": 8192},
       "dtypes": {"x": "bfloat16", "y": "bfloat16"}, "block_sizes": {"BLOCK_M": 1024, …}, "kind": "modelled",
       "times": [{"case": "square_8192", "seconds": 0.00137, "seed_seconds": 0.00373}],
       "rounds": 4, "points": 64, "evidence": "…"}]}

`device` is JAX's `device_kind`, `dtype` that of the kernel's first input. A bucket has each dimension rounded up to a
power of two. `times` are those of the bucket's timed cases, of the tuned kernel and of its seed, `kind` says whether
they were modelled or measured, `rounds` and `points` how much was searched, `evidence` is the digest of the selection (engine/search/README.md) that they come from.
Of entries that another system's table had (`evolve import tokamax`) the kind is "told", there are no times, and the
evidence is the table's.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FORMAT = "evolve-tuned-1"

# Sizes that are further from a bucket than this, in powers of two over all dimensions, say nothing of one another.
_FARTHEST = 4.0


def bucket_of(dims: Mapping[str, int]) -> dict[str, int]:
    """Each size rounded up to a power of two."""
    return {name: 1 << max(size - 1, 0).bit_length() for name, size in dims.items()}


def block_sizes(table: Path, device_kind: str, dtype: str, dims: Mapping[str, int]) -> dict[str, int]:
    """What BlockSizes of the kernel takes: of the sizes' own bucket, or of the nearest; nothing where none is near.

    Its fields have the names of the spec's parameters, in lower case.
    """
    nearest: tuple[float, dict[str, Any]] | None = None
    for entry in _entries(table):
        if (entry["device"], entry["dtype"], entry["bucket"].keys()) != (device_kind, dtype, dims.keys()):
            continue
        far = _distance(bucket_of(dims), entry["bucket"])
        if far <= _FARTHEST and (nearest is None or far < nearest[0]):
            nearest = far, entry
    return {name.lower(): value for name, value in nearest[1]["block_sizes"].items()} if nearest else {}


def _distance(one: Mapping[str, int], other: Mapping[str, int]) -> float:
    return sum(abs(math.log2(one[name] / other[name])) for name in one)


@functools.cache
def _entries(table: Path) -> list[dict[str, Any]]:
    if not table.exists():
        return []
    read = json.loads(table.read_text())
    if read.get("format") != FORMAT:
        raise ValueError(f"{table}: not of the format {FORMAT}")
    entries: list[dict[str, Any]] = read["entries"]
    return entries
