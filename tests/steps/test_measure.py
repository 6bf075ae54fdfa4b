"""Measure: samples of two programs side by side, and verdicts of what cannot be timed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import SIGNATURE, SMALL, Lower, Run

import measure

SEED = (SMALL / "kernel.py").read_text()

Measure = Callable[..., dict[str, Any]]


@pytest.fixture
def measured(run_step: Run, tmp_path: Path) -> Measure:
    """Measures two programs and returns the report."""

    def run(program: str, anchor: str, **flags: Any) -> dict[str, Any]:
        flags = {"device": measure.device_name(), "protocol": measure.PROTOCOL, "processes": 3, "blocks": 3, **flags}
        done = run_step(
            "measure", program=program, anchor=anchor, signature="signature.json", out="s.json", depfile="s.d", **flags
        )
        assert done.returncode == 0, done.stderr
        report: dict[str, Any] = json.loads((tmp_path / "s.json").read_text())
        return report

    return run


def test_samples_are_of_both_programs_in_every_block(lower: Lower, measured: Measure, tmp_path: Path) -> None:
    lower(SEED)
    report = measured("k.cpu", "k.cpu")
    assert (report["verdict"], report["format"], report["clock"]) == ("ok", measure.FORMAT, "cpu time")
    assert [len(blocks) for blocks in report["processes"]] == [3, 3, 3]
    for blocks in report["processes"]:
        for block in blocks:
            assert len(block["anchor"]) == len(block["candidate"]) == 2
            assert all(0 < seconds < 60 for seconds in block["anchor"] + block["candidate"])
    assert "rules/steps/measure.py" in (tmp_path / "s.d").read_text()


def test_blocks_are_symmetric_and_start_with_either(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    class Stopwatch:
        def __init__(self, name: str, content: bytes, signature: dict[str, Any]) -> None:
            self.name = name
            self.seconds = {b"slow": 2.0, b"fast": 1.0}[content]

        def warm_up(self) -> None:
            calls.append("warm " + self.name)

        def sample(self) -> float:
            calls.append(self.name)
            return self.seconds

    monkeypatch.setattr(measure, "_Timed", Stopwatch)
    monkeypatch.setattr(measure.gc, "disable", lambda: None)
    monkeypatch.setenv("XLA_FLAGS", "")
    answer = json.loads(measure._measure({"anchor": b"fast", "candidate": b"slow"}, SIGNATURE, [True, False]))
    assert answer["blocks"] == [{"anchor": [1.0, 1.0], "candidate": [2.0, 2.0]}] * 2
    anchor_first = ["anchor", "candidate", "candidate", "anchor"]
    candidate_first = ["candidate", "anchor", "anchor", "candidate"]
    assert calls == ["warm anchor", "warm candidate", *anchor_first, *candidate_first]


def test_another_device_or_protocol_is_a_fault(run_step: Run, tmp_path: Path) -> None:
    (tmp_path / "p").write_bytes(b"")
    for device, protocol in (("cpu:another", measure.PROTOCOL), (measure.device_name(), "other-1")):
        done = run_step(
            "measure", program="p", anchor="p", signature="signature.json", device=device, protocol=protocol, out="s"
        )
        assert done.returncode == 3
        assert "is asked for, this is" in done.stderr
        assert not (tmp_path / "s").exists()


def test_what_was_turned_down_before_is_not_reached(measured: Measure, tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    assert measured("empty", "empty") == {"verdict": "not_reached"}


def test_a_program_that_fails_or_has_no_end_is_a_verdict(lower: Lower, measured: Measure, tmp_path: Path) -> None:
    lower(SEED)
    (tmp_path / "broken").write_bytes((tmp_path / "k.cpu").read_bytes()[:-100])
    report = measured("broken", "k.cpu")
    assert (report["verdict"], report["kind"]) == ("rejected", "crash")
    endless = SEED.replace(
        "def matmul(x, y):",
        "def matmul(x, y):\n    import jax\n\n"
        "    x = jax.lax.while_loop(lambda v: v[0, 0] == v[0, 0], lambda v: v + 1, x)\n"
        "    return _matmul(x, y)\n\n\ndef _matmul(x, y):",
    )
    assert lower(endless, name="endless")["verdict"] == "ok"
    report = measured("endless.cpu", "k.cpu", cpu_seconds=4)
    assert (report["verdict"], report["kind"]) == ("rejected", "timeout")


def test_outputs_of_timed_calls_are_looked_at(lower: Lower, tmp_path: Path) -> None:
    lower(SEED)
    timed = measure._Timed("candidate", (tmp_path / "k.cpu").read_bytes(), SIGNATURE)
    assert timed.sample() > 0
    timed._expected = ["other"] * len(timed._expected)
    with pytest.raises(measure._OtherOutputs):
        timed.sample()
