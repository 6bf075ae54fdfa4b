"""A runner of kernels in Pallas' interpreter on the CPU. It prints each kernel's error, as a line PATH ERROR.

It takes folders of sources, each of which defines `matmul(x, y)`. In each folder `shapes.txt` has one MxNxK per line.
An error is the distance from the reference as a share of the outputs' root mean square. It is "inf" if the shape of the
outputs is wrong.
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl


def main(folders: list[str]) -> None:
    pl.pallas_call = functools.partial(_interpreted, pl.pallas_call)
    for path in (path for folder in folders for path in sorted(Path(folder).glob("*.py"))):
        module: dict[str, object] = {}
        exec(compile(path.read_text(), str(path), "exec"), module)
        shapes = (path.parent / "shapes.txt").read_text().split()
        errors = [_error(module["matmul"], *map(int, shape.split("x"))) for shape in shapes]
        print(path, np.max(errors))  # not a number, if any error is not a number


def _interpreted(call, *arguments, **keywords):  # type: ignore[no-untyped-def]
    return call(*arguments, **{**keywords, "interpret": True})


def _error(matmul, m: int, n: int, k: int) -> float:  # type: ignore[no-untyped-def]
    x, y = (
        jax.random.normal(jax.random.key(i), shape, jnp.float32).astype(jnp.bfloat16)
        for i, shape in enumerate([(m, k), (k, n)])
    )
    oracle = np.asarray(x, np.float64) @ np.asarray(y, np.float64)
    out = np.asarray(matmul(x, y), np.float64)
    scale = np.sqrt(np.mean(oracle**2))
    return float(np.abs(out - oracle).max() / scale) if out.shape == oracle.shape else float("inf")


if __name__ == "__main__":
    main(sys.argv[1:])
