"""Glaucis' tasks: a config, its template and its reference become a kernel whose inputs come from outside.

In Glaucis, both files draw their own inputs, from fixed seeds, and return one sum. A kernel that knows the seeds knows
the answer, and gradients that nobody returns are not compared. Here each draw of `jax.random` becomes an input, in the
order of the draws, and each gradient that `jax.value_and_grad` takes becomes an output. The code stays as it is; an
adapter after the code calls it in this way (templates/drawn.py.template).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from init.dimensions import Axis, Tensor, Unclear, formula_of
from init.folder import filled
from init.glaucis_run import Run, learnings_above
from init.source import Case, Given, Imported, Tolerance, Wrong, executed, number, text_of
from init.watched import DRAWERS, Draw, Seen, watched

_TEMPLATE_NAMES = ("optimized_compute", "kernel_fn")
_REFERENCE_NAMES = (*_TEMPLATE_NAMES, "simple_compute", "reference_fn")
_START, _END = "# EVOLVE-BLOCK-START", "# EVOLVE-BLOCK-END"
# The largest `atol` for gradients. A config's `atol` may be larger, because it is for a single sum of all elements.
_MOST_ATOL = 1e-2
# Keys of Glaucis' configs that are not imported, each with the place of such a setting here.
_ELSEWHERE = {
    "evolution": "see select in pipelines/README.md",
    "llm": "see mutate.llm in pipelines/README.md",
    "logging": "see session in pipelines/README.md",
    "evaluator": "see cluster in pipelines/README.md",
    "tpu": "see cluster in pipelines/README.md",
    "hardware": "the target's own peaks count",
    "constraints": "texts for models are in learn.file",
}


@dataclass(frozen=True)
class Files:
    """One of a config's two files: its text, the module that runs the text, and the function."""

    path: Path
    text: str
    module: ModuleType
    function: Callable[..., Any]

    @staticmethod
    def read(path: Path, names: tuple[str, ...]) -> Files:
        """Reads a file, with the function that Glaucis would call."""
        text = text_of(path)
        module = executed(text, path)
        for name in names:
            if callable(function := getattr(module, name, None)):
                return Files(path, text, module, function)
        raise Wrong(f"{path}: no function {' or '.join(names[:2])}")

    def seen(self, arguments: dict[str, Any]) -> Seen:
        """Returns the draws, gradients and outputs of the function for these arguments."""
        return watched(self.function, arguments, self.text)


def read(path: Path, config: dict[str, Any]) -> Imported:
    """Reads the task of a config, or of a run's folder with the run's results."""
    kernel = config.get("kernel")
    if not isinstance(kernel, dict) or not config.get("shapes"):
        raise Wrong(f"{path}: not a config of Glaucis: it has no {'shapes' if isinstance(kernel, dict) else 'kernel'}")
    if path.is_dir():
        run = Run(path)
        task = task_of(path / "config.yaml", config, run.baseline, run.reference(config))
        return run.added_to(task)
    found = []
    for key in ("template", "reference"):
        file = path.parent / str(kernel.get(key, ""))
        if not file.is_file():
            raise Wrong(f"{path}: kernel.{key}: no file {file}")
        found.append(file)
    return task_of(path, config, found[0], found[1])


def task_of(path: Path, config: dict[str, Any], template: Path, reference: Path) -> Imported:
    """Returns the task of a config with these files."""
    files = Files.read(template, _TEMPLATE_NAMES), Files.read(reference, _REFERENCE_NAMES)
    shapes: list[dict[str, Any]] = [dict(shape) for shape in config["shapes"]]
    seen = [one.seen(shapes[0]) for one in files]
    _check(files, seen, shapes[0])
    inputs = _inputs(files[0], seen[0].draws, shapes[0])
    extents = {axis for one in inputs for axis in one.axes if isinstance(axis, str)}
    sizes = {name: size for name, size in shapes[0].items() if name in extents}
    constants = {name: value for name, value in shapes[0].items() if name not in extents}
    # The entry must not have the name of a function that Glaucis' files already have.
    name = str(config["kernel"].get("name", path.stem))
    entry = f"{name}_task" if any(hasattr(one.module, name) for one in files) else name
    texts = [one.text.rstrip() + "\n" + _adapter(path, entry, inputs, one.function, constants) for one in files]
    notices: list[str] = []
    given = replace(
        _search(config),
        tolerance=_tolerance(config, seen[1], notices),
        cases=_cases(shapes, sizes, constants, notices),
        reference=texts[1],
        seed=_marked(texts[0], config["kernel"]),
        outputs=(*_output_names(seen[1]), *seen[1].gradients),
        written_by="evolve import glaucis",
    )
    notices += [f"'{name}' is not imported: {where}" for name, where in _ELSEWHERE.items() if name in config]
    module = executed(texts[1], reference)
    learnings = learnings_above(path)
    return Imported(
        name, entry, str(path), getattr(module, entry), inputs, sizes, given, notices=notices, learnings=learnings
    )


def _check(files: tuple[Files, Files], seen: list[Seen], shape: dict[str, Any]) -> None:
    for one, did in zip(files, seen, strict=True):
        if did.failure:
            words = ", ".join(f"{name}={size}" for name, size in shape.items())
            raise Wrong(f"{one.path}: {one.function.__name__}({words}): {did.failure}")
        if not did.draws:
            raise Wrong(f"{one.path}: {one.function.__name__} draws nothing with jax.random, so its inputs are unknown")
    if [replace(draw, name="") for draw in seen[0].draws] != [replace(draw, name="") for draw in seen[1].draws]:
        raise Wrong(f"{files[0].path} and {files[1].path} do not draw the same inputs")


