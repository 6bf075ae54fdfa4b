"""Tests of large timed cases: correct kernels pass, and kernels that leave work out only in these cases are found."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from conftest import FORKS, Run

from interpreter import kernel_steps
from judge import comparison, interpret, judge_inputs, values
from process import sandbox
from process.child import Ending, Limits
from reports import verdict

LIMITS = Limits(cpu_seconds=60, wall_seconds=240, memory_bytes=12 * 2**30)
TOLERANCE = {"rtol": 1e-2, "atol": 1e-2, "max_error_ratio": 2.0}
HEAD = """
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

F = jnp.float32
"""


def _entries(**shapes: Any) -> list[dict[str, Any]]:
    return [{"name": name, "shape": list(shape), "dtype": dtype} for name, (*shape, dtype) in shapes.items()]


PRODUCT = {
    "inputs": _entries(a=(2048, 512, "bfloat16"), b=(512, 1024, "bfloat16")),
    "outputs": _entries(c=(2048, 1024, "bfloat16")),
}


PRODUCT_REFERENCE = """
import jax.numpy as jnp


def f(a, b):
    wide = jnp.promote_types(a.dtype, jnp.float32)
    return jnp.matmul(a, b, preferred_element_type=wide).astype(a.dtype)
"""

PRODUCT_KERNEL = (
    HEAD
    + """
def body(a_ref, b_ref, c_ref, sum_ref, seen_ref):
    i, k = pl.program_id(0), pl.program_id(2)
    FIRST

    @pl.when(k == 0)
    def _():
        sum_ref[...] = jnp.zeros_like(sum_ref)

    sum_ref[...] += jnp.dot(a_ref[:, :KEPT], b_ref[:KEPT], preferred_element_type=F)

    @pl.when(k == pl.num_programs(2) - 1)
    def _():
        c_ref[...] = sum_ref[...].astype(c_ref.dtype)


