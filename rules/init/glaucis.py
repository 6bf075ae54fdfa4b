"""Glaucis' tasks: a config, its template and its reference become a kernel whose inputs come from outside.

There both files draw their own inputs, from fixed seeds, and give back one sum: whoever knows the seeds knows the
answer, and gradients that nobody gives back nobody compares. Here each draw of `jax.random` becomes an input, in the
order of the draws, and each gradient that `jax.value_and_grad` takes an output. The code stays as it is, and what calls
it so stands behind it (templates/drawn.py.template).
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
from dimensions import Axis, Tensor, Unclear, formula_of
from folder import Case, Given, filled
from source import Imported, Wrong, executed

# Of their draws those whose values have a bound that the judge is to keep, too.
_DRAWERS = {"normal": "", "truncated_normal": "-2, 2", "uniform": "0, 1", "randint": "", "bernoulli": "0, 1"}
_TEMPLATE_NAMES = ("optimized_compute", "kernel_fn")
_REFERENCE_NAMES = (*_TEMPLATE_NAMES, "simple_compute", "reference_fn")
_START, _END = "# EVOLVE-BLOCK-START", "# EVOLVE-BLOCK-END"
# What their configs may have, and what means nothing here: where it would have run, and what chose.
_WITHOUT_MEANING = {
    "evolution": "how it chose: see select in pipelines/README.md",
    "llm": "which model it asked: see mutate.llm in pipelines/README.md",
    "logging": "",
    "evaluator": "where it ran: see cluster in pipelines/README.md",
    "tpu": "where it ran: see cluster in pipelines/README.md",
    "hardware": "its peaks: engine/ir has the device's own",
    "constraints": "what its models were told: put it into learn.file",
}


@dataclass(frozen=True)
class Draw:
    """A call of jax.random: what it is assigned to, and what is asked of it."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    range: str


def read(path: Path, config: dict[str, Any], learnings: str) -> Imported:
    """The task of a config."""
    kernel = section(config, "kernel", path)
    template = file_of(path, kernel, "template")
    reference = file_of(path, kernel, "reference")
    return task_of(config, path, template, reference, learnings)


def section(config: dict[str, Any], name: str, path: Path) -> dict[str, Any]:
    """A section that has to be there."""
    found = config.get(name)
    if not isinstance(found, dict):
        raise Wrong(f"{path}: not a config of Glaucis: there is no section '{name}'")
    return found


def file_of(path: Path, kernel: dict[str, Any], key: str) -> Path:
    """A file that the config names."""
    named = kernel.get(key)
    if not isinstance(named, str):
        raise Wrong(f"{path}: kernel.{key} is missing")
    found = path.parent / named
    if not found.is_file():
        raise Wrong(f"{path}: kernel.{key}: there is no file {found}")
    return found


def task_of(config: dict[str, Any], path: Path, template: Path, reference: Path, learnings: str) -> Imported:
    """The task of a config whose files lie there."""
    kernel = section(config, "kernel", path)
    entry = str(kernel.get("name", path.stem))
    if not entry.isidentifier():
        raise Wrong(f"{path}: kernel.name: '{entry}' is no name of a function")
    shapes = [
        {name: number(f"{path}: shapes", value) for name, value in shape.items()}
        for shape in config.get("shapes") or []
    ]
    if not shapes:
        raise Wrong(f"{path}: there are no shapes")
    texts = template.read_text(), reference.read_text()
    modules = [executed(text, file) for text, file in zip(texts, (template, reference), strict=True)]
    # Theirs may have a function of the kernel's name.
    entry += "_task" if any(hasattr(module, entry) for module in modules) else ""
    functions = [chosen(modules[0], _TEMPLATE_NAMES, template), chosen(modules[1], _REFERENCE_NAMES, reference)]
    draws = [drawn_by(one, shapes[0], text) for one, text in zip(functions, texts, strict=True)]
    if [replace(one, name="") for one in draws[0]] != [replace(one, name="") for one in draws[1]]:
        raise Wrong(f"{template} and {reference} do not draw the same inputs")
    inputs, constants, notices = inputs_of(functions[0], draws[0], shapes, texts[0], str(template))
    sizes = {name: size for name, size in shapes[0].items() if name not in constants}
    adapted = []
    for text, function in zip(texts, functions, strict=True):
        adapted.append(text.rstrip() + "\n" + _adapter(entry, inputs, function, constants, path.name))
    module = executed(adapted[1], reference)
    cases = tuple(
        Case("_".join(f"{name.lower()}{size}" for name, size in shape.items() if name not in constants), shape)
        for shape in shapes
        if all(shape.get(name) == value for name, value in constants.items())
    )
    if len(cases) < len(shapes):
        notices.append(
            f"shapes with other values of {', '.join(constants)} than the first are left out: each is a task"
        )
    parameters, constraints = _tuning(config.get("tuning_params") or {})
    outputs, taken = _output_names(functions[1], draws[1], shapes[0])
    tolerance = config.get("correctness") or {}
    rtol, atol = (number(f"{path}: correctness.{name}", tolerance.get(name, 1e-2)) for name in ("rtol", "atol"))
    if taken or outputs == ["loss"]:
        if atol > 1e-2:
            notices.append(f"atol {atol:g} was for one sum, and would let any gradient pass: 1e-2 is written instead")
        atol = min(atol, 1e-2)
    notices += [
        f"{name}: not taken over{f' ({why})' if why else ''}"
        for name, why in _WITHOUT_MEANING.items()
        if name in config
    ]
    batch, session = config.get("batch") or {}, config.get("session") or {}
    given = Given(
        cases=tuple(replace(case, sizes={name: case.sizes[name] for name in sizes}) for case in cases),
        rtol=rtol,
        atol=atol,
        reference=adapted[1],
        seed=marked(adapted[0], kernel),
        outputs=(*outputs, *taken),
        parameters=parameters,
        constraints=constraints,
        rounds=int(session.get("max_iterations", 20)),
        variants=int(batch.get("variants_per_round", 1)),
        top_k=int(batch.get("top_k", 1)),
        mutator="sweep" if parameters else "rewrite",
        written_by="evolve import glaucis",
        learnings=learnings,
    )
    return Imported(entry, str(path), getattr(module, entry), inputs, sizes, given, notices=notices)


