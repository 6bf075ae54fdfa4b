"""The judge of the corpus: it judges kernels as a campaign does, and compares the verdicts with the expected ones.

A kernel of the corpus is a file FOLDER/TASK/NAME.py, and its task is tests/steps/tasks/TASK. Its docstring ends with
"Verdict: KIND" ("ok": it must pass). A cheat's docstring also has "Caught by: DEFENCE, …": the cheat passes when all of
these defences, and no others, are broken.

    .venv/bin/python tests/steps/corpus.py [--without DEFENCE]… [FOLDER]…
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "tests" / "steps"
sys.path.insert(0, str(ROOT / "rules"))

os.environ.setdefault("JAX_PLATFORMS", "cpu")

from interpreter import interpreted, kept_inputs
from judge import comparison, contract, interpret, judge_inputs, lower, values
from process import sandbox
from process.child import Limits, run_in_child
from programs import consistent, kernel_config, program, promises, schema, wire
from reports import verdict
from source import normalise
from steps import check, expect

# The times that the steps `check`, `interpret` and `values` have in a build.
LIMITS = Limits(cpu_seconds=120, wall_seconds=480, memory_bytes=6 * 2**30)
VALUES_LIMITS = Limits(cpu_seconds=600, wall_seconds=2400, memory_bytes=12 * 2**30)
SECRET = "not for candidates"
SPEC_PROGRAM = Path(os.environ.get("EVOLVE_STEPS", ROOT / "build" / "release" / "steps")) / "spec"


@dataclass(frozen=True)
class Entry:
    """A kernel of the corpus."""

    path: Path
    verdict: str
    caught_by: tuple[str, ...]

    @property
    def task(self) -> str:
        return self.path.parent.name

    def __str__(self) -> str:
        return f"{self.path.parent.parent.name}/{self.task}/{self.path.stem}"


def entries(folder: Path) -> list[Entry]:
    """Returns all kernels of a folder of tasks."""
    found = []
    for path in sorted(folder.glob("*/*.py")):
        text = path.read_text()
        said = re.search(r"^Verdict: (\S+)$", text, re.M)
        assert said, f"{path} does not say its verdict"
        caught = re.search(r"^Caught by: (.+)$", text, re.M)
        found.append(Entry(path, said[1], tuple(caught[1].split(", ")) if caught else ()))
    return found


@dataclass(frozen=True)
class Case:
    name: str
    tags: tuple[str, ...]
    files: dict[str, Any]  # signature, tolerance, terms


def is_checked(case: Case) -> bool:
    """Returns whether all of the case's outputs are compared."""
    return "check" in case.tags


class Task:
    """A kernel's spec and reference, and the outputs that its cases expect."""

    def __init__(self, folder: Path) -> None:
        with tempfile.TemporaryDirectory() as made:
            subprocess.run([SPEC_PROGRAM, "--spec", folder / "spec.yaml", "--out-dir", made], check=True)
            spec = verdict.read_json(f"{made}/spec.json")
            names = ("signature", "tolerance", "terms")
            self.cases = [
                Case(
                    one["name"],
                    tuple(one["tags"]),
                    {name: verdict.read_json(f"{made}/cases/{one['name']}/{name}.json") for name in names},
                )
                for one in spec["cases"]
            ]
        self.entry: str = spec["entry"]
        self._reference = folder / "reference.py"
        self._expected: dict[tuple[Any, ...], comparison.Expected] = {}

    def expected(self, case: Case) -> comparison.Expected:
        """Returns the reference's outputs, at places if a case is only timed. Computes them again for other inputs."""
        compute = expect.expected if is_checked(case) else expect.expected_at_places
        key = case.name, judge_inputs.SETS[1].is_secret, judge_inputs.TIMED
        if key not in self._expected:
            signature = case.files["signature"]

            def work() -> bytes:
                return expect.pack(compute(expect.functions(str(self._reference), self.entry), signature, SECRET))

            self._expected[key] = comparison.read_expected(run_in_child(work, VALUES_LIMITS).answer)
        return self._expected[key]


