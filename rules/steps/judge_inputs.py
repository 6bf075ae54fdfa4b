"""The judge's inputs: drawn from a signature alone, never seen by a candidate before its program is fixed."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

import program


def draw(signature: dict[str, Any], number: int = 0) -> list[np.ndarray[Any, Any]]:
    """Standard normal arrays of the declared shapes and dtypes; integers are uniform in [0, 8).

    Set 0 is what programs are checked on, others are as good. The random seed is a digest of the signature, the
    position and the set's number, so that an input's values do not depend on the others.
    """
    arrays = []
    for position, entry in enumerate(signature["inputs"]):
        named = [position, entry["shape"], entry["dtype"]]
        text = json.dumps(named if number == 0 else [*named, number]).encode()
        key = int.from_bytes(hashlib.sha256(b"evolve judge 1 " + text).digest()[:16], "little")
        generator = np.random.Generator(np.random.Philox(key=key))
        dtype = program.dtype_of(entry["dtype"])
        shape = tuple(entry["shape"])
        if np.issubdtype(dtype, np.integer):
            arrays.append(generator.integers(0, 8, shape).astype(dtype))
        else:
            arrays.append(generator.standard_normal(shape, dtype=np.float32).astype(dtype))
    return arrays