def number(where: str, value: Any) -> Any:
    """A number, which YAML 1.1 may have read as text: 1e-2."""
    try:
        return value if isinstance(value, (int, float)) else float(value)
    except (TypeError, ValueError) as error:
        raise Wrong(f"{where}: {value!r} is no number") from error


def chosen(module: Any, names: tuple[str, ...], path: Path) -> Callable[..., Any]:
    """The function that Glaucis would call."""
    for name in names:
        if callable(function := getattr(module, name, None)):
            return function  # type: ignore[no-any-return]
    raise Wrong(f"{path}: there is no function {' or '.join(names[:2])}")


def marked(text: str, kernel: dict[str, Any]) -> str:
    """The template with the marks that all kernels here have; of several the last, as there."""
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


@contextmanager
def _watched(draws: list[Draw], text: str) -> Iterator[None]:
    """While this lasts, what jax.random draws is noted."""
    kept = {name: getattr(jax.random, name) for name in _DRAWERS}
    statements = [node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.Assign, ast.AnnAssign))]

    def watch(name: str) -> Callable[..., Any]:
        def called(*args: Any, **options: Any) -> Any:
            value = kept[name](*args, **options)
            bounds = _DRAWERS[name]
            if name == "randint":
                low, high = inspect.signature(kept[name]).bind(*args, **options).args[2:4]
                bounds = f"{low}, {high - 1}"
            line = sys._getframe(1).f_lineno  # noqa: SLF001 - whose line says what the draw is called
            draws.append(Draw(_assigned(statements, line), value.dtype.name, tuple(value.shape), bounds))
            return value

        return called

    try:
        for name in kept:
            setattr(jax.random, name, watch(name))
        yield
    finally:
        for name, function in kept.items():
            setattr(jax.random, name, function)


def _assigned(statements: list[Any], line: int) -> str:
    """What is assigned in a line, if that is one name."""
    for node in statements:
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if node.lineno <= line <= (node.end_lineno or line) and isinstance(target, ast.Name):
            return target.id
    return "x"


def drawn_by(function: Callable[..., Any], shape: dict[str, Any], text: str) -> list[Draw]:
    """What the function draws, in its order; its names are each there once."""
    draws: list[Draw] = []
    try:
        with _watched(draws, text):
            jax.eval_shape(lambda: function(**shape))
    except Exception as error:
        raise Wrong(f"{function.__name__}({_words(shape)}): {type(error).__name__}: {error}") from error
    if not draws:
        raise Wrong(f"{function.__name__} draws no inputs by jax.random: there is nothing to judge it by")
    names: list[str] = []
    for one in draws:
        name = one.name if one.name not in names else f"{one.name}{len(names)}"
        names.append(name)
    return [replace(one, name=name) for one, name in zip(draws, names, strict=True)]


