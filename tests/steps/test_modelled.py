"""Every honest kernel has a modelled time: none of them is turned down for want of what the model can follow."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import FULL, THOROUGH, Run
from corpus import HERE, SPEC_PROGRAM, Entry, entries

# What no other kernel of the corpus has: a table that it prefetches, copies by hand, control flow on data.
IN_CI = {"honest/attention/block_table", "styles/manual_matmul/kernel", "styles/paged_dma/kernel"}


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
        case = tmp_path / "cases" / name
        lowered = {f"{one}_out": f"k.{one}" for one in ("tpu", "cpu", "jaxpr", "operands")}
        files = {"signature": case / "signature.json", "target": "tpu7x"}
        ends = {"out": "lower.json", "depfile": "d"}
        run_step("lower", source=entry.path, entry=spec["entry"], **files, **lowered, **ends)
        assert json.loads((tmp_path / "lower.json").read_text())["verdict"] == "ok"
        run_step("compile", program="k.tpu", target="tpu7x", out="compile.json", dumps="dumps.tar.gz")
        compiled = json.loads((tmp_path / "compile.json").read_text())
        assert compiled["verdict"] == "ok", compiled
        words = ["--compile", "compile.json", "--dumps", "dumps.tar.gz", "--target", "tpu7x"]
        words += ["--operands", "k.operands", "--cost", str(case / "cost.json"), "--out", "facts.json"]
        analyze = SPEC_PROGRAM.parent / "analyze"
        subprocess.run([analyze, *words], cwd=tmp_path, check=True, capture_output=True)
        facts = json.loads((tmp_path / "facts.json").read_text())
        assert facts["verdict"] == "ok", facts
        assert facts["modelled"]["seconds"] > 0
