"""Tests of `evolve import maxkernel`: a kernel_task.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from init import imports, maxkernel
from init.project import Place
from init.source import Wrong, executed

_REFERENCE = """import jax.numpy as jnp


def get_inputs():
    raise AssertionError("not this one")


def computation(x, table, ids, scale):
    return x * scale + table[ids]
"""
_INPUTS = """def get_inputs(dtype=jnp.float32):
    def one(rows, width, scale):
        ids = jnp.arange(rows, dtype=jnp.int32) % 32
        return [jnp.ones((rows, width), dtype), jnp.ones((32, width), dtype), ids], [scale]
    return [one(64, 128, 2.0), one(96, 128, 2.0), one(64, 128, 3.0)]
"""


def config(**others: Any) -> dict[str, Any]:
    return {"task_id": "7p_Lookup", "input_gen_code": _INPUTS, "rtol": [1e-2, 1e-3], "atol": "1e-3"} | others


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "reference.py").write_text(_REFERENCE)
    return tmp_path


def test_pairs_are_cases_and_static_arguments_part_of_the_task(folder: Path) -> None:
    task = maxkernel.read(folder, config())
    assert task.name == "lookup"
    assert [(one.name, one.axes, one.range) for one in task.inputs] == [
        ("x", ("D0", "D1"), ""),
        ("table", ("D2", "D1"), ""),
        ("ids", ("D0",), "0, D2 - 1"),
    ]
    assert [case.sizes for case in task.given.cases] == [
        {"D0": 64, "D1": 128, "D2": 32},
        {"D0": 96, "D1": 128, "D2": 32},
    ]
    assert "1 of 3 inputs" in task.notices[0]
    assert (task.given.tolerance.rtol, task.given.tolerance.atol) == (1e-3, 1e-3)
    found = task.function(jnp.full((2, 3), 5.0), jnp.ones((4, 3)), jnp.zeros(2, jnp.int32))
    np.testing.assert_array_equal(found, np.full((2, 3), 11.0))


def test_the_seed_computes_the_same(folder: Path, tmp_path: Path) -> None:
    task = maxkernel.read(folder, config())
    _, files, _ = imports.files_for(task, Place(tmp_path / "project", "lookup"))
    seed = executed(files["kernel.py"], Path("kernel.py"))
    x, table = jnp.arange(64.0 * 128).reshape(64, 128), jnp.arange(32.0 * 128).reshape(32, 128)
    ids = jnp.arange(64) % 32
    np.testing.assert_allclose(seed.lookup(x, table, ids), task.function(x, table, ids))
    assert "not this one" not in files["kernel.py"]


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ({"input_gen_code": 3}, "it has no input_gen_code"),
        ({"input_gen_code": "def inputs():\n  return 1\n"}, "no function get_inputs"),
        ({"input_gen_code": "def get_inputs():\n  return 1\n"}, "must give pairs"),
        ({"input_gen_code": "def get_inputs():\n  return [1], []\n"}, "is not an array"),
        ({"input_gen_code": "def get_inputs():\n  return 1 / 0\n"}, "ZeroDivisionError"),
        ({"rtol": "small"}, "rtol: 'small' is not a number"),
    ],
)
def test_what_is_no_task_is_refused_in_words(folder: Path, others: dict[str, Any], words: str) -> None:
    with pytest.raises(Wrong, match=words):
        maxkernel.read(folder, config(**others))