class Judge:
    """The verdicts on kernels. A step runs once for each input and each set of defences that are broken in the step."""

    def __init__(self) -> None:
        self._reports: dict[tuple[Any, ...], Any] = {}

    def __call__(self, source: bytes, task: Task, broken: tuple[str, ...] = ()) -> dict[str, Any]:
        """Returns the first report that is not ok, with its step and case; or the last report."""
        with contextlib.suppress(SyntaxError, ValueError):
            source = normalise.canonical(normalise.decoded(source, "kernel.py"), "kernel.py").encode()

        def run(step: str, case: Case) -> Any:
            given = source if step == "lower" else tuple(lowered.values())
            key = given, task, case.name, step, tuple(name for name in broken if step in DEFENCES[name].steps)
            if key not in self._reports:
                self._reports[key] = _STEPS[step](source if step == "lower" else lowered, case, task)
            return self._reports[key]

        with without(broken, task):
            lowered: dict[str, lower.Lowered] = {}
            for case in task.cases:
                report, lowered[case.name] = run("lower", case)
                if report["verdict"] != "ok":
                    return {**report, "step": "lower", "case": case.name}
            for step in ("contract", "check", "interpret", "values"):
                for case in task.cases:
                    report = run(step, case)
                    if report["verdict"] != "ok":
                        return {**report, "step": step, "case": case.name}
            return {"verdict": "ok", "programs": {name: program.digest(made.device) for name, made in lowered.items()}}


def _lower(source: bytes, case: Case, task: Task) -> tuple[verdict.Report, lower.Lowered]:
    others = [one.files["signature"] for one in task.cases if one.name != case.name]
    return lower.lower(source, task.entry, case.files["signature"], LIMITS, others[:1])


def _contract(lowered: dict[str, lower.Lowered], case: Case, task: Task) -> verdict.Report:
    made, files = lowered[case.name], case.files
    checked = [one for one in task.cases if is_checked(one) and not is_checked(case)]
    traced = contract.Traced(
        made.jaxpr, tuple(contract.Checked(lowered[one.name].jaxpr, one.files["signature"]) for one in checked)
    )
    return contract.examine(made.device, made.judge, traced, files["signature"], files["terms"], LIMITS)


def _held_against(case: Case, task: Task) -> tuple[Any, ...]:
    """Returns the arguments that the steps check and interpret get for a case."""
    files, is_timed = case.files, "bench" in case.tags
    return task.expected(case), files["signature"], files["tolerance"], SECRET, LIMITS, is_timed


def _check(lowered: dict[str, lower.Lowered], case: Case, task: Task) -> verdict.Report:
    if not is_checked(case):
        return verdict.ok()
    return check.check_program(lowered[case.name].judge, *_held_against(case, task))


def _interpret(lowered: dict[str, lower.Lowered], case: Case, task: Task) -> verdict.Report:
    if not is_checked(case):
        return verdict.ok()
    return interpret.interpret(lowered[case.name].jaxpr, *_held_against(case, task))


def _values(lowered: dict[str, lower.Lowered], case: Case, task: Task) -> verdict.Report:
    if is_checked(case):
        return verdict.ok()
    files = case.files
    packed, expected = lowered[case.name].jaxpr, task.expected(case)
    return values.values_of(packed, expected, files["signature"], files["tolerance"], SECRET, VALUES_LIMITS)


_STEPS: dict[str, Callable[..., Any]] = {
    "lower": _lower,
    "contract": _contract,
    "check": _check,
    "interpret": _interpret,
    "values": _values,
}


# Each of these functions breaks a defence, so that its check is not made.

Break = Callable[[contextlib.ExitStack, Task], None]


def _no_op(module: Any, name: str) -> Break:
    def broken(stack: contextlib.ExitStack, _: Task) -> None:
        stack.enter_context(mock.patch.object(module, name, return_value=None))

    return broken


def _break_one_jaxpr(stack: contextlib.ExitStack, _: Task) -> None:
    """Lets the process that traces a candidate export its programs, too."""
    trace, pack = lower.candidate.trace, lower.wire.pack

    def traced(source: bytes, entry: str, signature: dict[str, Any], _: Any) -> bytes:
        program.configure_jax()
        closed = trace(source, entry, [signature])
        arguments = program.shapes_of(signature["inputs"])
        export = sys.modules["programs.program"].export_program
        device, judge = (export(closed, arguments, p) for p in ("tpu", "cpu"))
        header = {"device": len(device), "judge": len(judge), "calls": 1}
        return json.dumps(header).encode() + b"\n" + device + judge + pack(closed)

    stack.enter_context(mock.patch.object(lower, "traced", traced))
    # The answer of the tracing process is passed on unchanged.
    opened = lower.open_answer

    def open_answer(ending: Any, limits: Limits) -> tuple[dict[str, Any], bytes]:
        header, rest = opened(ending, limits)
        return header, ending.answer if header.get("device") else rest

    def exported(packed: bytes, signature: dict[str, Any], _: Any) -> bytes:
        return packed

    stack.enter_context(mock.patch.object(lower, "_exported", exported))
    stack.enter_context(mock.patch.object(lower, "open_answer", _twice(open_answer, opened)))


