"""Tests of the audit: it refuses every task that a trivial kernel would pass, and no other task."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conftest import FORKS, FULL, THOROUGH
from corpus import HERE, LIMITS, SECRET, Task

from judge import comparison
from process.child import run_in_child
from steps import audit, expect

pytestmark = FORKS

# These two tasks are made so that only the contract finds a kernel that leaves work out.
ARE_NO_TASKS = ("flat", "matmul_f32")
IN_CI = (*ARE_NO_TASKS, "matmul")

SIGNATURE = {
    "inputs": [{"name": name, "shape": [8, 16], "dtype": "float32"} for name in ("x", "y")],
    "outputs": [{"name": "out", "shape": [8, 16], "dtype": "float32"}],
}
TOLERANCE = {"rtol": 1e-5, "atol": 1e-5, "max_error_ratio": 2.0}


def task_of(own: Callable[..., Any], oracle: Callable[..., Any], **tolerance: float) -> audit.Task:
    """Returns the task with this reference, and with this oracle at float64."""

    def work() -> bytes:
        return expect.pack(expect.expected(expect.Functions(own, oracle, oracle), SIGNATURE, SECRET))

    # The work is done in a child, because a process that has used a backend cannot fork any more.
    expected = comparison.read_expected(run_in_child(work, LIMITS).answer)
    return audit.Task(expected, SIGNATURE, {**TOLERANCE, **tolerance}, SECRET)


def findings(function: Callable[..., Any], **tolerance: float) -> list[str]:
    """Returns the audit's findings on a task with this reference."""
    return task_of(function, function, **tolerance).findings()


def test_what_asks_for_something_is_a_task() -> None:
    assert findings(lambda x, y: x * 2 + y) == []


@pytest.mark.parametrize(
    ("function", "found"),
    [
        (lambda x, y: 0 * x, "zeros"),
        (lambda x, y: 0 * x + 1, "ones"),
        (lambda x, y: 0 * x + y.mean(), "its mean"),
        (lambda x, y: y * (1 + 1e-9), "the input 'y'"),
        (lambda x, y: 0 * x + np.arange(16, dtype=np.float32), "the right output for other inputs"),
    ],
)
def test_what_nobody_has_to_compute_is_none(function: Callable[..., Any], found: str) -> None:
    assert f"'out' may be {found}" in findings(function)


def test_so_is_a_tolerance_that_lets_anything_pass() -> None:
    assert "'out' may be zeros" in findings(lambda x, y: x + y, atol=100.0, max_error_ratio=1e9)


def test_a_reference_passes_its_own_tolerance() -> None:
    def rough(x: Any, y: Any) -> Any:
        return (x * y).astype("bfloat16").astype("float32")

    assert task_of(lambda x, y: x * y, lambda x, y: x * y).rough() == []
    found = task_of(rough, lambda x, y: x * y).rough()
    assert len(found) == 1
    assert re.fullmatch(
        r"the reference itself is off by 0\.0\d+ in 'out' on 'normal' inputs, but its tolerance allows only \S+",
        found[0],
    )
    assert task_of(rough, lambda x, y: x * y, rtol=1e-2).rough() == []


def _tasks() -> list[Any]:
    names = sorted(path.parent.name for path in (HERE / "tasks").glob("*/spec.yaml"))
    return [pytest.param(name, marks=THOROUGH if name in IN_CI else FULL) for name in names]


@pytest.mark.parametrize("name", _tasks())
def test_of_the_corpus_those_are_tasks_that_are_meant_to_be(name: str) -> None:
    task = Task(HERE / "tasks" / name)
    for case in task.cases:
        if "check" in case.tags:
            files = case.files
            judged = audit.Task(task.expected(case), files["signature"], files["tolerance"], SECRET)
            assert bool(judged.findings()) == (name in ARE_NO_TASKS)
            assert not judged.rough()
