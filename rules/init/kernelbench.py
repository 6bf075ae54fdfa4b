"""KernelBench's problems: a file with a PyTorch `Model`, its sizes and its inputs becomes a JAX function.

PyTorch need not be installed, because the file runs with a stand-in. So the file's sizes, its inputs' shapes and its
model's numbers and layers are known. The text of `forward` is translated. A model's weights become inputs.
"""

from __future__ import annotations

import ast
import keyword
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import jax

from init.blocks import drawn, halved_sizes, small_sizes
from init.dimensions import Axis, Task, Tensor, Unclear, named, outputs_of, shapes_given, structs
from init.source import Given, Imported, Tolerance, Wrong, called, executed, number
from init.torch_calls import LITERALS, helpers_of, imports_of, is_helper
from init.torch_file import File
from init.torch_forms import NARROWED
from init.torch_stand_in import Sample, Size, standing_in
from init.torch_text import Translator

_FLOATS = ("float16", "bfloat16", "float32")
# Names that kernel.py and its template use themselves.
_TAKEN = {"sizes", "results", "values", "jax", "jnp", "math", "pl", "pltpu", "dataclass", "block_sizes", "on_block"}
_TOLERANCES = {"rtol": ("output_rtol", "rtol"), "atol": ("output_atol", "atol")}
# The smallest dimension for which an upper bound of whole numbers is written as "DIMENSION - 1". A smaller dimension
# may fit the bound by chance.
_LEAST_NAMED = 8
# The maximum number of elements of an input that a function is tried with.
_MOST_DRAWN = 1 << 22


@dataclass(frozen=True)
class Problem:
    """A problem's file that has run."""

    path: Path
    module: ModuleType
    tree: ast.Module
    model: Any
    given: list[Any]  # from get_inputs

    @staticmethod
    def read(path: Path) -> Problem:
        """Reads a problem, and runs its file with the stand-in."""
        text = path.read_text()
        try:
            tree = ast.parse(text, str(path))
        except SyntaxError as error:
            raise Wrong(f"{path}:{error.lineno}: {error.msg}") from error
        with standing_in():
            module = executed(text, path)
            for name in ("Model", "get_inputs"):
                if not callable(getattr(module, name, None)):
                    raise Wrong(f"{path}: not a problem of KernelBench: it has no {name}")
            arguments = called(f"{path}: get_init_inputs", getattr(module, "get_init_inputs", list))
            arguments = [arguments] if isinstance(arguments, dict) else list(arguments or [])
            said = [one for one in arguments if not isinstance(one, dict)]
            words = {key: value for one in arguments if isinstance(one, dict) for key, value in one.items()}
            model = called(f"{path}: Model", module.Model, *said, **words)
            for name, value in list(vars(module).items()):
                if type(value) is int:
                    setattr(module, name, Size(value, name))
            given = list(called(f"{path}: get_inputs", module.get_inputs))
        return Problem(path, module, tree, model, given)

    def forward(self) -> tuple[ast.FunctionDef, str]:
        """Returns the model's function, and the file's own summary of it."""
        for node in self.tree.body:
            if isinstance(node, ast.ClassDef) and node.name == "Model":
                for one in node.body:
                    if isinstance(one, ast.FunctionDef) and one.name == "forward":
                        told = ast.get_docstring(node) or ast.get_docstring(one) or ""
                        return one, (told.splitlines() or [""])[0].strip().rstrip(".")
        raise Wrong(f"{self.path}: its Model has no forward")


@dataclass(frozen=True)
class Translated:
    """A problem's function in JAX, and its inputs."""

    entry: str
    summary: str
    text: str
    samples: dict[str, Sample]
    windows: dict[str, int]  # by input: how many of its last axes are numbers of the model
    notices: list[str]

    @staticmethod
    def read(problem: Problem) -> Translated:
        """Translates a problem by the tables of torch_forms.py."""
        path, notices = problem.path, list[str]()
        forward, summary = problem.forward()
        names = _arguments(problem, forward)
        given = dict(zip(names, problem.given, strict=False))
        numbers = _numbers(path, forward, type(problem.model).forward.__defaults__ or (), given, notices)
        entry = entry_of(path, {*names, *_assigned(forward)})
        file = File(str(path), problem.tree, problem.model, vars(problem.module))
        file.taken.add(entry)
        translator = Translator(file, problem.model)
        function = translator.function(forward, entry, summary or entry, numbers)
        text = "\n\n\n".join([*file.functions_in_jax(), function])
        try:
            text = "\n\n\n".join([*helpers_of(text), text])
        except SyntaxError as error:
            raise Wrong(f"{path}: what it computes cannot be translated to JAX: write its reference.py") from error
        imports = imports_of(text)
        text = "\n\n\n".join(["\n".join(imports), text] if imports else [text])
        text = f'"""What {path.name} of KernelBench computes, in JAX."""\n\n{text}'
        samples = {name: one for name, one in given.items() if isinstance(one, Sample)}
        samples |= {name: Sample(one.shape, one.dtype) for name, one in translator.weights.items()}
        windows = {name: one.numbers for name, one in translator.weights.items()}
        notices += _notices(samples, list(translator.weights)) + list(dict.fromkeys(file.notices))
        return Translated(entry, summary or entry, text, samples, windows, notices)

    def function(self) -> Callable[..., Any]:
        """Runs the text, and returns its function."""
        made: Callable[..., Any] = getattr(executed(self.text, Path(f"{self.entry}_in_jax.py")), self.entry)
        return made


