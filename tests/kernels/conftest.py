"""Fixtures for the tests of all kernels that exist. A kernel's folder may be deleted."""

from __future__ import annotations

import functools
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "rules"
# The tests import the judge's own modules, and the kernels as their users import them.
sys.path[:0] = [str(ROOT / "tests" / "steps"), str(RULES), str(ROOT)]

from corpus import Task

# .ci/full runs everything. Other runs test one small case of each kernel's Pallas implementation, for one TPU.
IS_FULL = os.environ.get("THOROUGH") == "all"

FOLDERS = sorted(path.parent for path in (ROOT / "kernels").glob("*/api.py"))

# A kernel's own tests are collected only if its folder exists.
collect_ignore = [
    path.name
    for path in Path(__file__).parent.glob("test_*.py")
    if (name := path.stem.removeprefix("test_")) not in ("kernels", "implementations", "deletion")
    and not (ROOT / "kernels" / name).is_dir()
]

# A function that runs a step with flags: run("compile", program="k.device", …).
Run = Callable[..., None]


@functools.cache
def task_of(folder: Path) -> Task:
    return Task(folder)


def api_of(folder: Path) -> Any:
    return importlib.import_module(f"kernels.{folder.name}.api")


@pytest.fixture(scope="session")
def run_step() -> Iterator[Run]:
    """Runs steps in a worker, because a process that computes, like this one, cannot fork."""
    process = subprocess.Popen(
        [sys.executable, str(RULES / "process" / "worker.py"), "--persistent_worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def run(step: str, **flags: Any) -> None:
        words = [word for name, value in flags.items() for word in (f"--{name.replace('_', '-')}", str(value))]
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps({"arguments": [str(RULES), f"steps.{step}", *words], "requestId": 1}) + "\n")
        process.stdin.flush()
        response = json.loads(process.stdout.readline())
        assert response["exitCode"] == 0, response

    yield run
    process.kill()
    process.wait()
