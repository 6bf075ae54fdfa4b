"""Tests of near-duplicates: the distances between real kernels' programs, by the step that rejects variants."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, SMALL, THOROUGH, Lower

NOVELTY = Path(os.environ.get("EVOLVE", str(ROOT / "build" / "release" / "evolve"))).parent / "steps" / "novelty"
SEED = (SMALL / "kernel.py").read_text()
POINT = {"BLOCK_M": 512, "BLOCK_N": 512, "BLOCK_K": 512}

Judge = Callable[..., dict[str, dict[str, Any]]]


def edited(*changes: tuple[str, str]) -> str:
    """Returns the seed with these texts replaced. The seed must have each text once."""
    source = SEED
    for old, new in changes:
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    return source


@pytest.fixture
def judged(lower: Lower, tmp_path: Path) -> Judge:
    """Returns the step's reports on these sources, which are the variants v0001, v0002, … of a first round."""

    def run(*sources: str, least: float = 0.1, seed: str = SEED, points: Any = None) -> dict[str, dict[str, Any]]:
        ids = [f"v{number:04}" for number in range(len(sources) + 1)]
        for number, (name, source) in enumerate(zip(ids, (seed, *sources), strict=True)):
            folder = tmp_path / "round" / name / "timed"
            folder.mkdir(parents=True)
            (folder / "lower.json").write_text(json.dumps(lower(source, name)))
            (folder / "jaxpr.json").write_bytes((tmp_path / f"{name}.jaxpr").read_bytes())
            (folder / "contract.json").write_text('{"verdict": "ok"}')
            variant = {"id": name, "round": 1, "parameters": points[number] if points else POINT, "parents": []}
            (folder.parent / "variant.json").write_text(json.dumps(variant))
        spec = {"cases": [{"name": "timed", "tags": ["bench"], "weight": 1}], "parameters": {}}
        (tmp_path / "spec.json").write_text(json.dumps(spec))
        flags = {
            "spec": "spec.json",
            "least-distance": str(least),
            "seed-dir": "round/v0000",
            "variants": ",".join(ids[1:]),
            "round-dir": "round",
            "out": "novelty.json",
            "sketches-out": "sketches.jsonl",
        }
        command = [str(NOVELTY), *(text for name, value in flags.items() for text in (f"--{name}", value))]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        said = json.loads((tmp_path / "novelty.json").read_text())["variants"]
        for one in said:
            report = tmp_path / "round" / one["variant"] / "timed" / "novelty.json"
            one["report"] = json.loads(report.read_text())
        return {one["variant"]: one for one in said}

    return run


NEAR = {
    "statements in another order": ("x, y = x_ref[...], y_ref[...]", "y = y_ref[...]\n    x = x_ref[...]"),
    "other advice to the scheduler": ("transcendentals=0", "transcendentals=1"),
    "operands in another order": (
        "acc_ref[...] += jnp.dot(x, y, preferred_element_type=jnp.float32)",
        "acc_ref[...] = jnp.dot(x, y, preferred_element_type=jnp.float32) + acc_ref[...]",
    ),
    "another number": ("jnp.zeros_like(acc_ref)", "jnp.full_like(acc_ref, 0.5)"),
    "one operation more": ("acc_ref[...].astype", "(acc_ref[...] * 2.0).astype"),
    "another bound": ("pl.num_programs(2) - 1", "pl.num_programs(2) - 2"),
}
# Changes of a kernel's sizes, blocks and buffers. They need not be parameters in the spec.
FAR = {
    "lower blocks": ("BLOCK_M = 512", "BLOCK_M = 128"),
    "narrower blocks": ("BLOCK_N = 512", "BLOCK_N = 128"),
    "shorter blocks": ("BLOCK_K = 512", "BLOCK_K = 128"),
    "one buffer": ("(i, j))", "(i, j), pipeline_mode=pl.Buffered(1))"),
    "another order of steps": ("(bm, bk), lambda i, j, k: (i, k)", "(bm, bk), lambda i, j, k: (j, k)"),
    "an axis that is not parallel": ('("parallel", "parallel", "arbitrary")', '("parallel", "arbitrary", "arbitrary")'),
    "less memory": ("48 * 2**20", "47 * 2**20"),
}


@THOROUGH
def test_small_changes_are_near_and_sizes_are_not(judged: Judge) -> None:
    changes = NEAR | FAR
    said = judged(*(edited(change) for change in changes.values()))
    for name, one in zip(changes, said.values(), strict=True):
        verdict = "rejected" if name in NEAR else "ok"
        assert (name, one["is_near"], one["report"]["verdict"]) == (name, name in NEAR, verdict)
    first = said["v0001"]
    assert first["report"] == {
        "verdict": "rejected",
        "kind": "near-duplicate",
        "reason": "0 from v0000 (least_distance 0.1)",
    }


def test_other_structures_are_far_enough(judged: Judge) -> None:
    product = "jnp.dot(x, y, preferred_element_type=jnp.float32)"
    parts = f"sum({product.replace('x', 'x[:, i : i + 100]').replace('y,', 'y[i : i + 100],')} for i in (0, 100, 200))"
    transposed = "jnp.dot(y.T, x.T, preferred_element_type=jnp.float32).T"
    for one in judged(edited((product, parts)), edited((product, transposed))).values():
        assert one["distance"] > 0.2
        assert one["report"] == {"verdict": "ok"}


def test_the_same_program_is_known_and_points_are_far_apart(judged: Judge) -> None:
    renamed = SEED.replace("acc_ref", "sums").replace("left", "rest")
    near = edited(NEAR["operands in another order"])
    points = [POINT, POINT, {**POINT, "BLOCK_M": 1024}, POINT]
    said = judged(renamed, near, near, points=points)
    assert [one["is_known"] for one in said.values()] == [True, False, True]
    assert [one["is_near"] for one in said.values()] == [False, False, False]
