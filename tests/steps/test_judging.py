"""Compile, expect and check: verdicts, and the same bytes every time."""

from __future__ import annotations

import json
import re
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import SIGNATURE, SMALL, Lower, Run

import check
import verdict

SEED = (SMALL / "kernel.py").read_text()
TOLERANCE = {"rtol": 1e-2, "atol": 1e-2, "max_error_ratio": 1.5}


def test_two_compilations_give_the_same_bytes(lower: Lower, run_step: Run, tmp_path: Path) -> None:
    lower(SEED)
    for name in ("a", "b"):
        done = run_step("compile", program="k.tpu", target="tpu7x", out=f"{name}.json", dumps=f"{name}.tgz")
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert (tmp_path / "a.tgz").read_bytes() == (tmp_path / "b.tgz").read_bytes()
    assert json.loads((tmp_path / "a.json").read_text())["verdict"] == "ok"
    with tarfile.open(tmp_path / "a.tgz") as dumps:
        names = dumps.getnames()
    assert "TLP/packed-bundles-post-ra.txt" in names
    assert any(name.startswith("call_exported") for name in names)


def test_too_much_vmem_is_a_verdict(lower: Lower, run_step: Run, tmp_path: Path) -> None:
    lower(re.sub(r"vmem_limit_bytes=.*", "vmem_limit_bytes=2**15,", SEED))
    run_step("compile", program="k.tpu", target="tpu7x", out="c.json", dumps="c.tgz")
    report = json.loads((tmp_path / "c.json").read_text())
    assert (report["verdict"], report["kind"]) == ("rejected", "vmem_oom")
    assert "limit" in report["reason"]
    assert (tmp_path / "c.tgz").read_bytes() == b""


def test_what_was_turned_down_before_is_not_reached(run_step: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "tolerance.json").write_text(json.dumps(TOLERANCE))
    run_step("compile", program="empty", target="tpu7x", out="c.json", dumps="c.tgz")
    run_step(
        "check",
        program="empty",
        expected="empty",
        signature="signature.json",
        tolerance="tolerance.json",
        out="k.json",
    )
    for name in ("c.json", "k.json"):
        assert json.loads((tmp_path / name).read_text()) == {"verdict": "not_reached"}


def _check(run_step: Run, tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "tolerance.json").write_text(json.dumps(TOLERANCE))
    flags = {"signature": "signature.json"}
    expected = run_step("expect", source=SMALL / "reference.py", entry="matmul", out="expected.npz", **flags)
    assert expected.returncode == 0, expected.stderr
    done = run_step(
        "check", program="k.cpu", expected="expected.npz", tolerance="tolerance.json", out="k.check", **flags
    )
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads((tmp_path / "k.check").read_text())
    return report


def test_a_right_kernel_passes(lower: Lower, run_step: Run, tmp_path: Path) -> None:
    lower(SEED)
    report = _check(run_step, tmp_path)
    assert report["verdict"] == "ok"
    assert report["outputs"][0]["bad_elements"] == 0
    first = (tmp_path / "expected.npz").read_bytes()
    _check(run_step, tmp_path)
    assert (tmp_path / "expected.npz").read_bytes() == first


@pytest.mark.parametrize(
    ("find", "replace", "kind"),
    [
        ("acc_ref[...].astype", "(1.05 * acc_ref[...]).astype", "inaccurate"),
        ("acc_ref[...].astype", "(acc_ref[...] / 0.0).astype", "not_finite"),
        ("if k_size % block_k != 0:", "if False:", "not_finite"),
    ],
)
def test_a_wrong_kernel_is_rejected(
    lower: Lower, run_step: Run, tmp_path: Path, find: str, replace: str, kind: str
) -> None:
    lower(SEED.replace(find, replace).replace("BLOCK_K = 512", "BLOCK_K = 128"))
    report = _check(run_step, tmp_path)
    assert (report["verdict"], report["kind"]) == ("rejected", kind)


def _judge(change: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]) -> dict[str, Any]:
    oracle = np.random.default_rng(1).standard_normal((200, 136)).astype(np.float32)
    signature = {"outputs": [{**SIGNATURE["outputs"][0], "dtype": "float32"}]}
    expected = {"oracle_0": oracle, "error_0": np.float64(1e-3)}
    return check.judge([change(oracle.copy())], expected, signature, TOLERANCE)


def test_outputs_are_compared_element_by_element() -> None:
    def one_off(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        values[7, 3] += 1
        return values

    assert _judge(lambda values: values)["verdict"] == "ok"
    report = _judge(one_off)
    assert report["kind"] == "inaccurate"
    assert "1 of 27200 elements are off; the worst at [7, 3]" in report["reason"]
    assert _judge(lambda values: values[:1])["kind"] == "wrong_shape"
    assert _judge(lambda values: values.astype(np.float64))["kind"] == "wrong_dtype"
    assert _judge(lambda values: values * np.nan)["kind"] == "not_finite"


def test_noise_beyond_the_references_own_is_rejected() -> None:
    report = _judge(lambda values: values + np.float32(2e-3))
    assert report["kind"] == "inaccurate"
    assert "2.00x the reference's own, limit 1.5x" in report["reason"]


def test_reasons_are_one_line_without_what_differs_between_runs() -> None:
    text = "\n  Error at 0x7f12ab in /home/me/x/y.py\nmore"
    assert verdict.rejected("crashed", text)["reason"] == "Error at 0x… in y.py"