def f(a, b):
    (m, k), n = a.shape, b.shape[1]
    return pl.pallas_call(
        body,
        grid=(m // 256, n // 256, k // 128),
        in_specs=[pl.BlockSpec((256, 128), lambda i, j, k: (i, k)), pl.BlockSpec((128, 256), lambda i, j, k: (k, j))],
        out_specs=pl.BlockSpec((256, 256), lambda i, j, k: (i, j)),
        out_shape=jax.ShapeDtypeStruct((m, n), a.dtype),
        scratch_shapes=[pltpu.VMEM((256, 256), F), pltpu.SMEM((1,), jnp.int32)],
    )(a, b)
"""
)

RUNNING = {"inputs": _entries(x=(4, 2048, 128, "float32")), "outputs": _entries(y=(4, 2048, 128, "float32"))}


RUNNING_REFERENCE = "import jax.numpy as jnp\n\n\ndef f(x):\n    return jnp.cumsum(x, axis=1)\n"

RUNNING_KERNEL = (
    HEAD
    + """
def body(x_ref, y_ref, sum_ref):
    @pl.when(pl.program_id(1) == FIRST)
    def _():
        sum_ref[...] = jnp.zeros_like(sum_ref)

    x = x_ref[0]
    rows = jax.lax.broadcasted_iota(jnp.int32, (128, 128), 0)
    columns = jax.lax.broadcasted_iota(jnp.int32, (128, 128), 1)
    y_ref[0] = jnp.dot((columns <= rows).astype(F), x, precision="highest") + sum_ref[...]
    sum_ref[...] += x.sum(axis=0, keepdims=True)


def f(x):
    block = pl.BlockSpec((1, 128, 128), lambda b, t: (b, t, 0))
    return pl.pallas_call(
        body, grid=(4, 16), in_specs=[block], out_specs=block, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        scratch_shapes=[pltpu.VMEM((1, 128), F)],
    )(x)
"""
)


@pytest.fixture
def judged(run_step: Run, tmp_path: Path) -> Any:
    """Lowers a kernel, and returns the step's report on it."""

    def run(kernel: str, reference: str, signature: dict[str, Any]) -> dict[str, Any]:
        texts = {"kernel.py": kernel, "reference.py": reference, "secret": "not for candidates"}
        documents = {"signature.json": signature, "tolerance.json": TOLERANCE, "contract.json": {"verdict": "ok"}}
        texts |= {name: json.dumps(content) for name, content in documents.items()}
        for name, text in texts.items():
            (tmp_path / name).write_text(text)
        outputs = {f"{name}_out": f"k.{name}" for name in ("device", "judge", "jaxpr", "operands")}
        of_case = {"signature": "signature.json", "secret": "secret"}
        done = [
            run_step(
                "lower",
                source="kernel.py",
                entry="f",
                signature="signature.json",
                platform="tpu",
                device_kind="TPU7x",
                out="l.json",
                **outputs,
            ),
            run_step("expect", source="reference.py", entry="f", at_places=1, out="expected.npz", **of_case),
            run_step(
                "values",
                jaxpr="k.jaxpr",
                gate="contract.json",
                expected="expected.npz",
                tolerance="tolerance.json",
                out="values.json",
                **of_case,
            ),
        ]
        assert all(one.returncode == 0 for one in done), [one.stderr for one in done]
        assert json.loads((tmp_path / "l.json").read_text())["verdict"] == "ok", (tmp_path / "l.json").read_text()
        report: dict[str, Any] = json.loads((tmp_path / "values.json").read_text())
        return report

    return run


def test_a_right_kernel_passes_by_a_few_of_its_steps(judged: Any) -> None:
    report = judged(PRODUCT_KERNEL.replace("FIRST", "").replace("KEPT", "128"), PRODUCT_REFERENCE, PRODUCT)
    assert report["verdict"] == "ok"
    # Four blocks of each group are compared, because they cost little.
    assert report["blocks"] == [4, 4]
    assert report["steps"] <= 4 * 16
    assert report["all_steps"] == 4 * len(judge_inputs.TIMED) * 8 * 4 * 4


def test_blocks_that_differ_are_asked_of_a_group() -> None:
    for group in values.asked_of(PRODUCT, "s", b"p"):
        assert len({str(blocks) for blocks in group}) > 1


def test_no_more_blocks_are_looked_at_than_may_be_paid_for(judged: Any) -> None:
    # The time of this loop is not known beforehand, so only one block of each group is compared.
    loop = "c_ref[...] = jax.lax.while_loop(lambda c: c[0] < i, lambda c: (c[0] + 1, -(-c[1])), (0, sum_ref[...]))[1]"
    source = PRODUCT_KERNEL.replace("FIRST", "").replace("KEPT", "128")
    report = judged(source.replace("c_ref[...] = sum_ref[...]", loop), PRODUCT_REFERENCE, PRODUCT)
    assert (report["verdict"], report.get("blocks")) == ("ok", [1, 1]), report


def test_what_is_off_in_a_third_of_the_blocks_is_found(judged: Any) -> None:
    off = "c_ref[...] = (sum_ref[...] * jnp.where((i + 2 * pl.program_id(1)) % 3 == 0, 1.1, 1))"
    source = PRODUCT_KERNEL.replace("FIRST", "").replace("KEPT", "128").replace("c_ref[...] = sum_ref[...]", off)
    report = judged(source, PRODUCT_REFERENCE, PRODUCT)
    assert report["verdict"] == "rejected", report


def _cost(function: Any, *shapes: tuple[int, ...]) -> float:
    return kernel_steps.cost_of(jax.make_jaxpr(function)(*(jax.ShapeDtypeStruct(s, "float32") for s in shapes)).jaxpr)


def test_what_is_done_costs_as_often_as_it_is_done() -> None:
    square = (64, 64)
    assert _cost(lambda x: x + x, square) == 64 * 64
    assert _cost(lambda x: x @ x, square) == 64**3 / 16
    assert _cost(lambda x: jax.lax.fori_loop(0, 8, lambda _, y: y @ y, x), square) >= 8 * 64**3 / 16
    assert _cost(lambda x: jax.lax.while_loop(lambda y: y[0, 0] < 1, lambda y: y + y, x), square) == float("inf")


def test_a_product_without_a_part_of_the_sum_is_found(judged: Any) -> None:
    report = judged(PRODUCT_KERNEL.replace("FIRST", "").replace("KEPT", "96"), PRODUCT_REFERENCE, PRODUCT)
    assert (report["verdict"], report.get("kind")) == ("rejected", "incorrect"), report


def test_a_kernel_that_steps_leave_word_for_is_run_from_where_they_do(judged: Any) -> None:
    first = "seen_ref[0] = jnp.where(i + pl.program_id(1) + k == 0, 1, seen_ref[0])"
    source = PRODUCT_KERNEL.replace("FIRST", first).replace(
        "sum_ref[...] += jnp.dot", "sum_ref[...] += jnp.where(seen_ref[0] == 1, 0.5, 1) * jnp.dot"
    )
    report = judged(source.replace("KEPT", "128"), PRODUCT_REFERENCE, PRODUCT)
    assert (report["verdict"], report.get("kind")) == ("rejected", "incorrect"), report


@pytest.mark.parametrize(("first", "said"), [("0", "ok"), ("15", "rejected")])
def test_what_a_step_carries_to_the_next_is_carried(judged: Any, first: str, said: str) -> None:
    report = judged(RUNNING_KERNEL.replace("FIRST", first), RUNNING_REFERENCE, RUNNING)
    assert report["verdict"] == said, report


def test_what_was_rejected_before_is_not_reached_and_what_has_no_oracle_is_not_done() -> None:
    assert values.values_of(b"", {}, PRODUCT, TOLERANCE, "s", LIMITS) == verdict.not_reached()
    assert values.values_of(b"{}", {}, PRODUCT, TOLERANCE, "s", LIMITS)["verdict"] == "not_done"


def test_a_time_out_is_not_done() -> None:
    asked = values.asked_of(PRODUCT, "s", b"p")
    report = values.judge(b'{"gap": "a kernel with 5 steps"}\n', asked, {}, PRODUCT, TOLERANCE)
    assert (report["verdict"], "5 steps" in report["reason"]) == ("not_done", True)


@pytest.mark.parametrize(("group", "passes"), [((1, judge_inputs.TIMED[1]), True), ((0, judge_inputs.TIMED[0]), False)])
def test_what_needles_leave_of_a_block_is_small_beside_other_blocks(group: Any, passes: bool) -> None:
    signature = {"outputs": [{"name": "out", "shape": [64, 128], "dtype": "float32"}]}
    oracle = np.ones((64, 128))
    oracle[:16] = 1e-13
    name = f"{group[1].name}.0.{group[0]}"
    expected = {f"{name}.axis0": np.arange(64), f"{name}.axis1": np.arange(128), f"{name}.oracle": oracle}
    expected |= {f"{name}.error": np.array(0.0), f"{name}.worst": np.zeros(judge_inputs.ORDERS)}
    block = (np.arange(16), None)
    output = values.output_at(np.full((16, 128), 1e-10), expected, signature, 0, group, block)
    with (
        contextlib.nullcontext() if passes else pytest.raises(comparison.Refusal, match="2048 of 2048 elements are off")
    ):
        comparison.check_elements(output, TOLERANCE)


def test_needles_outweigh_the_rest_of_their_line() -> None:
    drawn = judge_inputs.draw(PRODUCT, judge_inputs.TIMED[1], "s")[0].astype(np.float32)
    assert 0.6 < np.mean(np.abs(drawn).max(axis=1) > 40) < 0.95
    # Kernels that leave work out do so most often at an end of a dimension.
    assert np.mean(np.abs(drawn[:, :8]).max(axis=1) > 40) > 0.1
    assert np.mean(np.abs(drawn[:, -8:]).max(axis=1) > 40) > 0.1


@FORKS
@pytest.mark.parametrize(("kept", "said"), [("128", "ok"), ("96", "rejected")])
def test_a_timed_case_that_cannot_be_interpreted_as_a_whole_is_interpreted_at_places(
    judged: Any, run_step: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: str, said: str
) -> None:
    judged(PRODUCT_KERNEL.replace("FIRST", "").replace("KEPT", kept), PRODUCT_REFERENCE, PRODUCT)
    whole = run_step(
        "expect", source="reference.py", entry="f", signature="signature.json", secret="secret", out="whole.npz"
    )
    assert whole.returncode == 0, whole.stderr
    run, calls = sandbox.run, []

    def late_once(work: Any, limits: Limits) -> Ending:
        calls.append(limits.cpu_seconds)
        return Ending("timeout") if len(calls) == 1 else run(work, limits)

    monkeypatch.setattr(sandbox, "run", late_once)
    held = (
        comparison.read_expected((tmp_path / "whole.npz").read_bytes()),
        PRODUCT,
        TOLERANCE,
        "not for candidates",
        LIMITS,
    )
    report = interpret.interpret((tmp_path / "k.jaxpr").read_bytes(), *held, is_timed=True)
    assert report["verdict"] == said, report
    assert calls == [LIMITS.cpu_seconds // 2, LIMITS.cpu_seconds]
