"""Tests of a candidate's work against the needs of its case: executed operations, moved bytes, and the roofline."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, SIGNATURE, Lower, Run

EVOLVE = os.environ.get("EVOLVE", str(ROOT / "build" / "release" / "evolve"))
PROGRAMS = Path(os.environ.get("EVOLVE_STEPS", Path(EVOLVE).parent / "steps"))

# The cost of the signature's product.
COST = {"flops": 2 * 200 * 136 * 300, "bytes": 2 * (200 * 300 + 300 * 136 + 200 * 136)}
TERMS = {"min_flops": 0.75, "operand": "bfloat16"}

Judge = Callable[..., dict[str, Any]]


@pytest.fixture
def judge(lower: Lower, run_step: Run, tmp_path: Path) -> Judge:
    """Returns the facts of a source, as a round makes them."""

    def run(source: str, **cost: float) -> dict[str, Any]:
        report = lower(source)
        assert report["verdict"] == "ok", report
        run_step("compile", program="k.device", dumps="k.dumps", topology="tpu7x:2x2x1", out="compile.json")
        (tmp_path / "cost.json").write_text(json.dumps({**COST, **cost}))
        (tmp_path / "terms.json").write_text(json.dumps(TERMS))
        given = ["--operands", "k.operands", "--terms", "terms.json", "--signature", "signature.json"]
        words = ["--compile", "compile.json", "--dumps", "k.dumps", "--cost", "cost.json", "--target", "tpu7x"]
        command = [str(PROGRAMS / "analyze"), *words, *given, "--out", "facts.json"]
        subprocess.run(command, cwd=tmp_path, check=True)
        facts: dict[str, Any] = json.loads((tmp_path / "facts.json").read_text())
        return facts

    return run


IMPORTS = """
import jax, jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
"""

# A kernel that multiplies only if a number in scalar memory is zero.
FLAGGED = (
    IMPORTS
    + """
def body(flag, x, y, o):
    o[...] = jnp.zeros_like(o)

    @pl.when(flag[0] == 0)
    def _():
        o[...] = jnp.dot(x[...], y[...], preferred_element_type=jnp.float32).astype(o.dtype)

def matmul(x, y):
    out = jax.ShapeDtypeStruct((x.shape[0], y.shape[1]), x.dtype)
    scalars = pl.BlockSpec(memory_space=pltpu.SMEM)
    specs = [scalars, pl.BlockSpec(x.shape, lambda: (0, 0)), pl.BlockSpec(y.shape, lambda: (0, 0))]
    return pl.pallas_call(body, in_specs=specs, out_shape=out)(FLAG, x, y)
"""
)
BY_SIZE = "jnp.full((1,), x.shape[0] // {}, jnp.int32)"


def test_work_that_a_flag_of_the_size_leaves_out_is_missed(judge: Judge) -> None:
    honest = judge(FLAGGED.replace("FLAG", BY_SIZE.format(256)))
    assert honest["verdict"] == "ok", honest["reason"]
    assert honest["work"]["matrix_flops"] >= COST["flops"]
    assert honest["work"]["uncertain_flops"] == 0
    facts = judge(FLAGGED.replace("FLAG", BY_SIZE.format(100)))
    assert (facts["verdict"], facts["kind"]) == ("rejected", "suspicious")
    assert facts["work"]["matrix_flops"] == 0
    assert "0 % of the 1.632e+07 of the spec's cost.flops" in facts["reason"]


def test_a_guard_that_hangs_on_data_is_named(judge: Judge) -> None:
    facts = judge(FLAGGED.replace("FLAG", "(x[0, :1] > 9).astype(jnp.int32)"))
    assert (facts["verdict"], facts["kind"]) == ("rejected", "not_modelled")
    assert facts["reason"].endswith("it depends on operand 0 (s32[1]), whose values are not known")


# A loop that computes a block of rows in each turn. NEXT stands for the first two elements of the tuple after a turn.
LOOP = (
    IMPORTS
    + """
def body(x, y, o):
    o[...] = jnp.dot(x[...], y[...], preferred_element_type=jnp.float32).astype(o.dtype)

