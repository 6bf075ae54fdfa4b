"""Tests of compile: the same bytes every time, whatever was compiled before, and who is at fault if a process dies."""

from __future__ import annotations

import json
import re
import tarfile
from pathlib import Path
from typing import Any

import pytest
from conftest import RULES, SMALL, THOROUGH, Lower, Run, ask

SEED = (SMALL / "kernel.py").read_text()


def test_two_compilations_give_the_same_bytes(lower: Lower, run_step: Run, tmp_path: Path) -> None:
    lower(SEED)
    for name in ("a", "b"):
        done = run_step("compile", program="k.device", topology="tpu7x:2x2x1", out=f"{name}.json", dumps=f"{name}.tgz")
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
    run_step("compile", program="k.device", topology="tpu7x:2x2x1", out="c.json", dumps="c.tgz")
    report = json.loads((tmp_path / "c.json").read_text())
    assert (report["verdict"], report["kind"]) == ("rejected", "out-of-memory")
    assert "limit" in report["reason"]
    assert (tmp_path / "c.tgz").read_bytes() == b""


def _with(lines: str) -> str:
    """Returns the kernel with more work on its accumulator before the accumulator is stored."""
    head = "        out_ref[...] = acc"
    return SEED.replace(head, "\n".join(f"        {line}" for line in lines.splitlines()) + "\n" + head)


NESTED = """
def nest(depth, v):
    return jnp.sin(v) if depth == 0 else jax.lax.fori_loop(0, 2, lambda i, v: nest(depth - 1, v), v)
acc_ref[...] = nest(30, acc_ref[...])
"""
LONG = "acc_ref[...] = jax.lax.fori_loop(0, 3000, lambda i, v: jnp.sin(v) + i, acc_ref[...], unroll=3000)"

# Kernels that end the compiler's process, because stack or time runs out, and a kernel that the compiler rejects.
NASTY = {
    "needs too much memory": (
        re.sub(r"vmem_limit_bytes=.*", "vmem_limit_bytes=2**15,", SEED),
        "out-of-memory",
        "limit",
    ),
    "overflows the stack": (_with(NESTED), "crash", "SIGSEGV"),
    "takes too long": (_with(LONG), "timeout", "3 s"),
}


def _compile(worker: Any, number: int, name: str, *flags: str) -> None:
    files = {"program": f"{name}.device", "out": f"{name}.json", "dumps": f"{name}.tgz", "topology": "tpu7x:2x2x1"}
    words = [word for flag, value in files.items() for word in (f"--{flag}", value)]
    assert ask(worker, number, [str(RULES), "steps.compile", *words, *flags])["exitCode"] == 0


@pytest.mark.parametrize(
    "name", [name if name == "overflows the stack" else pytest.param(name, marks=THOROUGH) for name in NASTY]
)
def test_a_verdict_is_its_own_programs_alone(
    name: str, worker: Any, lower: Lower, run_step: Run, tmp_path: Path
) -> None:
    source, kind, reason = NASTY[name]
    assert lower(source, "nasty")["verdict"] == "ok"
    for good, factor in (("before", "2.0"), ("after", "3.0")):
        assert lower(SEED.replace("acc[...]", f"acc[...] * {factor}", 1), good)["verdict"] == "ok"
    for number, one in enumerate(("before", "nasty", "after"), 1):
        _compile(worker, number, one, "--cpu-seconds", "3")
    report = json.loads((tmp_path / "nasty.json").read_text())
    assert (report["verdict"], report["kind"]) == ("rejected", kind)
    assert reason in report["reason"]
    for good in ("before", "after"):
        by_worker = [(tmp_path / f"{good}.{kind}").read_bytes() for kind in ("json", "tgz")]
        run_step("compile", program=f"{good}.device", out=f"{good}.json", dumps=f"{good}.tgz", topology="tpu7x:2x2x1")
        assert by_worker == [(tmp_path / f"{good}.{kind}").read_bytes() for kind in ("json", "tgz")]
        assert by_worker[1] != b""