def _twice(first: Callable[..., Any], second: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that calls `first` and `second` in turns."""
    turns = [first, second]

    def alternating(*arguments: Any) -> Any:
        turns.reverse()
        return turns[1](*arguments)

    return alternating


def _break_secret(stack: contextlib.ExitStack, _: Task) -> None:
    for module in (judge_inputs, check, comparison):
        public = tuple(replace(drawn, is_secret=False) for drawn in module.SETS)
        stack.enter_context(mock.patch.object(module, "SETS", public))
        stack.enter_context(mock.patch.object(module, "PUBLIC", public[0]))
    stack.enter_context(mock.patch.object(interpret, "PUBLIC", judge_inputs.PUBLIC))


def _break_sets(stack: contextlib.ExitStack, _: Task) -> None:
    some = comparison.SETS[:2]
    stack.enter_context(mock.patch.object(comparison, "SETS", some))


def _break_ragged(stack: contextlib.ExitStack, task: Task) -> None:
    whole = [case for case in task.cases if "holdout" not in case.tags]
    stack.enter_context(mock.patch.object(task, "cases", whole))


def _break_forward(stack: contextlib.ExitStack, task: Task) -> None:
    """Leaves out the call without gradients."""
    whole = [case for case in task.cases if not case.name.endswith("-forward")]
    stack.enter_context(mock.patch.object(task, "cases", whole))


def _break_unit(stack: contextlib.ExitStack, _: Task) -> None:
    stack.enter_context(mock.patch.object(comparison, "unit_of", return_value=1.0))


def _break_typical(stack: contextlib.ExitStack, _: Task) -> None:
    stack.enter_context(mock.patch.object(comparison, "_TYPICAL", math.inf))


def _break_interpreter(stack: contextlib.ExitStack, _: Task) -> None:
    stack.enter_context(mock.patch.object(interpret, "interpret", return_value=verdict.ok()))


def _break_timed(stack: contextlib.ExitStack, task: Task) -> None:
    """Checks no timed case, however small the case is."""
    cases = [replace(case, tags=("bench",)) if "bench" in case.tags else case for case in task.cases]
    stack.enter_context(mock.patch.object(task, "cases", cases))


def _break_values(stack: contextlib.ExitStack, _: Task) -> None:
    stack.enter_context(mock.patch.object(values, "values_of", return_value=verdict.ok()))


def _break_needles(stack: contextlib.ExitStack, _: Task) -> None:
    plain = tuple(replace(drawn, values=judge_inputs.PUBLIC.values) for drawn in judge_inputs.TIMED)
    for module in (judge_inputs, values):
        stack.enter_context(mock.patch.object(module, "TIMED", plain))
    some = tuple(one for one in comparison.SETS if one.name != "needles")
    stack.enter_context(mock.patch.object(comparison, "SETS", some))


def _break_modelled(stack: contextlib.ExitStack, _: Task) -> None:
    """Compares no timed case on the whole numbers that the model gets."""
    drawn = tuple(replace(one, has_public_whole=False) for one in judge_inputs.TIMED)
    for module in (judge_inputs, values):
        stack.enter_context(mock.patch.object(module, "TIMED", drawn))


def _break_memory(stack: contextlib.ExitStack, _: Task) -> None:
    stack.enter_context(mock.patch.object(interpreted, "can_tell", return_value=False))


def _break_kinds(stack: contextlib.ExitStack, _: Task) -> None:
    """Runs the interpreter on only one kind of inputs, which everybody knows."""
    looks = tuple(interpret._Look([judge_inputs.PUBLIC], is_filled) for is_filled in (False, True))
    stack.enter_context(mock.patch.object(interpret, "_looks", return_value=looks))


def _break_imports(stack: contextlib.ExitStack, task: Task) -> None:
    """Makes the spec allow kernels to import dangerous modules."""

    def freed(case: Case) -> Case:
        signature = {**case.files["signature"], "imports": ["builtins", "hashlib", "json", "numpy.random", "os", "sys"]}
        return replace(case, files={**case.files, "signature": signature})

    stack.enter_context(mock.patch.object(task, "cases", [freed(case) for case in task.cases]))


def _break_sandbox(stack: contextlib.ExitStack, _: Task) -> None:
    def open_air(function: Callable[[], bytes], limits: Limits, is_trusted: bool = True) -> Any:
        return run_in_child(function, limits, is_trusted=is_trusted)

    stack.enter_context(mock.patch.object(sandbox, "run", open_air))


def _break_read_back(stack: contextlib.ExitStack, _: Task) -> None:
    """Reads the text of a kernel's configuration as any JSON."""
    stack.enter_context(mock.patch.object(kernel_config, "read", json.loads))
    stack.enter_context(mock.patch.object(kernel_config, "check_bodies"))


def _break_promises(stack: contextlib.ExitStack, _: Task) -> None:
    stack.enter_context(mock.patch.object(promises.Watch, "check"))
    stack.enter_context(mock.patch.object(promises, "broken_visibly", lambda equation, _: [equation]))


@dataclass(frozen=True)
class Defence:
    """The way to break a defence, and the steps in which the break makes a difference."""

    broken: Break
    steps: tuple[str, ...]


# A defence that checks outputs also checks the outputs of the interpreter.
_OUTPUTS = ("check", "interpret")

DEFENCES: dict[str, Defence] = {
    "one_jaxpr": Defence(_break_one_jaxpr, ("lower",)),
    "imports": Defence(_break_imports, ("lower",)),
    "surroundings": Defence(_no_op(lower, "_check_again"), ("lower",)),
    "sandbox": Defence(_break_sandbox, tuple(_STEPS)),
    "operations": Defence(_no_op(schema, "check"), ("lower",)),
    "arrays": Defence(_no_op(consistent, "_check_arrays"), ("lower",)),
    "characters": Defence(_no_op(wire, "_check_characters"), ("lower",)),
    "flags": Defence(_no_op(consistent, "_check_flags"), ("lower",)),
    "read_back": Defence(_break_read_back, ("lower",)),
    "promises": Defence(_break_promises, ("lower", "interpret")),
    "kept": Defence(_no_op(kept_inputs.Watch, "check"), ("interpret",)),
    "declared": Defence(_no_op(lower, "_check_outputs"), ("lower",)),
    "shapes": Defence(_no_op(comparison, "check_shapes"), _OUTPUTS),
    **{
        name: Defence(_no_op(contract, f"_check_{name}"), ("contract",))
        for name in (
            "kernels calls constants words dependence inside outside "
            "precision additions copies order inputs coverage".split()
        )
    },
    **{name: Defence(_no_op(comparison, f"check_{name}"), _OUTPUTS) for name in ("finite", "elements", "error")},
    "secret": Defence(_break_secret, _OUTPUTS),
    "sets": Defence(_break_sets, _OUTPUTS),
    "forward": Defence(_break_forward, tuple(_STEPS)),
    "ragged": Defence(_break_ragged, ("contract", *_OUTPUTS)),
    "unit": Defence(_break_unit, _OUTPUTS),
    "typical": Defence(_break_typical, _OUTPUTS),
    "timed": Defence(_break_timed, ("contract", *_OUTPUTS)),
    "values": Defence(_break_values, ("values",)),
    "needles": Defence(_break_needles, (*_OUTPUTS, "values")),
    "modelled": Defence(_break_modelled, ("values",)),
    "memory": Defence(_break_memory, ("interpret", "values")),
    "kinds": Defence(_break_kinds, ("interpret",)),
    "interpreter": Defence(_break_interpreter, ("interpret",)),
}


@contextlib.contextmanager
def without(names: tuple[str, ...], task: Task) -> Iterator[None]:
    """Breaks the named defences."""
    with contextlib.ExitStack() as stack:
        for name in names:
            DEFENCES[name].broken(stack, task)
        yield


def main() -> int:
    """Prints the verdict on each kernel of some folders, and whether it is the expected one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--without", action="append", default=[], choices=sorted(DEFENCES))
    parser.add_argument("--tasks", type=Path, default=HERE / "tasks")
    parser.add_argument("folders", nargs="*", type=Path, default=[HERE / "honest", HERE / "cheats"])
    args = parser.parse_args()
    tasks: dict[str, Task] = {}
    judge = Judge()
    wrong = 0
    for entry in (entry for folder in args.folders for entry in entries(folder)):
        task = tasks.setdefault(entry.task, Task(args.tasks / entry.task))
        report = judge(entry.path.read_bytes(), task, tuple(args.without))
        got = "ok" if report["verdict"] == "ok" else report["kind"]
        wrong += got != entry.verdict
        mark = " " if got == entry.verdict else "!"
        print(f"{mark} {entry!s:40} {got:16} {report.get('case', ''):8} {report.get('step', ''):10}", end="")
        print(report.get("reason", "")[:150], flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