def read(path: Path, config: dict[str, Any]) -> Imported:
    """Reads the task of a problem's file."""
    del config  # the file is not YAML
    problem = Problem.read(path)
    found = Translated.read(problem)
    function = found.function()
    inputs, sizes = dimensions_of(path, function, found.samples, found.windows, problem.module)
    inputs = _without_ranges(function, inputs, sizes, found.notices)
    known = Given(
        tolerance=_tolerance(path, problem.module),
        reference=found.text,
        written_by="evolve import kernelbench",
    )
    return Imported(found.entry, found.entry, str(path), function, inputs, sizes, known, found.summary, found.notices)


def _arguments(problem: Problem, forward: ast.FunctionDef) -> list[str]:
    """Returns the names of forward's inputs."""
    names = [one.arg for one in forward.args.args[1:]]
    if len(problem.given) > len(names):
        raise Wrong(f"{problem.path}: forward takes {len(names)} inputs, but get_inputs gives {len(problem.given)}")
    for name in names:
        if keyword.iskeyword(name) or name in _TAKEN or is_helper(name):
            where = f"{problem.path}:{forward.lineno}"
            raise Wrong(f"{where}: an input is called '{name}', a name that the kernel uses itself")
    return names


def entry_of(path: Path, taken: set[str]) -> str:
    """Returns the function's name: that of the file, without its number."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z][a-z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", re.sub(r"^\d+_", "", path.stem))
    name = re.sub(r"\W|_+", "_", words).strip("_").lower()
    name = name if name.isidentifier() else f"task_{name}"
    return f"{name}_task" if is_helper(name) or keyword.iskeyword(name) or name in taken | _TAKEN else name


def _assigned(node: ast.FunctionDef) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}


def _numbers(
    path: Path, forward: ast.FunctionDef, defaults: Sequence[Any], given: dict[str, Any], notices: list[str]
) -> dict[str, Any]:
    """Returns the inputs that are not arrays, and the inputs that get_inputs leaves to their defaults."""
    found = {}
    names = [one.arg for one in forward.args.args]
    for name, default in zip(names[len(names) - len(defaults) :], defaults, strict=True):
        if name not in given:
            if not isinstance(default, (*LITERALS, tuple)):
                raise Wrong(f"{path}: '{name}' of forward is a {type(default).__name__}: get_inputs must give it")
            found[name] = int(default) if isinstance(default, Size) else default
    for name in names[1:]:
        value = given.get(name)
        if isinstance(value, (bool, int, float)):
            found[name] = int(value) if isinstance(value, Size) else value
            notices.append(f"'{name}' is {value} always: it becomes a number of the function, not an input")
        elif not isinstance(value, Sample) and name not in found:
            what = "nothing" if name not in given else f"a {type(value).__name__}"
            raise Wrong(f"{path}: get_inputs gives {what} for '{name}': expected an array or a number")
    return found


def _notices(samples: dict[str, Sample], weights: list[str]) -> list[str]:
    found = []
    for name, one in samples.items():
        for trait in sorted(one.traits):
            found.append(f"'{name}' is {trait} there, but is drawn without that here")
        if one.dtype in NARROWED:
            found.append(f"'{name}' is {one.dtype} there, and {NARROWED[one.dtype]} here")
    if weights:
        found.append(f"weights are inputs here, and are drawn again each time: {', '.join(weights)}")
    return found


def dimensions_of(
    path: Path,
    function: Callable[..., Any],
    samples: dict[str, Sample],
    windows: dict[str, int],
    module: ModuleType,
) -> tuple[tuple[Tensor, ...], dict[str, int]]:
    """Returns the inputs over dimensions, with the file's name for each size that has just one."""
    plain = tuple(
        Tensor(name, NARROWED.get(one.dtype, one.dtype), tuple(map(int, one.shape))) for name, one in samples.items()
    )
    called(f"{path}: what it computes, in JAX", jax.eval_shape, function, *structs(plain, {}))
    inputs, sizes = named(function, plain)
    sided = {axis for one in inputs for axis in one.axes[len(one.axes) - windows.get(one.name, 0) :]}
    inputs, sizes = _clear(function, *_fixed(inputs, sizes, set(sizes) - sided))
    if not sizes:
        raise Wrong(f"{path}: it takes no other sizes than these: there is nothing to search")
    names = _names(inputs, list(samples.values()), sizes, module)
    inputs = tuple(replace(one, axes=tuple(names.get(str(axis), axis) for axis in one.axes)) for one in inputs)
    sizes = {names[name]: size for name, size in sizes.items()}
    ranged = [replace(one, range=_range(samples[one.name], one.dtype, sizes)) for one in inputs]
    return tuple(ranged), sizes


