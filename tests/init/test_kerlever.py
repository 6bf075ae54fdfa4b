"""Tests of `evolve import kerlever`: specs of either generation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from init import kerlever
from init.source import Wrong

_OLD: dict[str, Any] = {
    "op_name": "matmul",
    "op_semantics": "C = A @ B",
    "shapes": [[64, 32, 16]],
    "dtype": "fp32",
    "target_gpu": "A100",
    "tolerance": "1e-4",
    "baseline_perf_us": 5.0,
    "max_rounds": 4,
    "reference_kernel": "__global__ void f() {}",
}
_NEW: dict[str, Any] = {
    "op_name": "bias_add",
    "dtype": "bf16",
    "shape_cases": [
        {"shape_id": "a-1", "dims": [8, 128], "weight": 2, "correctness_tolerance": 0.1},
        {"dims": [16, 128], "correctness_tolerance": 0.01},
    ],
    "objective": {"aggregation": "max", "regression_guard_pct": 1.5},
}


def read(config: dict[str, Any]) -> Any:
    return kerlever.read(Path("spec.yaml"), config)


def test_a_product_of_the_old_form() -> None:
    task = read(_OLD)
    assert [(one.name, one.dtype, one.axes) for one in task.inputs] == [
        ("x", "float32", ("M", "K")),
        ("y", "float32", ("K", "N")),
    ]
    assert (task.sizes, task.given.rounds, task.given.tolerance.atol) == ({"M": 64, "N": 32, "K": 16}, 4, 1e-4)
    x, y = np.ones((3, 4), np.float32), np.full((4, 5), 2, np.float32)
    np.testing.assert_array_equal(task.function(x, y), x @ y)
    said = "\n".join(task.notices)
    for key in ("target_gpu", "reference_kernel", "baseline_perf_us"):
        assert f"'{key}' is not imported" in said


def test_an_operation_on_elements_of_the_new_form() -> None:
    task = read(_NEW)
    assert [(case.name, case.sizes, case.weight) for case in task.given.cases] == [
        ("a_1", {"D0": 8, "D1": 128}, 2.0),
        ("shape1", {"D0": 16, "D1": 128}, 1.0),
    ]
    assert task.given.tolerance.rtol == 0.01
    np.testing.assert_array_equal(task.function(np.ones(3), np.ones(3)), np.full(3, 2.0))
    assert "objective.aggregation: max" in task.notices[0]
    assert "regression_guard_pct" in task.notices[1]


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({}, "it has no op_name"),
        (_OLD | {"op_name": "conv_transpose"}, "'conv_transpose' is not one of matmul"),
        (_OLD | {"dtype": "int4"}, "'int4' is not supported here"),
        (_OLD | {"shapes": [[1, 2]]}, r"has the sizes \[M, N, K\], but 2 are given"),
        (_OLD | {"shapes": [[1, 2, 3], [1, 2]]}, "does not have 3 sizes"),
        (_OLD | {"shapes": [[1, 0, 3]]}, "is not a list of sizes"),
        (_OLD | {"shapes": []}, "it has neither shape_cases nor"),
        (_OLD | {"tolerance": "tight"}, "'tight' is not a number"),
    ],
)
def test_what_has_no_meaning_is_refused_in_words(config: dict[str, Any], words: str) -> None:
    with pytest.raises(Wrong, match=words):
        read(config)
