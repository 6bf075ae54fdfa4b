"""Tests of the model against closed forms: the work and the transfers of kernels, by libtpu's schedules."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, SMALL, Lower, Run
from generated import MARKERS, Expected, Kernel, kernels, loop_of

EVOLVE = os.environ.get("EVOLVE", str(ROOT / "build" / "release" / "evolve"))

Analyze = Callable[[str, Any], dict[str, Any]]


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with all kernels' dumps. The compiler would not start in a process that forks."""
    folder = tmp_path_factory.mktemp("dumps")
    program = Path(__file__).with_name("generated.py")
    subprocess.run([sys.executable, str(program), str(folder)], check=True, capture_output=True)
    return folder


@pytest.fixture
def analyze(dumps: Path, tmp_path: Path) -> Analyze:
    """Returns the facts of a kernel's run with these operands."""

    def run(name: str, operands: Any) -> dict[str, Any]:
        (tmp_path / "operands.json").write_text(json.dumps(operands))
        done = subprocess.run(
            [EVOLVE, "analyze", str(dumps), "--kernel", name, "--operands", "operands.json", "--json"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        (facts,) = json.loads(done.stdout)
        (kernel,) = (one for one in facts["kernels"] if one["name"] == f"{name}.1")
        result: dict[str, Any] = kernel
        return result

    return run


def _agrees(kernel: dict[str, Any], expected: Expected) -> None:
    dma = kernel["dma"]
    for what in ("loads", "stores", "load_bytes", "store_bytes"):
        wanted = getattr(expected, what)
        assert wanted is None or dma[what] == wanted, what
        # Every transfer belongs to an operand of the kernel.
        assert sum(one[what] for one in kernel["traffic"]) == dma[what], what
    # Waits for transfers within the chip have no operand.
    assert all(one["operand"] is not None or one["loads"] + one["stores"] == 0 for one in kernel["traffic"])
    for marker, times in expected.markers.items():
        executed = kernel["matmuls"] if marker == "matmul" else kernel["opcodes"].get(MARKERS[marker], 0)
        assert executed == times, marker
    bundles = kernel["bundles"]
    assert sum(cause["seconds"] for cause in kernel["by_cause"]) == pytest.approx(kernel["seconds"])
    assert kernel["cycles"] >= bundles["executed"] + kernel["stall_cycles"] - 1e-6
    assert kernel["unknown_opcodes"] == {}


def test_a_program_without_its_kernel_has_no_time(lower: Lower, run_step: Run, tmp_path: Path) -> None:
    lower((SMALL / "kernel.py").read_text())
    run_step("compile", program="k.device", topology="tpu7x:2x2x1", out="compile.json", dumps="whole.tgz")
    (tmp_path / "cost.json").write_text('{"flops": 1, "bytes": 1}')

    def facts(dumps: str) -> dict[str, Any]:
        words = ["--compile", "compile.json", "--dumps", dumps, "--cost", "cost.json", "--target", "tpu7x"]
        analyze = str(Path(EVOLVE).parent / "steps" / "analyze")
        done = subprocess.run(
            [analyze, *words, "--out", "facts.json"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads((tmp_path / "facts.json").read_text())
        return found

    assert facts("whole.tgz")["verdict"] == "ok"
    with tarfile.open(tmp_path / "whole.tgz") as whole, tarfile.open(tmp_path / "part.tgz", "w:gz") as part:
        for member in whole.getmembers():
            if not (member.name.startswith("call_exported") and "packed-bundles" in member.name):
                part.addfile(member, whole.extractfile(member))
    left_out = facts("part.tgz")
    assert (left_out["verdict"], left_out["kind"]) == ("rejected", "not_modelled")
    assert "its schedule is not among the dumps" in left_out["reason"]


@pytest.mark.parametrize("kernel", kernels(), ids=lambda kernel: kernel.name)
def test_what_runs_and_moves_has_a_closed_form(kernel: Kernel, analyze: Analyze) -> None:
    for expected in kernel.runs:
        _agrees(analyze(kernel.name, expected.operands), expected)


def test_bundles_are_those_of_the_text(dumps: Path, analyze: Analyze) -> None:
    (schedule,) = dumps.glob("*-one_by_one.1-*-packed-bundles-post-ra.txt")
    text = schedule.read_text()
    around, length = loop_of(text)
    assert analyze("one_by_one", {})["bundles"]["executed"] == around + 12 * length


@pytest.mark.parametrize("name", ["dynamic_1", "as_many"])
def test_bundles_grow_by_whole_passes(name: str, analyze: Analyze) -> None:
    def executed(passes: int) -> int:
        operands = {"0": passes} if name == "dynamic_1" else {"0": [0, passes]}
        bundles: int = analyze(name, operands)["bundles"]["executed"]
        return bundles

    # Two more passes cost the same, however many there were before.
    growth = executed(12) - executed(10)
    assert growth > 0
    assert executed(112) - executed(12) == 50 * growth


def test_a_longer_grid_is_more_of_the_same(analyze: Analyze) -> None:
    # The schedules' texts differ only in the number of steps. All steps cost the same, although two buffers take turns.
    seven, forty = (analyze(f"grid_{n}", {})["bundles"] for n in (7, 40))
    assert seven["static"] == forty["static"]
    assert (forty["executed"] - seven["executed"]) % (40 - 7) == 0


TURNED = """
import jax, jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def matmul(x, y):
    def body(s, x, y, o):
        def turn(_, __):
            o[...] = jnp.dot(x[...], y[...], preferred_element_type=jnp.float32).astype(o.dtype)

        jax.lax.fori_loop(0, 1 + s[pl.program_id(0)] % 2, turn, None)

    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(25,),
        in_specs=[pl.BlockSpec((8, 300), lambda i, s: (s[i], 0)), pl.BlockSpec((300, 136), lambda i, s: (0, 0))],
        out_specs=pl.BlockSpec((8, 136), lambda i, s: (s[i], 0)),
    )
    out = jax.ShapeDtypeStruct((200, 136), jnp.bfloat16)
    return pl.pallas_call(body, grid_spec=spec, out_shape=out)(24 - jnp.arange(25, dtype=jnp.int32), x, y)
"""


# Two kernels of different shapes, each with a table.
TWO_KERNELS = """
import jax, jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def matmul(x, y):
    def body(s, x, y, o):
        def turn(_, __):
            o[...] = jnp.dot(x[...], y[...], preferred_element_type=jnp.float32).astype(o.dtype)

        jax.lax.fori_loop(0, s[pl.program_id(0)], turn, None)

    def some(rows, turns):
        spec = pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(rows // 8,),
            in_specs=[pl.BlockSpec((8, 300), lambda i, s: (i, 0)), pl.BlockSpec((300, 136), lambda i, s: (0, 0))],
            out_specs=pl.BlockSpec((8, 136), lambda i, s: (i, 0)),
        )
        out = jax.ShapeDtypeStruct((rows, 136), jnp.bfloat16)
        table = jnp.full((rows // 8,), turns, jnp.int32)
        return pl.pallas_call(body, grid_spec=spec, out_shape=out)(table, x[-rows:], y)

    return jnp.concatenate([some(80, 2)[:80], some(120, 3)])
"""


def _facts(lower: Lower, run_step: Run, tmp_path: Path, source: str) -> list[dict[str, Any]]:
    """Returns the model's facts on a candidate, once with the operands that a round gives, and once without."""
    assert lower(source)["verdict"] == "ok"
    run_step("compile", program="k.device", dumps="k.dumps", topology="tpu7x:2x2x1", out="compile.json")
    (tmp_path / "cost.json").write_text('{"flops": 16320000, "bytes": 1}')
    program = Path(EVOLVE).parent / "steps" / "analyze"
    command = [str(program), "--compile", "compile.json", "--dumps", "k.dumps", "--cost", "cost.json"]
    command += ["--target", "tpu7x", "--out", "facts.json"]
    found = []
    for given in (["--operands", "k.operands"], []):
        subprocess.run([*command, *given], cwd=tmp_path, check=True)
        found.append(json.loads((tmp_path / "facts.json").read_text()))
    return found


def test_a_round_gives_the_model_what_a_kernel_is_given(lower: Lower, run_step: Run, tmp_path: Path) -> None:
    facts, without = _facts(lower, run_step, tmp_path, TURNED)
    (run,) = json.loads((tmp_path / "k.operands").read_text())["kernels"][""]
    assert run == {"times": 1, "operands": {"0": list(range(24, -1, -1))}}
    assert facts["verdict"] == "ok"
    # The 300 rows of weights have two tiles, and the 136 columns have one tile.
    assert facts["matmuls"] == 2 * sum(1 + i % 2 for i in range(25))
    assert without["kind"] == "not_modelled"


def test_of_several_kernels_each_has_what_it_is_given(lower: Lower, run_step: Run, tmp_path: Path) -> None:
    facts, without = _facts(lower, run_step, tmp_path, TWO_KERNELS)
    assert facts["verdict"] == "ok"
    assert facts["matmuls"] == 2 * (10 * 2 + 15 * 3)
    assert facts["flops"]["executed"] == facts["matmuls"] * 2 * 16 * 256 * 256
    assert without["kind"] == "not_modelled"
