"""Tests of measure: samples of two programs side by side, and verdicts on programs that cannot be timed."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import FORKS, SIGNATURE, SMALL, Lower, Run

from judge import comparison, judge_inputs
from judge.timed_outputs import Case
from process.child import Limits, run_in_child
from steps import measure

SEED = (SMALL / "kernel.py").read_text()

Measure = Callable[..., dict[str, Any]]


TOLERANCE = {"rtol": 1e-2, "atol": 1e-2, "max_error_ratio": 1.5}
FILES = {"signature": "signature.json", "expected": "expected.npz", "tolerance": "tolerance.json", "secret": "secret"}


@pytest.fixture
def case(run_step: Run, tmp_path: Path) -> Case:
    """Writes the files of the timed case, and returns the case."""
    (tmp_path / "tolerance.json").write_text(json.dumps(TOLERANCE))
    (tmp_path / "secret").write_text("a secret")
    done = run_step(
        "expect",
        source=SMALL / "reference.py",
        entry="matmul",
        signature="signature.json",
        secret="secret",
        out="expected.npz",
    )
    assert done.returncode == 0, done.stderr
    expected = comparison.read_expected((tmp_path / "expected.npz").read_bytes())
    return Case(expected, SIGNATURE, TOLERANCE, "a secret")


@pytest.fixture
def measured(run_step: Run, case: Case, tmp_path: Path) -> Measure:
    """Measures two programs and returns the report."""

    def run(program: str, anchor: str, **flags: Any) -> dict[str, Any]:
        flags = {
            "device": measure.device_name(),
            "protocol": measure.PROTOCOL,
            "processes": 2,
            "runs": 2,
            "seconds": 0.4,
            **flags,
        }
        done = run_step("measure", program=program, anchor=anchor, out="s.json", depfile="s.d", **FILES, **flags)
        assert done.returncode == 0, done.stderr
        report: dict[str, Any] = json.loads((tmp_path / "s.json").read_text())
        return report

    return run


def test_samples_are_of_both_programs_in_every_block(lower: Lower, measured: Measure, tmp_path: Path) -> None:
    lower(SEED)
    report = measured("k.judge", "k.judge")
    assert (report["verdict"], report["format"], report["clock"]) == ("ok", measure.FORMAT, "cpu time")
    assert [run["process"] for run in report["runs"]] == [0, 0, 1, 1]
    for run in report["runs"]:
        assert len(run["anchor"]) == len(run["candidate"]) >= 1
        assert all(len(pair) == 2 for pair in run["anchor"] + run["candidate"])
        assert all(0 < seconds < 60 for pair in run["anchor"] + run["candidate"] for seconds in pair)
    assert "rules/steps/measure.py" in (tmp_path / "s.d").read_text()


def test_blocks_are_symmetric_and_start_with_either(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    class Stopwatch:
        def __init__(self, name: str, content: bytes, *_: Any) -> None:
            self.name = name
            self.seconds = float(content)
            self.calls = 2

        def warm_up(self, sample_seconds: float) -> None:
            assert sample_seconds >= measure._SHORTEST_SAMPLE
            calls.append("warm " + self.name)

        def sample(self, is_looked_at: bool) -> float:
            calls.append(self.name)
            return self.seconds

    class Draw:
        def __init__(self) -> None:
            self.numbers = [0.1, 0.9]

        def random(self) -> float:
            return self.numbers.pop(0)

        def integers(self, most: int) -> int:
            return 1

    monkeypatch.setattr(measure, "_Timed", Stopwatch)
    inputs = measure._Inputs(Case({}, {}, {}, ""), False, [], [])
    samples = measure._run({"anchor": b"1", "candidate": b"2"}, inputs, 24.0, Draw())  # type: ignore[arg-type]
    assert samples == {"anchor": [[1.0, 1.0]] * 2, "candidate": [[2.0, 2.0]] * 2}
    anchor_outside = ["anchor", "candidate", "candidate", "anchor"]
    candidate_outside = ["candidate", "anchor", "anchor", "candidate"]
    assert calls == ["warm anchor", "warm candidate", *anchor_outside, *candidate_outside]


def test_who_is_out_of_the_race_is_not_measured(lower: Lower, measured: Measure, tmp_path: Path) -> None:
    lower(SEED)
    (tmp_path / "race.json").write_text('{"is_in": false}')
    assert measured("k.judge", "k.judge", race="race.json") == {"verdict": "not_reached"}
    (tmp_path / "race.json").write_text('{"is_in": true}')
    assert measured("k.judge", "k.judge", race="race.json")["verdict"] == "ok"


@FORKS
def test_the_clock_does_not_go_by_ticks_under_a_limit(run_step: Run) -> None:
    def steps() -> bytes:
        readings = [measure._cpu_seconds() for _ in range(20000)]
        return str(min(b - a for a, b in itertools.pairwise(readings) if b > a)).encode()

    ending = run_in_child(steps, Limits(cpu_seconds=60, wall_seconds=60, memory_bytes=2**34))
    assert 0 < float(ending.answer) < 1e-4


def test_another_device_or_protocol_is_a_fault(run_step: Run, tmp_path: Path) -> None:
    (tmp_path / "p").write_bytes(b"")
    for device, protocol in (("cpu:another", measure.PROTOCOL), (measure.device_name(), "other-1")):
        done = run_step("measure", program="p", anchor="p", device=device, protocol=protocol, out="s", **FILES)
        assert done.returncode == 3
        assert "the pipeline asks for the " in done.stderr
        assert not (tmp_path / "s").exists()


def test_what_was_turned_down_before_is_not_reached(measured: Measure, tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    assert measured("empty", "empty") == {"verdict": "not_reached"}


def test_a_program_that_fails_or_has_no_end_is_a_verdict(lower: Lower, measured: Measure, tmp_path: Path) -> None:
    lower(SEED)
    (tmp_path / "broken").write_bytes((tmp_path / "k.judge").read_bytes()[:-100])
    report = measured("broken", "k.judge")
    assert (report["verdict"], report["kind"]) == ("rejected", "crash")
    endless = SEED.replace(
        "def matmul(x, y):",
        "def matmul(x, y):\n    import jax\n\n"
        "    x = jax.lax.while_loop(lambda v: v[0, 0] == v[0, 0], lambda v: v + 1, x)\n"
        "    return _matmul(x, y)\n\n\ndef _matmul(x, y):",
    )
    assert lower(endless, name="endless")["verdict"] == "ok"
    report = measured("endless.judge", "k.judge", cpu_seconds=4)
    assert (report["verdict"], report["kind"]) == ("rejected", "timeout")


def test_outputs_of_timed_calls_are_looked_at(lower: Lower, case: Case, tmp_path: Path) -> None:
    lower(SEED)
    drawn = [case.inputs(number) for number in range(measure._INPUT_SETS)]
    timed = measure._Timed("candidate", (tmp_path / "k.judge").read_bytes(), drawn, case.places(1), case)
    assert timed.sample(True) > 0
    timed._expected = ["other"] * len(timed._expected)
    assert timed.sample(False) > 0
    with pytest.raises(measure._OtherOutputs):
        timed.sample(True)


def test_timed_calls_are_held_against_the_oracle(lower: Lower, measured: Measure, tmp_path: Path) -> None:
    lower(SEED)
    off = SEED.replace("def matmul(x, y):", "def matmul(x, y):\n    return 2 * _matmul(x, y)\n\n\ndef _matmul(x, y):")
    assert lower(off, name="off")["verdict"] == "ok"
    (tmp_path / "contract.json").write_text('{"verdict": "ok"}')
    report = measured("off.judge", "k.judge", gate="contract.json")
    assert (report["verdict"], report["kind"]) == ("rejected", "incorrect")
    assert report["reason"].startswith("a timed call: 'out': ")
    # A baseline is the reference itself, so its outputs are not checked.
    assert measured("off.judge", "k.judge")["verdict"] == "ok"


def test_what_is_drawn_for_one_process_is_held_against_the_anchor(case: Case) -> None:
    generator = np.random.default_rng(1)
    anchor = [generator.standard_normal((200, 136)).astype(np.float32).reshape(-1)]
    places = case.places("a program", 1)
    case.check_beside([anchor[0] * 1.001], anchor, places)
    with pytest.raises(comparison.Refusal, match="1 of 27200 elements are off"):
        case.check_beside([np.where(np.arange(27200) == 5, 9, anchor[0])], anchor, places)


def test_where_the_anchor_is_not_finite_nothing_is_said(case: Case) -> None:
    anchor = [np.full(27200, -np.inf, np.float32)]
    anchor[0][5] = 1
    case.check_beside(anchor, anchor, case.places("a program", 1))
    with pytest.raises(comparison.Refusal, match="1 of 1 elements are off"):
        case.check_beside([anchor[0] + 1], anchor, case.places("a program", 1))


def test_no_process_gets_what_another_one_got(case: Case) -> None:
    first, again, other = (case.inputs(number) for number in (0, 0, 1))
    np.testing.assert_array_equal(first[0], again[0])
    assert not np.array_equal(first[0], other[0])
    public = judge_inputs.draw(SIGNATURE)
    assert not np.array_equal(first[0], public[0])


def test_a_device_is_one_plain_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: "model name\t: Intel(R) Xeon(R) CPU @ 2.20GHz\n")
    assert measure.device_name() == "cpu:Intel-R-Xeon-R-CPU-2.20GHz"
