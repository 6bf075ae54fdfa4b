"""Tests of JAX's own kernels: the model follows all of them with their operands, and finds exactly their work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from published import PROGRAMS

EVOLVE = os.environ.get("EVOLVE", str(ROOT / "build" / "release" / "evolve"))


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Returns the facts of each program, by name. The compiler would not start in a process that forks."""
    folder = tmp_path_factory.mktemp("published") / "dumps"
    subprocess.run(
        [sys.executable, str(Path(__file__).with_name("published.py")), str(folder)], check=True, capture_output=True
    )
    found = {}
    for name in PROGRAMS:
        command = [EVOLVE, "analyze", str(folder / name), "--operands", str(folder / f"{name}.json"), "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{name}: {done.stderr}"
        (found[name],) = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_kernel_is_followed(name: str, facts: dict[str, Any]) -> None:
    assert facts[name]["not_modelled"] == {}
    kernels = [kernel for kernel in facts[name]["kernels"] if kernel["matmuls"] > 0]
    assert len(kernels) == 1
    assert kernels[0]["unknown_opcodes"] == {}
    assert kernels[0]["name"] not in facts[name]["estimated"]


def test_grouped_products_do_what_they_have_to(facts: dict[str, Any]) -> None:
    # Groups end where tiles end, and tiles are as large as the matrix units, so no product is wasted.
    for name in ("grouped", "grouped_transposed", "grouped_weights"):
        assert facts[name]["flops"]["executed"] == 2 * 2048 * 512 * 512, name


def test_masked_blocks_are_not_computed(facts: dict[str, Any]) -> None:
    # Three of 2 x 2 blocks, or 36 of 8 x 8 blocks, are not wholly masked.
    for name, share in (("splash", 3 / 4), ("flash", 36 / 64)):
        assert facts[f"{name}_causal"]["matmuls"] == share * facts[name]["matmuls"], name