def _words(sizes: dict[str, Any]) -> str:
    return ", ".join(f"{name}={size}" for name, size in sizes.items())


def inputs_of(
    function: Callable[..., Any], draws: list[Draw], shapes: list[dict[str, Any]], text: str, path: str
) -> tuple[tuple[Tensor, ...], dict[str, Any], list[str]]:
    """The draws as inputs over the function's arguments; and those arguments that are no extent of any."""
    base = {name: size for name, size in shapes[0].items() if isinstance(size, int) and not isinstance(size, bool)}

    def size_at(sizes: dict[str, int], number: int, axis: int) -> int:
        found: list[Draw] = []
        try:
            with _watched(found, text):
                jax.eval_shape(lambda: function(**(shapes[0] | sizes)))
        except Exception:  # noqa: BLE001 - it drew before it failed, or it did not
            pass
        if number >= len(found):
            raise Wrong(f"{path}: it draws nothing for {_words(sizes)}")
        return found[number].shape[axis]

    inputs = []
    for at, one in enumerate(draws):
        axes: list[Axis] = []
        for axis in range(len(one.shape)):
            try:
                formula = formula_of(lambda sizes, at=at, axis=axis: size_at(sizes, at, axis), base)  # type: ignore[misc]
            except Unclear as why:
                raise Wrong(f"{path}: '{one.name}': {why}") from why
            axes.append(int(formula) if formula.isdigit() else formula)
            if isinstance(axes[-1], str) and axes[-1] not in base:
                raise Wrong(f"{path}: '{one.name}' has a side of {formula}: a side has to be an argument, or a number")
        inputs.append(Tensor(one.name, one.dtype, tuple(axes), one.range))
    used = {axis for one in inputs for axis in one.axes if isinstance(axis, str)}
    return tuple(inputs), {name: value for name, value in shapes[0].items() if name not in used}, []


def _adapter(
    entry: str, inputs: tuple[Tensor, ...], function: Callable[..., Any], constants: dict[str, Any], path: str
) -> str:
    places = {
        axis: f"{one.name}.shape[{at}]" for one in inputs for at, axis in enumerate(one.axes) if isinstance(axis, str)
    }
    sizes = ", ".join(
        f"{name}={value}" for name, value in (places | {n: repr(v) for n, v in constants.items()}).items()
    )
    words = {
        "entry": entry,
        "arguments": ", ".join(one.name for one in inputs),
        "compute": function.__name__,
        "sizes": sizes,
        "drawers": ", ".join(f'"{name}"' for name in _DRAWERS),
        "path": path,
    }
    return filled("drawn.py", words)


def _output_names(
    function: Callable[..., Any], draws: list[Draw], shape: dict[str, Any]
) -> tuple[list[str], list[str]]:
    """What it gives back, and the gradients that it takes: each called after the input that it is by, where it can be."""
    kept, named = jax.value_and_grad, list[str]()

    def watch(inner: Callable[..., Any], argnums: Any = 0, *args: Any, **options: Any) -> Callable[..., Any]:
        def called(*inputs: Any) -> Any:
            value, gradients = kept(inner, argnums, *args, **options)(*inputs)
            shapes = [tuple(leaf.shape) for leaf in jax.tree.leaves(gradients)]
            parameters = list(inspect.signature(inner).parameters)
            places = [argnums] if isinstance(argnums, int) else list(argnums)
            for at, _ in enumerate(shapes):
                name = (
                    parameters[places[at]] if len(places) == len(shapes) and places[at] < len(parameters) else f"x{at}"
                )
                named.append(f"grad_{name}")
            return value, gradients

        return called

    try:
        jax.value_and_grad = watch
        made = jax.tree.leaves(jax.eval_shape(lambda: function(**shape)))
    finally:
        jax.value_and_grad = kept
    scalar = len(made) == 1 and made[0].shape == ()
    return (["loss"] if scalar else ["out"] if len(made) == 1 else [f"out{at}" for at in range(len(made))]), named


def _tuning(tuning: dict[str, Any]) -> tuple[dict[str, tuple[int, ...]], tuple[str, ...]]:
    """Of the sweeper's parameters those that are whole numbers, and its constraints in our formulas' words."""
    parameters = {
        name: tuple(one.get("values", []))
        for name, one in (tuning.get("params") or {}).items()
        if isinstance(one, dict)
    }
    words = {" and ": " && ", " or ": " || ", "//": "/"}
    constraints = []
    for text in map(str, tuning.get("constraints") or []):
        for theirs, ours in words.items():
            text = text.replace(theirs, ours)
        constraints.append(text)
    return parameters, tuple(constraints)
