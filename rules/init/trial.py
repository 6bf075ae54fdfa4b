"""The trial of a first kernel before anybody waits for a judge: its size in VMEM, its compilation, and its values."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax

from init.blocks import Cut, are_alike, drawn, excess_of, tried, uncut
from init.dimensions import Task, structs
from init.source import executed
from programs import candidate, program, wire
from reports import verdict

# The target of a trial is the target in templates/pipeline.yaml.template.
_TOPOLOGY = "tpu7x:2x2x1"

# The maximum number of seconds that the compiler may take. A slower seed is refused.
_COMPILER_SECONDS = 120

# The folder of our packages.
_PACKAGES = Path(__file__).resolve().parents[1]

_SMALLER = (
    "in kernel.py, walk {axes} in blocks as the grid's last axis, and keep partial results in scratch memory: an "
    "accumulator for a sum or a product, a running maximum and a running sum for a softmax or a logsumexp"
)
_OTHER = "write kernel.py's block in other operations: rules/prompts/system.md has a table of replacements"
_VALUES = "kernel.py must compute what reference.py does: compare them on small inputs"


class Refusal(NamedTuple):
    """The reason against a seed, and advice on what to write instead."""

    why: str
    instead: str


def seed_programs(kernel: str, task: Task, entry: str, sizes: dict[str, int]) -> tuple[jax.core.ClosedJaxpr, bytes]:
    """Returns the seed's trace, and its program for a TPU. Raises the errors of Mosaic, or of the user's code."""
    candidate.known_tpu_on_cpu()
    shapes = structs(task.inputs, sizes)
    module = executed(kernel, Path("kernel.py"))
    # The judge's form of a program turns `interpret` off, so a kernel that is interpreted on this machine is compiled.
    closed = wire.unpack(wire.pack(jax.make_jaxpr(getattr(module, entry))(*shapes)))
    return closed, program.export_program(closed, shapes, candidate.DEFAULT_TARGET.platform)


def refusal_of(
    kernel: str,
    task: Task,
    entry: str,
    small: dict[str, int],
    function: Callable[..., Any] | None = None,
    cut: Cut | None = None,
) -> Refusal | None:
    """Returns the reason against a seed at the task's own sizes, then at `small` ones; None: there is no reason.

    `function`: the function with whose values the seed's values are compared, at small sizes. `cut`: the way in which
    evolve has cut the seed; None: its author has cut it, in a way that is not known.
    """
    if cut and (excess := excess_of(task, cut)):
        return Refusal(excess, _SMALLER.format(axes=" or ".join(uncut(task, cut)) or "the largest axis"))
    try:
        programs = [seed_programs(kernel, task, entry, task.sizes)[1]]
        closed, exported = seed_programs(kernel, task, entry, small)
        programs.append(exported)
    except Exception as error:  # noqa: BLE001 - of the user's own code
        return Refusal(candidate.describe(error, ""), _OTHER)
    for one in programs:
        kind, why = _said_by_compiler(one)
        if kind in ("timeout", "out-of-memory"):
            axes = " or ".join(uncut(task, cut)) if cut else ""
            return Refusal(why, _SMALLER.format(axes=axes or "the largest axis"))
        if kind:
            return Refusal(why, _OTHER)
    wrong = "" if function is None else _wrong_values(closed, task, small, function)
    return Refusal(wrong, _VALUES) if wrong else None


def _said_by_compiler(exported: bytes) -> tuple[str, str]:
    """Returns the errors of the compiler for a TPU v7x on a program.

    The compiler runs in a process of its own, which it may end.
    """
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder) / name for name in ("program", "dumps", "out")}
        files["program"].write_bytes(exported)
        flags = [f"--{name}={path}" for name, path in files.items()]
        flags += [f"--topology={_TOPOLOGY}", f"--cpu-seconds={_COMPILER_SECONDS}"]
        command = [sys.executable, str(_PACKAGES), "steps.compile", *flags]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return "fault", verdict.one_line(f"the compiler could not be run: {done.stderr}")
        report = verdict.read_json(str(files["out"]))
    return ("", "") if report["verdict"] == "ok" else (report["kind"], f"{report['kind']}: {report['reason']}")


def _wrong_values(closed: jax.core.ClosedJaxpr, task: Task, sizes: dict[str, int], function: Callable[..., Any]) -> str:
    inputs, wanted = tried(function, drawn(task, sizes))
    try:
        judged = program.load_program(program.export_program(closed, structs(task.inputs, sizes), "cpu"))
    except Exception:  # noqa: BLE001 - only the judge's own interpreter runs what JAX has no CPU form of
        return ""
    try:
        got = judged.call(*inputs)
    except Exception as error:  # noqa: BLE001 - of the user's own code
        return candidate.describe(error, "")
    if are_alike(got, wanted):
        return ""
    said = ", ".join(f"{name} = {size}" for name, size in sizes.items())
    return f"its values differ from the function's at {said}"
