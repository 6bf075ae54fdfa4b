"""Tests that every kernel of the repository must pass, with each implementation and for each TPU."""

from __future__ import annotations

import copy
import functools
import json
from pathlib import Path
from typing import Any

import jax
import jax.extend
import numpy as np
import pytest
from conftest import FOLDERS, IS_FULL, Run, api_of, task_of
from corpus import SECRET, Case

from judge import comparison, judge_inputs
from programs import program
from steps import expect

# CI has time for only one secret; .ci/full tries more.
SECRETS = [SECRET, "another", "a third", "a fourth"] if IS_FULL else [SECRET]
IMPLEMENTATIONS = ["pallas_interpret", "xla", "reference"] if IS_FULL else ["pallas_interpret"]
# The tolerance in float32, where only rounding may make a difference. The judge tests the spec's own dtypes.
FLOAT32 = {"rtol": 1e-4, "atol": 1e-4, "max_error_ratio": 8.0}

of_all = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)


def small_cases(folder: Path) -> list[Case]:
    found = [case for case in task_of(folder).cases if "ci" in case.tags]
    assert found
    return found if IS_FULL else found[:1]


def function_of(folder: Path, signature: dict[str, Any], implementation: str) -> Any:
    """Returns the function that the judge would call: with gradients, if the spec declares gradients."""
    entry = getattr(api_of(folder), task_of(folder).entry)
    return jax.jit(program.with_gradients(functools.partial(entry, implementation=implementation), signature))


def outputs_of(folder: Path, signature: dict[str, Any], implementation: str) -> list[np.ndarray[Any, Any]]:
    outputs = function_of(folder, signature, implementation)(*judge_inputs.draw(signature))
    return [np.asarray(leaf) for leaf in jax.tree.leaves(outputs)]


@functools.cache
def oracle_of(folder: Path, signature: str, secret: str = SECRET) -> comparison.Expected:
    return expect.expected(
        expect.functions(str(folder / "reference.py"), task_of(folder).entry), json.loads(signature), secret
    )


@of_all
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_every_implementation_gives_what_the_oracle_gives(folder: Path, implementation: str) -> None:
    for case in small_cases(folder):
        signature = case.files["signature"]
        expected = oracle_of(folder, json.dumps(signature))
        arrays = outputs_of(folder, signature, implementation)
        for number, (got, declared) in enumerate(zip(arrays, signature["outputs"], strict=True)):
            assert (list(got.shape), got.dtype) == (declared["shape"], declared["dtype"])
            output = comparison.output_of(got, expected, judge_inputs.PUBLIC, number, declared)
            comparison.check_output(output, case.files["tolerance"])


@of_all
def test_the_judge_takes_the_kernel_whatever_its_secret_is(folder: Path) -> None:
    for case in small_cases(folder):
        signature, tolerance = case.files["signature"], case.files["tolerance"]
        function = function_of(folder, signature, "pallas_interpret")
        for secret in SECRETS:
            expected = oracle_of(folder, json.dumps(signature), secret)
            for drawn in comparison.known_sets(expected):
                leaves = jax.tree.leaves(function(*judge_inputs.draw(signature, drawn, secret)))
                for number, (leaf, declared) in enumerate(zip(leaves, signature["outputs"], strict=True)):
                    got = judge_inputs.picked(np.asarray(leaf), expected.get(f"{drawn.name}.{number}.places"))
                    comparison.check_output(comparison.output_of(got, expected, drawn, number, declared), tolerance)


def in_float32(case: Case) -> Case:
    wide = Case(case.name, case.tags, copy.deepcopy(case.files))
    for entry in (*wide.files["signature"]["inputs"], *wide.files["signature"]["outputs"]):
        if entry["dtype"] == "bfloat16":
            entry["dtype"] = "float32"
    return wide


@of_all
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_every_implementation_takes_float32(folder: Path, implementation: str) -> None:
    if not IS_FULL:
        pytest.skip("THOROUGH=all, as in .ci/full")
    if "float32" not in api_of(folder).DTYPES:
        pytest.skip(f"{folder.name} takes {', '.join(api_of(folder).DTYPES)}")
    for case in map(in_float32, small_cases(folder)):
        signature = case.files["signature"]
        arrays = outputs_of(folder, signature, implementation)
        expected = oracle_of(folder, json.dumps(signature))
        for number, (got, declared) in enumerate(zip(arrays, signature["outputs"], strict=True)):
            assert got.dtype == declared["dtype"]
            output = comparison.output_of(got, expected, judge_inputs.PUBLIC, number, declared)
            comparison.check_finite(output)
            comparison.check_elements(output, FLOAT32)


@of_all
def test_the_compiler_of_every_tpu_takes_it(folder: Path, run_step: Run, tmp_path: Path) -> None:
    cases = small_cases(folder)
    for case in cases:
        at = tmp_path / case.name
        at.mkdir()
        (at / "signature.json").write_text(json.dumps(case.files["signature"]))
        outputs = {name: at / name for name in ("device_out", "judge_out", "jaxpr_out", "operands_out", "depfile")}
        source, entry = folder / "kernel.py", task_of(folder).entry
        signature, out = at / "signature.json", at / "lower.json"
        target = {"platform": "tpu", "device_kind": "TPU7x"}
        run_step("lower", source=source, entry=entry, signature=signature, out=out, **target, **outputs)
        assert json.loads(out.read_text())["verdict"] == "ok", out.read_text()
        others = ("v6e:2x2", "v5p:2x2x1") if IS_FULL and case == cases[0] else ()
        for topology in ("tpu7x:2x2x1", *others):
            report, dumps = (at / f"{topology}.{kind}" for kind in ("json", "tgz"))
            run_step("compile", program=at / "device_out", topology=topology, out=report, dumps=dumps)
            assert json.loads(report.read_text())["verdict"] == "ok", (topology, report.read_text())


@of_all
def test_every_call_of_pallas_says_what_it_costs(folder: Path) -> None:
    signature = small_cases(folder)[0].files["signature"]
    function = function_of(folder, signature, "pallas_interpret")
    calls = list(pallas_calls(jax.make_jaxpr(function)(*program.shapes_of(signature["inputs"])).jaxpr))
    assert calls
    for call in calls:
        assert call.params["cost_estimate"] is not None
        assert call.params["cost_estimate"].flops > 0


def pallas_calls(jaxpr: Any) -> Any:
    for equation in jaxpr.eqns:
        if equation.primitive.name == "pallas_call":
            yield equation
        for inner in jax.extend.core.jaxprs_in_params(equation.params):
            yield from pallas_calls(inner)


@of_all
def test_without_a_tpu_xla_serves_and_a_tpu_s_kernel_is_refused_in_words(folder: Path) -> None:
    signature = small_cases(folder)[0].files["signature"]
    entry = getattr(api_of(folder), task_of(folder).entry)
    cotangents = len(signature["outputs"]) - len(signature["gradients"]) if signature.get("gradients") else 0
    inputs = judge_inputs.draw(signature)[: len(signature["inputs"]) - cotangents]
    with pytest.warns(UserWarning, match="'pallas_tpu': it needs the backend 'tpu'.*trying 'xla'"):
        entry(*inputs)
    with pytest.raises(ValueError, match="implementation 'pallas_tpu': it needs the backend 'tpu'"):
        entry(*inputs, implementation="pallas_tpu")
