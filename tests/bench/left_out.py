"""A benchmark of the step values: the smallest part whose absence from a large timed case the step finds.

    .venv/bin/python tests/bench/left_out.py [--draws N]

It prints rows for a sum, attention and a logarithm of a sum of exponentials. A kernel leaves out the last places, or as
many places in the middle. Each row gives the share of N secrets with which the step finds this kernel. The step's own
places, inputs and tolerance are used.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "rules"))

import ml_dtypes
import numpy as np

from interpreter.regions import Region, indices_of
from judge import comparison, judge_inputs, places, values
from steps import expect

Array = np.ndarray[Any, Any]

LENGTH = 8192
TOLERANCE = {"rtol": 1e-2, "atol": 1e-2, "max_error_ratio": 2.0}


def _sum(rows: list[Array], kept: Array) -> Array:
    x, y = rows
    return x[:, kept] @ y[kept]


def _attention(rows: list[Array], kept: Array) -> Array:
    q, k, v = rows
    scores = q @ k[kept].T / np.sqrt(q.shape[1])
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return (weights / weights.sum(axis=1, keepdims=True)) @ v[kept]


def _log_sum(rows: list[Array], kept: Array) -> Array:
    x = rows[0][:, kept]
    most = x.max(axis=1, keepdims=True)
    return most + np.log(np.exp(x - most).sum(axis=1, keepdims=True))


# For each name: the shapes of the inputs, the shape of the output, and a function that takes the inputs and the kept
# places. The function gets only the rows of the first input that are compared, and returns the same rows of the output.
TASKS: dict[str, tuple[list[tuple[int, int]], tuple[int, int], Callable[[list[Array], Array], Array]]] = {
    "sum": ([(2048, LENGTH), (LENGTH, 1024)], (2048, 1024), _sum),
    "attention": ([(2048, 128), (LENGTH, 128), (LENGTH, 128)], (2048, 128), _attention),
    "log of a sum": ([(2048, LENGTH)], (2048, 1), _log_sum),
}


def _is_found(task: str, left_out: Array, secret: str) -> bool:
    shapes, out_shape, function = TASKS[task]
    shape = list(out_shape)
    signature = {
        "inputs": [{"name": f"x{i}", "shape": list(s), "dtype": "bfloat16"} for i, s in enumerate(shapes)],
        "outputs": [{"name": "out", "shape": shape, "dtype": "bfloat16"}],
    }
    kept = np.setdiff1d(np.arange(LENGTH), left_out)
    for number, (drawn, runs) in enumerate(zip(judge_inputs.TIMED, places.groups_of([shape], secret), strict=True)):
        inputs = [one.astype(np.float32) for one in judge_inputs.draw(signature, drawn, secret)]

        def at(region: Region, of: Array, inputs: list[Array] = inputs) -> Array:
            rows, columns = (indices_of(axis, size) for axis, size in zip(region, shape, strict=True))
            return function([inputs[0][rows], *(one[:, columns] if task == "sum" else one for one in inputs[1:])], of)

        region = places.region_of(runs[0], shape)
        name, right = f"{drawn.name}.0.{number}", at(region, np.arange(LENGTH)).astype(np.float64)
        expected = {f"{name}.oracle": right}
        expect._add_own_error(expected, name, right.astype(ml_dtypes.bfloat16).astype(np.float64) - right, right)
        for axis, (indices, size) in enumerate(zip(region, shape, strict=True)):
            expected[f"{name}.axis{axis}"] = indices_of(indices, size)
        block = places.block_of(runs[0], shape, number, "a program", secret)
        wrong = at(block, kept).astype(ml_dtypes.bfloat16)
        try:
            comparison.check_output(values.output_at(wrong, expected, signature, 0, (number, drawn), block), TOLERANCE)
        except comparison.Refusal:
            return True
    return False


def main() -> None:
    """Prints a row for each task and place."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=20)
    draws = parser.parse_args().draws
    parts = [1, 8, 64, 512, 2048]
    print(f"of {LENGTH} places are left out{'':>10}" + "".join(f"{part:>8}" for part in parts))
    for task in TASKS:
        for where in ("the last", "in the middle"):
            found = []
            for part in parts:
                first = LENGTH - part if where == "the last" else LENGTH // 2 - part // 2
                left_out = np.arange(first, first + part)
                found.append(sum(_is_found(task, left_out, f"secret {n}") for n in range(draws)) / draws)
            print(f"{task:<14} {where:<22}" + "".join(f"{100 * share:>7.0f}%" for share in found), flush=True)


if __name__ == "__main__":
    main()
