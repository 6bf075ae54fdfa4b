"""Tests that every honest kernel has a modelled time, except three kernels whose reports give a reason."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import FULL, THOROUGH, Run
from corpus import HERE, SPEC_PROGRAM, Entry, entries

# Kernels with features that no other kernel has: a prefetched table, copies by hand, control flow on data.
IN_CI = {"honest/attention/block_table", "styles/manual_matmul/kernel", "styles/paged_dma/kernel"}
# Kernels that pass on the CPU but have no time for a TPU, and the reasons that are given.
WITHOUT_TIME = {
    "honest/attention/loop": "Used 130.89M of 64.00M vmem",
    "honest/matmul/dynamic_grid": "it depends on operand 0 (s32[]), whose values are not known",
    "styles/moe_combine/kernel": "Offsets along tiled dimensions must be aligned to tiles",
}


def _with_marks() -> list[Any]:
    honest = [one for folder in ("honest", "styles") for one in entries(HERE / folder) if one.verdict == "ok"]
    return [pytest.param(one, marks=THOROUGH if str(one) in IN_CI else FULL, id=str(one)) for one in honest]


@pytest.mark.parametrize("entry", _with_marks())
def test_every_honest_kernel_is_modelled(entry: Entry, run_step: Run, tmp_path: Path) -> None:
    task = HERE / "tasks" / entry.task
    subprocess.run([SPEC_PROGRAM, "--spec", task / "spec.yaml", "--out-dir", tmp_path], check=True)
    spec = json.loads((tmp_path / "spec.json").read_text())
    timed = [one["name"] for one in spec["cases"] if "bench" in one["tags"]]
    assert timed
    for name in timed:
        report = _timed(entry, spec["entry"], tmp_path / "cases" / name, run_step, tmp_path)
        if str(entry) in WITHOUT_TIME:
            assert WITHOUT_TIME[str(entry)] in report["reason"]
        else:
            assert report["verdict"] == "ok", report
            assert report["modelled"]["seconds"] > 0


def _timed(entry: Entry, function: str, case: Path, run_step: Run, folder: Path) -> dict[str, Any]:
    """Returns the facts of a kernel's timed case, or the compiler's report if the compiler refused it."""
    lowered = {f"{one}_out": f"k.{one}" for one in ("device", "judge", "jaxpr", "operands")}
    files = {"signature": case / "signature.json", "platform": "tpu", "device_kind": "TPU7x"}
    run_step("lower", source=entry.path, entry=function, **files, **lowered, out="lower.json", depfile="d")
    assert json.loads((folder / "lower.json").read_text())["verdict"] == "ok"
    run_step("compile", program="k.device", topology="tpu7x:2x2x1", out="compile.json", dumps="dumps.tar.gz")
    compiled = json.loads((folder / "compile.json").read_text())
    if compiled["verdict"] != "ok":
        return compiled
    words = ["--compile", "compile.json", "--dumps", "dumps.tar.gz", "--target", "tpu7x"]
    words += ["--operands", "k.operands", "--cost", str(case / "cost.json"), "--out", "facts.json"]
    subprocess.run([SPEC_PROGRAM.parent / "analyze", *words], cwd=folder, check=True, capture_output=True)
    return json.loads((folder / "facts.json").read_text())
