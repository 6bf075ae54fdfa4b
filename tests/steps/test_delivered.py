"""Tests of delivered: a file that is given out is checked against the file's records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import FORKS, SIGNATURE, SMALL

from delivery import delivered
from judge import lower as step
from process.child import ChildFault, run_in_child
from source import normalise
from steps import expect

pytestmark = FORKS

SEED = (SMALL / "kernel.py").read_text()

# A kernel that depends on its own docstring, which the judge replaces.
BY_DOCSTRING = SEED + "\nBLOCK_M = BLOCK_M if 'x [M, K]' not in str(matmul.__doc__) else 128\n"


def _judged(source: str, work: Path) -> Path:
    """Writes a variant's file into a campaign's folder, as a round does. Only one lowering has judged the file."""
    folder = work / "round-1" / "v0001"
    (folder / "square").mkdir(parents=True)
    (work / "cases" / "square").mkdir(parents=True)
    (work / "cases" / "square" / "signature.json").write_text(json.dumps(SIGNATURE))
    (work / "spec.json").write_text(json.dumps({"entry": "matmul"}))
    (folder / "kernel.py").write_text(source)
    canonical = normalise.canonical(source, "kernel.py").encode()
    report, _ = step.lower(canonical, "matmul", SIGNATURE, delivered._LIMITS)
    assert report["verdict"] == "ok", report
    (folder / "square" / "lower.json").write_text(json.dumps(report))
    return folder / "kernel.py"


def _told(work: Path, file: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert delivered.main(["--work", str(work), "--variant", "round-1/v0001", "--source", str(file)]) == 0
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    return told


def test_what_was_judged_is_what_is_given_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = _judged(SEED, tmp_path)
    assert _told(tmp_path, file, capsys) == {}
    file.write_text(SEED.replace("BLOCK_M = 512", "BLOCK_M = 128"))
    assert _told(tmp_path, file, capsys) == {
        "square": "its program for the device and the judge differs from the one that was judged"
    }
    file.write_text("import os\n" + SEED)
    assert "'os'" in _told(tmp_path, file, capsys)["square"]


def test_a_report_of_an_earlier_version_has_other_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = _judged(SEED, tmp_path)
    path = file.parent / "square" / "lower.json"
    report = json.loads(path.read_text())
    programs = {"tpu": report["programs"]["device"], "cpu": report["programs"]["judge"]}
    del report["target"]
    path.write_text(json.dumps({**report, "programs": programs}))
    assert _told(tmp_path, file, capsys) == {}


def test_what_hangs_on_its_own_docstring_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # The judge replaces docstrings, so it judged another program than the file's.
    assert "differs from the one" in _told(tmp_path, _judged(BY_DOCSTRING, tmp_path), capsys)["square"]


def _checked(work: Path) -> None:
    """Writes the case's files as the steps expect and check do."""
    case = work / "cases" / "square"
    tolerance = {"rtol": 1e-2, "atol": 1e-2, "max_error_ratio": 1.5}
    (case / "tolerance.json").write_text(json.dumps(tolerance))
    (work / "secret").write_text("not for candidates")
    reference = expect.functions(str(SMALL / "reference.py"), "matmul")
    made = run_in_child(
        lambda: expect.pack(expect.expected(reference, SIGNATURE, "not for candidates")), delivered._LIMITS
    )
    (case / "expected.npz").write_bytes(made.answer)
    report = {"verdict": "ok", "sets": ["normal", "hidden"]}
    (work / "round-1" / "v0001" / "square" / "check.json").write_text(json.dumps(report))


def test_what_is_wrong_where_nobody_traces_it_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = _judged(SEED, tmp_path / "honest")
    _checked(tmp_path / "honest")
    assert _told(tmp_path / "honest", file, capsys) == {}
    asks = "if 'Tracer' not in type(x).__name__:\n        return jnp.zeros((x.shape[0], y.shape[1]), x.dtype)"
    eager = SEED.replace("def matmul(x, y):\n", f"def matmul(x, y):\n    {asks}\n")
    assert eager != SEED
    file = _judged(eager, tmp_path / "eager")
    _checked(tmp_path / "eager")
    assert (
        "called with arrays, without jax.jit, its output is wrong: 'out'"
        in _told(tmp_path / "eager", file, capsys)["square"]
    )


def test_a_variant_that_was_not_lowered_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "spec.json").write_text(json.dumps({"entry": "matmul"}))
    with pytest.raises(ChildFault, match="was not lowered"):
        delivered.differences(tmp_path, "round-1/v0001", b"", delivered._LIMITS)
