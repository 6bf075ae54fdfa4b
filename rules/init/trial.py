"""What a first kernel comes to before anybody waits for a judge: its place in VMEM, the compiler, and its values."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
from blocks import Cut, are_alike, drawn, excess_of, tried
from dimensions import Task, structs
from source import executed

STEPS = Path(__file__).resolve().parents[1] / "steps"
sys.path.append(str(STEPS))
import candidate
import program
import verdict
import wire

# A seed that the compiler has not done by then is none.
_COMPILER_SECONDS = 120


def seed_programs(kernel: str, task: Task, entry: str, sizes: dict[str, int]) -> tuple[jax.core.ClosedJaxpr, bytes]:
    """The seed's trace, and its program for a TPU. Raises whatever Mosaic, or the user's code, says against it."""
    candidate.known_tpu_on_cpu()
    shapes = structs(task.inputs, sizes)
    module = executed(kernel, Path("kernel.py"))
    # As the judge has it: a kernel that is interpreted on this machine is compiled there.
    closed = wire.unpack(wire.pack(jax.make_jaxpr(getattr(module, entry))(*shapes)))
    return closed, program.export_program(closed, shapes, "tpu")


def refusal_of(
    kernel: str,
    task: Task,
    entry: str,
    small: dict[str, int],
    function: Callable[..., Any] | None = None,
    cut: Cut | None = None,
) -> str:
    """What is said against a seed at the task's own sizes, then at `small` ones; empty where nothing is.

    `function` is what its values at small sizes are held against, `cut` how it was cut here: who wrote a seed cuts it
    in a way that is not known.
    """
    if excess := excess_of(task, cut) if cut else "":
        return excess
    try:
        programs = [seed_programs(kernel, task, entry, sizes)[1] for sizes in (task.sizes, small)]
    except Exception as error:  # noqa: BLE001 - of the user's own code
        return candidate.describe(error, "")
    if said := next(filter(None, map(_said_by_compiler, programs)), ""):
        return said
    return "" if function is None else _wrong_values(kernel, task, entry, small, function)


def _said_by_compiler(exported: bytes) -> str:
    """What the compiler for a TPU v7x has against a program, asked in a process of its own: it can end its own."""
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder) / name for name in ("program", "dumps", "out")}
        files["program"].write_bytes(exported)
        flags = [f"--{name}={path}" for name, path in files.items()]
        flags += ["--target=tpu7x", f"--cpu-seconds={_COMPILER_SECONDS}"]
        command = [sys.executable, str(STEPS / "compile.py"), *flags]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return verdict.one_line(f"the compiler could not be asked: {done.stderr}")
        report = verdict.read_json(str(files["out"]))
    return "" if report["verdict"] == "ok" else f"{report['kind']}: {report['reason']}"


def _wrong_values(kernel: str, task: Task, entry: str, sizes: dict[str, int], function: Callable[..., Any]) -> str:
    inputs, wanted = tried(function, drawn(task, sizes))
    try:
        closed, _ = seed_programs(kernel, task, entry, sizes)
        # As the judge runs it on a CPU: the kernels are interpreted, whether or not they ask for it.
        got = program.load_program(program.export_program(closed, structs(task.inputs, sizes), "cpu")).call(*inputs)
    except Exception as error:  # noqa: BLE001 - of the user's own code
        return candidate.describe(error, "")
    if are_alike(got, wanted):
        return ""
    said = ", ".join(f"{name} = {size}" for name, size in sizes.items())
    return f"its values are not the function's at {said}"