def _clear(
    function: Callable[..., Any], inputs: tuple[Tensor, ...], sizes: dict[str, int]
) -> tuple[tuple[Tensor, ...], dict[str, int]]:
    """Makes dimensions numbers if an output's side is not a formula over them, as with a window."""
    kept: dict[str, int] = {}
    for name, size in sizes.items():
        if _is_clear(function, *_fixed(inputs, sizes, {*kept, name})):
            kept[name] = size
    return _fixed(inputs, sizes, set(kept))


def _fixed(
    inputs: tuple[Tensor, ...], sizes: dict[str, int], kept: set[str]
) -> tuple[tuple[Tensor, ...], dict[str, int]]:
    def axis_of(axis: Axis) -> Axis:
        return axis if isinstance(axis, int) or axis in kept else sizes[axis]

    numbered = tuple(replace(one, axes=tuple(map(axis_of, one.axes))) for one in inputs)
    return numbered, {name: size for name, size in sizes.items() if name in kept}


def _is_clear(function: Callable[..., Any], inputs: tuple[Tensor, ...], sizes: dict[str, int]) -> bool:
    try:
        outputs = outputs_of(function, inputs, sizes)
    except Unclear:
        return False
    return not any("-" in str(axis) for one in outputs for axis in one.axes)


def _names(
    inputs: tuple[Tensor, ...], samples: Sequence[Sample], sizes: dict[str, int], module: ModuleType
) -> dict[str, str]:
    """Returns the dimensions' names: the file's name of a size, if there is just one and no other size has it."""
    said: dict[str, set[str]] = {name: set() for name in sizes}
    for one, sample in zip(inputs, samples, strict=True):
        for axis, side in zip(one.axes, sample.shape, strict=True):
            if isinstance(axis, str) and isinstance(side, Size):
                said[axis].add(side.name)
    globals_ = {name: int(value) for name, value in vars(module).items() if isinstance(value, Size)}
    for name, size in sizes.items():
        said[name] = said[name] or {known for known, value in globals_.items() if value == size}
    wanted = {name: next(iter(words)).upper() for name, words in said.items() if len(words) == 1}
    taken = {one.name for one in inputs} | {f"D{at}" for at in range(len(sizes))}
    uses = list(wanted.values())
    return {
        name: wanted[name]
        if name in wanted
        and re.fullmatch(r"[A-Z]\w*", wanted[name])
        and uses.count(wanted[name]) == 1
        and wanted[name] not in taken
        else name
        for name in sizes
    }


def _without_ranges(
    function: Callable[..., Any], inputs: tuple[Tensor, ...], sizes: dict[str, int], notices: list[str]
) -> tuple[Tensor, ...]:
    """Drops the ranges of floating-point inputs if the outputs stay finite.

    `rand` draws no negative numbers, so a relu would change nothing.
    """
    ranged = [one.name for one in inputs if one.range and one.dtype in _FLOATS]
    if not ranged:
        return inputs
    free = tuple(replace(one, range="") if one.name in ranged else one for one in inputs)
    task = Task(free, outputs_of(function, free, sizes), sizes)
    small = halved_sizes(task)
    # Odd sizes are not halved, so an array may still be too large.
    is_large = any(math.prod(one.shape) > _MOST_DRAWN for one in structs(free, small))
    if is_large or shapes_given(function, structs(free, small)) is None:
        small = small_sizes(function, task, ragged=False)
    leaves = jax.tree.leaves(jax.jit(function)(*drawn(task, small)))
    if not all(bool(jax.numpy.isfinite(leaf).all()) for leaf in leaves):
        return inputs
    notices.append(f"drawn from a normal distribution, not from a range as there: {', '.join(ranged)}")
    return free


def _range(sample: Sample, dtype: str, sizes: dict[str, int]) -> str:
    if sample.low is None or sample.high is None or dtype == "bool" or sample.low == sample.high:
        return ""
    if dtype in _FLOATS:
        return f"{sample.low:g}, {sample.high:g}"
    low, high = int(sample.low), int(sample.high)
    named_so = [name for name, size in sizes.items() if size == high + 1 and size >= _LEAST_NAMED]
    return f"{low}, {named_so[0]} - 1" if len(named_so) == 1 else f"{low}, {high}"


def _tolerance(path: Path, module: ModuleType) -> Tolerance:
    found = {}
    for name, words in _TOLERANCES.items():
        said = next((word for word in words if hasattr(module, word)), "")
        if said:
            found[name] = number(f"{path}: {said}", getattr(module, said))
    return replace(Tolerance(), **found)
