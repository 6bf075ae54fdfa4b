"""Tests that every rewrite of some kernels has its original's outputs, in Pallas' interpreter on the CPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import FULL, ROOT
from rewritten import LOOP, NARROW_SCRATCH, SEED, SUM_IN_OUTPUT, SUM_IN_SCRATCH, with_blocks

from rewrites.rewrites import rewrites

# The largest error of a right kernel, in units of a typical element. The largest element has about five units, and
# bfloat16 rounds it by at most 1/256 of its value.
_ROUNDING = 0.02

SMALL_SEED = with_blocks(SEED, 256, 512, 512)
pytestmark = FULL
MASKS_ALONE = next(one.text for one in rewrites(SMALL_SEED)["ragged edge"])


# Each shape has one to three blocks along each dimension. The second shape of the seed is ragged in all dimensions.
KERNELS = {
    "seed": (SMALL_SEED, ["256x512x512", "300x600x1100"]),
    "sum_in_scratch": (SUM_IN_SCRATCH, ["256x128x512", "128x256x1536"]),
    "sum_in_output": (SUM_IN_OUTPUT, ["256x128x1024"]),
    "loop": (LOOP, ["256x128x512"]),
    "narrow_scratch": (NARROW_SCRATCH, ["128x128x1024"]),
}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    """Returns the errors of all kernels, their rewrites, and a wrong kernel, from one process that imports JAX."""
    root = tmp_path_factory.mktemp("rewritten")
    wrong = MASKS_ALONE.replace("block_product(True)", "block_product(False)")
    assert wrong != MASKS_ALONE
    for name, (source, shapes) in KERNELS.items():
        (root / name).mkdir()
        (root / name / "shapes.txt").write_text("\n".join(shapes))
        sources = {"original": source, **({"wrong": wrong} if name == "seed" else {})}
        for kind, of_kind in rewrites(source).items():
            sources |= {f"{kind} {i}": one.text for i, one in enumerate(of_kind)}
        for stem, text in sources.items():
            (root / name / f"{stem}.py").write_text(text)
    runner = ROOT / "tests" / "steps" / "run_rewritten.py"
    done = subprocess.run(
        [sys.executable, str(runner), *(str(root / name) for name in KERNELS)],
        env={**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = (line.rsplit(" ", 1) for line in done.stdout.splitlines())
    return {str(Path(path).relative_to(root)): float(error) for path, error in lines}


@pytest.mark.parametrize("name", KERNELS)
def test_every_rewrite_is_right(name: str, measured: dict[str, float]) -> None:
    found = {f"{kind} {i}": one for kind, of in rewrites(KERNELS[name][0]).items() for i, one in enumerate(of)}
    assert len(found) > 5
    assert measured[f"{name}/original.py"] < _ROUNDING
    assert not [one.description for stem, one in found.items() if not measured[f"{name}/{stem}.py"] < _ROUNDING]


def test_a_wrong_kernel_is_seen(measured: dict[str, float]) -> None:
    # The wrong kernel treats ragged blocks as whole ones, so it adds values from beyond the edge.
    assert not measured["seed/wrong.py"] < _ROUNDING
