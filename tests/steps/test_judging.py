"""Tests of compile, expect and check: verdicts, and the same bytes every time."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import SIGNATURE, SMALL, Lower, Run

from judge import comparison, judge_inputs
from judge.judge_inputs import Array
from programs import program
from reports import verdict
from steps import check, expect

SEED = (SMALL / "kernel.py").read_text()
TOLERANCE = {"rtol": 1e-2, "atol": 1e-2, "max_error_ratio": 1.5}


def test_what_was_turned_down_before_is_not_reached(run_step: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "any").write_bytes(b"{}")
    judged = {"expected": "empty", "signature": "signature.json", "tolerance": "any", "gate": "p.json"}
    # Either these steps get no program, or they get a program and a shut gate.
    run_step(
        "contract",
        device_program="empty",
        judge_program="empty",
        jaxpr="empty",
        signature="signature.json",
        terms="any",
        out="p.json",
    )
    (tmp_path / "shut.json").write_text(json.dumps({"verdict": "not_reached"}))
    for given, gate in (("empty", "p.json"), ("any", "shut.json")):
        judged["gate"] = gate
        run_step("compile", program=given, gate=gate, topology="tpu7x:2x2x1", out="c.json", dumps="c.tgz")
        run_step("check", program=given, secret="empty", **judged, out="k.json")
        run_step("interpret", jaxpr=given, secret="empty", **judged, out="i.json")
        for name in ("p.json", "c.json", "k.json", "i.json"):
            assert json.loads((tmp_path / name).read_text()) == {"verdict": "not_reached"}, name


def _check(run_step: Run, tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "tolerance.json").write_text(json.dumps(TOLERANCE))
    (tmp_path / "secret").write_text("not for candidates")
    (tmp_path / "gate.json").write_text(json.dumps({"verdict": "ok"}))
    flags = {"signature": "signature.json", "secret": "secret"}
    expected = run_step("expect", source=SMALL / "reference.py", entry="matmul", out="expected.npz", **flags)
    assert expected.returncode == 0, expected.stderr
    done = run_step(
        "check",
        program="k.judge",
        gate="gate.json",
        expected="expected.npz",
        tolerance="tolerance.json",
        out="k.check",
        **flags,
    )
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads((tmp_path / "k.check").read_text())
    return report


def test_a_right_kernel_passes(lower: Lower, run_step: Run, tmp_path: Path) -> None:
    lower(SEED)
    report = _check(run_step, tmp_path)
    assert report["verdict"] == "ok"
    assert report["outputs"][0]["elements"] == 200 * 136
    assert sorted(report["sets"]) == sorted(drawn.name for drawn in judge_inputs.SETS if drawn.of_ends is None)
    first = (tmp_path / "expected.npz").read_bytes()
    _check(run_step, tmp_path)
    assert (tmp_path / "expected.npz").read_bytes() == first


@pytest.mark.parametrize(
    ("find", "replace", "kind"),
    [
        ("acc_ref[...].astype", "(1.05 * acc_ref[...]).astype", "incorrect"),
        ("acc_ref[...].astype", "(acc_ref[...] / 0.0).astype", "non-finite"),
        ("if k_size % block_k != 0:", "if False:", "non-finite"),
    ],
)
def test_a_wrong_kernel_is_rejected(
    lower: Lower, run_step: Run, tmp_path: Path, find: str, replace: str, kind: str
) -> None:
    lower(SEED.replace(find, replace).replace("BLOCK_K = 512", "BLOCK_K = 128"))
    report = _check(run_step, tmp_path)
    assert (report["verdict"], report["kind"]) == ("rejected", kind)


def _oracle() -> tuple[dict[str, Any], comparison.Expected]:
    """Returns a signature of one float32 output, and the values that are expected of the output."""
    signature: dict[str, Any] = {"inputs": [], "outputs": [{**SIGNATURE["outputs"][0], "dtype": "float32"}]}
    oracle = np.random.default_rng(1).standard_normal((200, 136)).astype(np.float32)
    name = f"{judge_inputs.PUBLIC.name}.0"
    figures = {f"{name}.error": np.float64(1e-3), f"{name}.worst": np.full(judge_inputs.ORDERS, 4e-3)}
    return signature, {f"{name}.oracle": oracle, **figures}


def _judge(change: Callable[[Array], Array], again: Callable[[Array], Array] | None = None) -> dict[str, Any]:
    signature, expected = _oracle()
    oracle = expected[f"{judge_inputs.PUBLIC.name}.0.oracle"]
    runs = [(judge_inputs.PUBLIC, [each(oracle.copy())]) for each in (change, again or change)]
    return check.judge(runs, expected, signature, TOLERANCE)


def _one_off(values: Array) -> Array:
    values[7, 3] += 1
    return values


def test_outputs_are_compared_element_by_element() -> None:
    assert _judge(lambda values: values)["verdict"] == "ok"
    report = _judge(_one_off)
    assert report["kind"] == "incorrect"
    assert "1 of 27200 elements are off; the worst at [7, 3]" in report["reason"]
    assert report["evidence"]["element"]["at"] == [7, 3]
    assert report["evidence"]["inputs"] == "normal"
    assert re.search(r" \(off by 1, the bound is 0\.\d+, the unit 0\.99\d\)$", report["reason"])
    assert _judge(lambda values: values * np.nan)["kind"] == "non-finite"


@pytest.mark.parametrize(
    ("dtype", "scale", "outliers", "unit"),
    [
        ("float32", 1e12, 1, 1e12),
        ("float32", 1.0, 1, 1.0),
        ("float32", 1e-3, 1, 1e-3),
        # A few elements are large, but the unit of the other elements does not grow with them.
        ("float32", 1.0, 1e6, 4 * 0.6745),
        ("float32", 1e-3, 1e6, 1.0),
        ("int32", 1000.0, 1, 1.0),
    ],
)
def test_the_unit_is_the_size_of_most_elements(dtype: str, scale: float, outliers: float, unit: float) -> None:
    values = np.random.default_rng(1).standard_normal((200, 136)) * scale
    values[:3] *= outliers
    declared = {"name": "out", "shape": [200, 136], "dtype": dtype}
    output = comparison.Output(declared, judge_inputs.PUBLIC, values, values, None, 0.0, np.zeros(judge_inputs.ORDERS))
    assert comparison.unit_of(output) == pytest.approx(unit, rel=0.05)


def test_small_elements_are_not_granted_what_large_ones_err_by() -> None:
    declared = {"name": "out", "shape": [200, 136], "dtype": "bfloat16"}
    right = np.random.default_rng(1).standard_normal((200, 136)) ** 9
    expected: comparison.Expected = {}
    expect._add(expected, "normal.0", _narrowed(right), right, judge_inputs.PUBLIC, declared, 0, "")
    assert expected["normal.0.worst"].shape == (judge_inputs.ORDERS,)
    assert expected["normal.0.worst"].max() == np.abs(_narrowed(right) - right).max()

    def passes(values: Array) -> bool:
        output = comparison.output_of(values, expected, judge_inputs.PUBLIC, 0, declared)
        try:
            comparison.check_elements(output, TOLERANCE)
        except comparison.Refusal:
            return False
        return True

    assert passes(_narrowed(right))
    assert passes(_narrowed(right * (1 + 1e-3)))
    assert not passes(np.where(np.abs(right) < 20, 0, right))


def _narrowed(values: Array) -> Array:
    return values.astype(program.dtype_of("bfloat16")).astype(np.float64)


def test_what_is_left_of_large_terms_is_granted_what_they_err_by() -> None:
    generator = np.random.default_rng(1)
    right, noise = generator.standard_normal((200, 136)), 0.3 * generator.standard_normal((2, 200, 136))
    declared = {"name": "out", "shape": [200, 136], "dtype": "float32"}
    expected: comparison.Expected = {}
    expect._add(expected, "normal.0", right + noise[0], right, judge_inputs.PUBLIC, declared, 0, "")
    comparison.check_output(
        comparison.output_of(right + noise[1], expected, judge_inputs.PUBLIC, 0, declared), TOLERANCE
    )


@pytest.mark.parametrize(
    ("count", "off", "passes"),
    [
        (1, 0.24, True),
        (1, 0.26, False),  # `off` is a share of the root mean square
        (1, np.nan, False),
        (50, 0.04, True),
        (51, 0.04, False),  # `count` is out of 25,000 elements
        (50, 0.06, False),  # the sum is too large
    ],
)
def test_a_few_elements_may_be_off_by_more(count: int, off: float, passes: bool) -> None:
    right = np.random.default_rng(1).standard_normal((200, 125))
    declared = {"name": "out", "shape": [200, 125], "dtype": "float32"}
    expected: comparison.Expected = {}
    expect._add(expected, "hidden.0", right, right, judge_inputs.HIDDEN, declared, 0, "")
    got = right.copy()
    got.flat[:count] += off * np.sqrt(np.mean(right * right))
    output = comparison.output_of(got, expected, judge_inputs.HIDDEN, 0, declared)
    if passes:
        comparison.check_elements(output, TOLERANCE)
    else:
        with pytest.raises(comparison.Refusal, match=f"{count} of 25000 elements are off"):
            comparison.check_elements(output, TOLERANCE)


def test_the_same_call_gives_the_same_bits() -> None:
    report = _judge(lambda values: values, lambda values: np.nextafter(values, 9))
    assert (report["kind"], report["reason"]) == ("nondeterministic", "'out': two identical calls gave different bits")


def test_shapes_and_dtypes_are_those_declared() -> None:
    signature, _ = _oracle()
    right = {"shape": [200, 136], "dtype": "float32"}
    comparison.check_shapes([right], signature)
    for outputs in ([], [right, right], [{**right, "shape": [200, 1]}], [{**right, "dtype": "float64"}]):
        with pytest.raises(comparison.Refusal) as refusal:
            comparison.check_shapes(outputs, signature)
        assert refusal.value.kind == "contract"


def test_noise_beyond_the_references_own_is_rejected() -> None:
    report = _judge(lambda values: values + np.float32(2e-3))
    assert report["kind"] == "precision"
    assert "2.00 times the reference's own, the limit is 1.5 times" in report["reason"]


def test_inputs_are_the_judges_own(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = {"name": "x", "shape": [64, 32], "dtype": "float32"}
    ranged = {**entry, "range": [-1, 0.5]}
    counted = {"name": "n", "shape": [500], "dtype": "int32", "range": [1, 3]}
    signature = {"inputs": [entry, ranged, counted]}
    for drawn in judge_inputs.SETS:
        first, again, other = (judge_inputs.draw(signature, drawn, secret) for secret in ("a", "a", "b"))
        assert all(a.tobytes() == b.tobytes() for a, b in zip(first, again, strict=True))
        assert (first[0].tobytes() == other[0].tobytes()) != drawn.is_secret
        assert -1 <= first[1].min() <= first[1].max() <= 0.5
        assert set(first[2]) == {"lowest": {1}, "highest": {3}, "sparse": {1, 3}}.get(drawn.name, {1, 2, 3})
        assert np.isfinite(first[0]).all()
    assert judge_inputs.draw(signature, number=1)[0].tobytes() != judge_inputs.draw(signature)[0].tobytes()
    # A float8's range is narrow: its largest value takes the place of values that are large for other types.
    narrow = {"inputs": [{**entry, "dtype": "float8_e4m3fn"}]}
    assert np.isfinite(judge_inputs.draw(narrow, _set("large"))[0].astype(np.float32)).all()


def _set(name: str) -> judge_inputs.InputSet:
    return next(drawn for drawn in judge_inputs.SETS if drawn.name == name)


def test_some_inputs_are_all_negative() -> None:
    signature = {"inputs": [{"name": "x", "shape": [64, 32], "dtype": "float32"}]}
    assert judge_inputs.draw(signature, _set("negative"), "a")[0].max() < 0


@pytest.mark.parametrize(("name", "low", "high"), [("large", 4, 128), ("small", 2**-12, 0.5)])
def test_how_large_or_small_an_input_is_hangs_on_the_secret(name: str, low: float, high: float) -> None:
    signature = {"inputs": [{"name": name, "shape": [64, 32], "dtype": "float32"} for name in ("x", "y")]}
    drawn = [judge_inputs.draw(signature, _set(name), secret) for secret in "abcdefgh"]
    sizes = np.array([[values.std() for values in arrays] for arrays in drawn])
    assert 0.9 * low < sizes.min() < sizes.max() < 1.1 * high
    orders = np.log2(sizes)
    assert np.ptp(orders, axis=0).min() > 2
    assert np.abs(orders[:, 0] - orders[:, 1]).max() > 1


def test_only_tasks_with_whole_numbers_are_judged_on_the_ends_of_their_ranges() -> None:
    x = {"name": "x", "shape": [4], "dtype": "float32"}
    ids = {"name": "ids", "shape": [4], "dtype": "int32", "range": [0, 3]}
    ends = {"lowest", "highest"}
    assert not ends & {drawn.name for drawn in judge_inputs.sets_of({"inputs": [x]})}
    assert ends <= {drawn.name for drawn in judge_inputs.sets_of({"inputs": [x, ids]})}


@pytest.mark.parametrize("shape", [(1, 64, 32), (2, 1, 16), (64, 32), (4,)])
def test_sparse_inputs_are_never_all_zero(shape: tuple[int, ...]) -> None:
    signature = {"inputs": [{"name": "x", "shape": list(shape), "dtype": "float32"}]}
    (drawn,) = (one for one in judge_inputs.SETS if one.name == "sparse")
    values = [judge_inputs.draw(signature, drawn, secret)[0] for secret in "abcdefgh"]
    assert any(one.any() for one in values)
    rows = np.moveaxis(values[0], next(axis for axis, size in enumerate(shape) if size >= 4), 0)
    assert not rows[0].any()
    assert np.count_nonzero(values[0]) < values[0].size / 2


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "float8_e4m3fn"])
def test_inputs_are_never_denormal_for_hardware_takes_those_for_equal(dtype: str) -> None:
    signature = {"inputs": [{"name": "x", "shape": [64, 32], "dtype": dtype}]}
    least = float(program.float_info(program.dtype_of(dtype)).tiny)
    (drawn,) = (one for one in judge_inputs.SETS if one.name == "denormal")
    sizes = np.abs(judge_inputs.draw(signature, drawn, "a")[0].astype(np.float64))
    assert 0.1 < np.mean(sizes == 0) < 0.4
    assert sizes[sizes > 0].min() >= least
    assert sizes.max() < 16 * least
    assert len(np.unique(sizes)) > 8


def test_reasons_are_one_line_without_what_differs_between_runs() -> None:
    text = "\n  Error at 0x7f12ab in /home/me/x/y.py\nmore"
    assert verdict.rejected("crash", text)["reason"] == "Error at 0x… in y.py"
    text = (
        "no such thing: see https://a.b/c/d. Please file an issue at https://github.com/jax-ml/jax/issues/new/choose."
    )
    assert verdict.rejected("crash", text)["reason"] == "no such thing: see https://a.b/c/d."


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("An error. Please file a bug at https://github.com/x/y. Error details: op", "An error. Error details: op"),
        ("An error. If this is wrong, please file a bug against XLA:TPU.", "An error."),
        ("An error. This is an internal bug, please file a bug report with all of it.", "An error."),
        ("Not aligned, please file a bug to a-team@", "Not aligned"),
        ("No memory. See go/scoped-vmem for more details.", "No memory."),
        ("An error (please report this at https://a.b/c) here", "An error here"),
        ("Please use jnp.float32: see https://a.b", "Please use jnp.float32: see https://a.b"),
        ("open: file x cannot be read", "open: file x cannot be read"),
    ],
)
def test_what_a_compiler_asks_of_its_authors_users_is_left_out(text: str, line: str) -> None:
    assert verdict.one_line(text) == line


def test_reasons_hold_no_orders_to_a_terminal() -> None:
    # The characters that engine/core/text/plain_text.cc removes: C0, DEL, C1, direction marks, and lone surrogates.
    codes = [*range(0x20), *range(0x7F, 0xA0), 0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)]
    for code in [*codes, 0xFEFF, 0xD800, 0xDFFF]:
        line = verdict.one_line(f"before{chr(code)}after")
        assert chr(code) not in line, hex(code)
        assert line.startswith("before"), hex(code)
    assert verdict.one_line("Grüße, 你好 🚀") == "Grüße, 你好 🚀"