def matmul(x, y):
    def turn(carry):
        i, other, out = carry
        rows = lax.dynamic_slice(x, (i * 8, 0), (8, x.shape[1]))
        block = pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct((8, y.shape[1]), x.dtype))(rows, y)
        return NEXT, lax.dynamic_update_slice(out, block, (i * 8, 0))

    start = jnp.int32(0), jnp.int32(1 - STRIDE), jnp.zeros((x.shape[0], y.shape[1]), x.dtype)
    return lax.while_loop(lambda carry: carry[0] < x.shape[0] // 8, turn, start)[2]
"""
)
# Both loops have as many turns as there are blocks.
COUNTED = LOOP.replace("NEXT", "i + 1, other").replace("STRIDE", "1")
CROSSED = LOOP.replace("NEXT", "other + STRIDE, i + (2 - STRIDE)").replace("STRIDE", "(1 << 20)")


def test_a_loop_counts_by_its_own_counter_alone(judge: Judge) -> None:
    facts = judge(COUNTED)
    assert facts["verdict"] == "ok", facts["reason"]
    kernels = [one for one in facts["kernels"] if one["matmuls"]]
    assert sum(one["times"] for one in kernels) == 200 // 8
    facts = judge(CROSSED)
    assert (facts["verdict"], facts["kind"]) == ("rejected", "not_modelled")
    assert "the number of passes of the loop 'while" in facts["reason"]
    assert "its counter" in facts["reason"]


# XLA puts the kernel and the operation that stores its result into one module.
SCANNED = (
    IMPORTS
    + """
def body(x, y, o):
    o[...] = jnp.dot(x[...], y[...], preferred_element_type=jnp.float32).astype(o.dtype)

def matmul(x, y):
    def one(rows):
        return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct((8, y.shape[1]), x.dtype))(rows, y)

    return lax.map(one, x.reshape(-1, 8, x.shape[1])).reshape(x.shape[0], y.shape[1])
"""
)


def test_a_kernel_that_is_part_of_a_fusion_counts(judge: Judge) -> None:
    facts = judge(SCANNED)
    assert facts["verdict"] == "ok", facts["reason"]
    assert facts["work"]["matrix_flops"] >= COST["flops"]


def test_work_in_one_branch_is_not_certain(judge: Judge) -> None:
    some = "lax.cond(x[0, 0] > 9, lambda: jnp.zeros((x.shape[0], y.shape[1]), x.dtype), lambda: product(x, y))"
    facts = judge(SCANNED.replace("def matmul", "def product") + f"\ndef matmul(x, y):\n    return {some}\n")
    assert (facts["verdict"], facts["kind"]) == ("rejected", "not_modelled")
    assert "operations run is not known" in facts["reason"]
    assert "it is in the conditional '" in facts["reason"]


def _samples(device: str, seconds: float) -> dict[str, Any]:
    pair = [seconds, seconds]
    run = {"process": 0, "anchor": [pair] * 4, "candidate": [pair] * 4}
    return {"format": "evolve-samples-2", "verdict": "ok", "device": device, "protocol": "p", "runs": [run] * 6}


def _measured(folder: Path, device: str, seconds: float) -> dict[str, Any]:
    """Returns the time report on samples of a product for which a tpu7x needs 1 ms."""
    for name, content in (
        ("samples", _samples(device, seconds)),
        ("cost", {**COST, "flops": 1153.5e12 * 1e-3}),
        ("terms", TERMS),
        ("signature", SIGNATURE),
    ):
        (folder / f"{name}.json").write_text(json.dumps(content))
    given = [word for name in ("samples", "cost", "terms", "signature") for word in (f"--{name}", f"{name}.json")]
    subprocess.run([str(PROGRAMS / "time"), *given, "--out", "time.json"], cwd=folder, check=True)
    time: dict[str, Any] = json.loads((folder / "time.json").read_text())
    return time


def test_a_measured_time_below_the_roofline_is_suspicious(tmp_path: Path) -> None:
    time = _measured(tmp_path, "tpu7x: TensorCore", 1.001e-3)
    assert time["verdict"] == "ok"
    assert time["floor"] == {"seconds": 1e-3, "of": "the roofline of tpu7x"}
    time = _measured(tmp_path, "tpu7x: TensorCore", 0.999e-3)
    assert (time["verdict"], time["kind"]) == ("rejected", "suspicious")
    # The roofline of a CPU is unknown, and the report says so.
    time = _measured(tmp_path, "cpu: AMD EPYC 9B45", 0.2)
    assert time["verdict"] == "ok"
    assert time["floor"]["of"].startswith("the roofline of this device is unknown")