def _inputs(file: Files, draws: list[Draw], shape: dict[str, Any]) -> tuple[Tensor, ...]:
    """Returns the draws as inputs; each side is an argument of the function, or a number."""
    base = {name: size for name, size in shape.items() if type(size) is int}
    known: dict[tuple[int, ...], Seen] = {}

    def side(sizes: dict[str, int], place: int, axis: int) -> int:
        key = tuple(sizes.values())
        if key not in known:
            known[key] = file.seen(shape | sizes)
        if place >= len(known[key].draws):
            raise Unclear(known[key].failure)
        return known[key].draws[place].shape[axis]

    found = []
    for place, one in enumerate(draws):
        axes: list[Axis] = []
        for axis in range(len(one.shape)):
            try:
                formula = formula_of(lambda sizes, n=place, a=axis: side(sizes, n, a), base)  # type: ignore[misc]
            except Unclear as why:
                raise Wrong(f"{file.path}: '{one.name}': {why}") from why
            if not formula.isdigit() and formula not in base:
                raise Wrong(
                    f"{file.path}: '{one.name}' has a side of {formula}, which is neither an argument nor a number"
                )
            axes.append(int(formula) if formula.isdigit() else formula)
        found.append(Tensor(one.name, one.dtype, tuple(axes), one.range))
    return tuple(found)


def _adapter(
    path: Path, entry: str, inputs: tuple[Tensor, ...], function: Callable[..., Any], constants: Mapping[str, Any]
) -> str:
    sizes = {axis: f"{one.name}.shape[{at}]" for one in inputs for at, axis in enumerate(one.axes)}
    passed = {name: value for name, value in sizes.items() if isinstance(name, str)}
    passed |= {name: repr(value) for name, value in constants.items()}
    words = {
        "entry": entry,
        "arguments": ", ".join(one.name for one in inputs),
        "compute": function.__name__,
        "sizes": ", ".join(f"{name}={value}" for name, value in passed.items()),
        "drawers": ", ".join(f'"{name}"' for name in DRAWERS),
        "path": path.name,
    }
    return filled("drawn.py", words)


def _cases(
    shapes: list[dict[str, Any]], sizes: dict[str, int], constants: dict[str, Any], notices: list[str]
) -> tuple[Case, ...]:
    """Returns the cases of the shapes that differ only in extents, because everything else is part of the task."""
    fitting = [shape for shape in shapes if {name: shape.get(name) for name in constants} == constants]
    if len(fitting) < len(shapes):
        notices.append(f"shapes with another {', '.join(constants)} than the first are left out: they are another task")
    named = [{name: shape[name] for name in sizes} for shape in fitting]
    return tuple(Case("_".join(f"{name.lower()}{size}" for name, size in shape.items()), shape) for shape in named)


def _tolerance(config: dict[str, Any], seen: Seen, notices: list[str]) -> Tolerance:
    given = config.get("correctness") or {}
    rtol, atol = (number(f"correctness.{name}", given.get(name, 1e-2)) for name in ("rtol", "atol"))
    if seen.gradients and atol > _MOST_ATOL:
        was = f"correctness.atol: {atol:g} was for a single sum; with it, any gradient would pass"
        notices.append(f"{was}; it is {_MOST_ATOL:g} now")
        atol = _MOST_ATOL
    return Tolerance(rtol, atol)


def _output_names(seen: Seen) -> list[str]:
    if seen.outputs == [()]:
        return ["loss"]
    return ["out"] if len(seen.outputs) == 1 else [f"out{at}" for at in range(len(seen.outputs))]


def _search(config: dict[str, Any]) -> Given:
    """Returns the rounds and variants, and the sweeper's parameters and constraints in the form of our formulas."""
    tuning = config.get("tuning_params") or {}
    parameters = {
        name: tuple(one.get("values") or []) for name, one in (tuning.get("params") or {}).items() if one.get("values")
    }
    constraints = tuple(
        str(text).replace(" and ", " && ").replace(" or ", " || ").replace("//", "/")
        for text in tuning.get("constraints") or []
    )
    batch, session = config.get("batch") or {}, config.get("session") or {}
    return Given(
        parameters=parameters,
        constraints=constraints,
        mutator="sweep" if parameters else "rewrite",
        rounds=int(session.get("max_iterations", 20)),
        variants=int(batch.get("variants_per_round", 1)),
        top_k=int(batch.get("top_k", 1)),
    )


def _marked(text: str, kernel: dict[str, Any]) -> str:
    """Writes the marks that all kernels here have. If there are several, the last ones count, as in Glaucis."""
    given = kernel.get("evolve_markers") or kernel.get("markers") or {}
    lines = text.splitlines()
    for name, ours in (("start", _START), ("end", _END)):
        theirs = str(given.get(name, ours))
        places = [at for at, line in enumerate(lines) if theirs in line]
        if not places:
            raise Wrong(f"the template has no line with '{theirs}'")
        for at in places:
            lines[at] = ours if at == places[-1] else lines[at].replace(theirs, "")
    return "\n".join(lines) + "\n"
