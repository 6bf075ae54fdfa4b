"""Step expect: what the reference gives on the judge's inputs, for one case.

The oracle is the reference evaluated at float32 on the same values; the reference at its own dtypes, held
against it, says how much rounding error is to be expected of an honest kernel. Trusted code.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import os
import sys
import zipfile
from types import ModuleType
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import numpy as np

import judge_inputs
import verdict
from depfile import write_depfile


def _load(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location("reference", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _outputs(result: Any) -> list[np.ndarray[Any, Any]]:
    return [np.asarray(leaf).astype(np.float32) for leaf in jax.tree_util.tree_leaves(result)]


def expected(module: ModuleType, entry: str, signature: dict[str, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """For each output i: "oracle_i", float32, and "error_i", the reference's own RMS error against it."""
    function = jax.jit(getattr(module, entry))
    inputs = judge_inputs.draw(signature)
    own = _outputs(function(*inputs))
    wide = [x.astype(np.float32) if x.dtype.kind in "Vf" else x for x in inputs]
    with jax.default_matmul_precision("highest"):
        oracle = _outputs(function(*wide))
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for i, (got, right) in enumerate(zip(own, oracle, strict=True)):
        difference = got.astype(np.float64) - right
        arrays[f"oracle_{i}"] = right
        arrays[f"error_{i}"] = np.sqrt(np.mean(difference * difference))
    return arrays


def pack(arrays: dict[str, np.ndarray[Any, Any]]) -> bytes:
    """An .npz file without the time stamps that numpy.savez would put in it."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for name, array in sorted(arrays.items()):
            content = io.BytesIO()
            np.save(content, array, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), content.getvalue())
    return packed.getvalue()


def main(argv: list[str]) -> int:
    """Runs the step; non-zero for a fault alone."""
    parser = argparse.ArgumentParser(prog="expect")
    for name in ("source", "entry", "signature", "out"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--depfile")
    args = parser.parse_args(argv)
    signature = verdict.read_json(args.signature)
    try:
        arrays = expected(_load(args.source), args.entry, signature)
    except Exception as error:  # noqa: BLE001 - the reference is the user's code
        print(f"expect: {args.source}: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    shapes = [list(arrays[f"oracle_{i}"].shape) for i in range(len(arrays) // 2)]
    declared = [output["shape"] for output in signature["outputs"]]
    if shapes != declared:
        print(f"expect: {args.source}: outputs {shapes}, the spec declares {declared}", file=sys.stderr)
        return 2
    verdict.write_file(args.out, pack(arrays))
    write_depfile(args.depfile, args.out)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
