"""MaxKernel's tasks: kernel_task.yaml, the reference.py next to it and, if it is there, optimized.py.

`get_inputs` returns dynamic arguments, which are arrays, and static arguments, which are part of the task. Or it
returns a list of such pairs, one for each case. `computation` takes the dynamic arguments, then the static ones.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from init.dimensions import Tensor, named
from init.ranges import range_of
from init.source import Case, Given, Imported, Tolerance, Wrong, called, executed, number

_ENTRY = "computation"
# The imports that MaxKernel's evaluator makes, on which a task's input_gen_code relies.
_KNOWN = "import jax\nimport jax.numpy as jnp\nimport numpy as np\n"


def read(path: Path, config: dict[str, Any]) -> Imported:
    """Reads the task of a file, or of its folder."""
    folder = path if path.is_dir() else path.parent
    code = config.get("input_gen_code")
    if not isinstance(code, str):
        raise Wrong(f"{path}: not a task of MaxKernel: it has no input_gen_code")
    reference = folder / "reference.py"
    if not reference.is_file():
        raise Wrong(f"{path}: no file {reference}")
    module = executed(_KNOWN + textwrap.dedent(code), path)
    pairs = _pairs(path, getattr(module, "get_inputs", None))
    notices: list[str] = []
    fitting = [pair for pair in pairs if _is_alike(pair, pairs[0])]
    dynamic, static = fitting[0]
    function = getattr(executed(reference.read_text(), reference), _ENTRY, None)
    if not callable(function):
        raise Wrong(f"{reference}: no function {_ENTRY}")
    name = re.sub(r"\W+", "_", str(config.get("task_id") or folder.name)).strip("_").lower()
    name = re.sub(r"^\d+\w?_", "", name)
    names = list(inspect.signature(function).parameters)[: len(dynamic)]
    text = reference.read_text().rstrip() + "\n" + _adapter(name, names, static)
    function = getattr(executed(text, reference), name)
    inputs, sizes, cases = _dimensions(function, names, [dynamic for dynamic, _ in fitting])
    if len(cases) < len(pairs):
        notices.append(
            f"{len(pairs) - len(cases)} of {len(pairs)} inputs are left out: more than sizes differ from the first"
        )
    rtol, atol = (min(_listed(config, key)) for key in ("rtol", "atol"))
    if (folder / "optimized.py").is_file():
        notices.append("optimized.py is not imported: evolve propose judges it like any other")
    given = Given(cases=cases, tolerance=Tolerance(rtol, atol), reference=text, written_by="evolve import maxkernel")
    summary = " ".join(str(config.get("description") or name).split())
    return Imported(name, name, str(path), function, inputs, sizes, given, summary=summary, notices=notices)


def _pairs(path: Path, giver: Callable[[], Any] | None) -> list[tuple[list[Any], list[Any]]]:
    """Returns the pairs that get_inputs gives, one or several."""
    if giver is None:
        raise Wrong(f"{path}: input_gen_code has no function get_inputs")
    given = called(f"{path}: get_inputs()", giver)
    pairs = given if isinstance(given, list) else [given]
    if not pairs or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
        raise Wrong(f"{path}: get_inputs() must give pairs of dynamic and static arguments")
    found = [(list(dynamic), list(static)) for dynamic, static in pairs]
    for dynamic, _ in found:
        if not all(hasattr(one, "shape") and hasattr(one, "dtype") for one in dynamic):
            raise Wrong(f"{path}: get_inputs(): a dynamic argument is not an array")
    return found


def _is_alike(one: tuple[list[Any], list[Any]], other: tuple[list[Any], list[Any]]) -> bool:
    kinds = [[(array.dtype, len(array.shape)) for array in dynamic] for dynamic, _ in (one, other)]
    return kinds[0] == kinds[1] and repr(one[1]) == repr(other[1])


def _adapter(name: str, names: list[str], static: list[Any]) -> str:
    arguments = ", ".join(names)
    passed = ", ".join([*names, *map(repr, static)])
    return f"\n\ndef {name}({arguments}):\n    return {_ENTRY}({passed})\n"


def _dimensions(
    function: Callable[..., Any], names: list[str], given: list[list[Any]]
) -> tuple[tuple[Tensor, ...], dict[str, int], tuple[Case, ...]]:
    """Returns the inputs over dimensions, and the cases. A dimension stands for sides that change together."""
    shapes = [[tuple(map(int, one.shape)) for one in dynamic] for dynamic in given]
    tensors = tuple(
        Tensor(name, np.dtype(one.dtype).name, shape)
        for name, one, shape in zip(names, given[0], shapes[0], strict=True)
    )
    inputs, sizes = named(function, tensors)
    found = [_sizes(inputs, shape) for shape in shapes]
    cases = [Case(f"case{at}" if len(shapes) > 1 else "given", one) for at, one in enumerate(found) if one is not None]
    ranged = (replace(one, range=range_of(array, sizes)) for one, array in zip(inputs, given[0], strict=True))
    return tuple(ranged), sizes, tuple(cases)


def _sizes(inputs: tuple[Tensor, ...], shapes: list[tuple[int, ...]]) -> dict[str, int] | None:
    """Returns the dimensions' sizes in these shapes; None: the shapes are not of the same task."""
    found: dict[str, int] = {}
    for one, sides in zip(inputs, shapes, strict=True):
        for axis, side in zip(one.axes, sides, strict=True):
            if side != (axis if isinstance(axis, int) else found.setdefault(axis, side)):
                return None
    return found


def _listed(config: dict[str, Any], key: str) -> list[float]:
    given = config.get(key, 1e-3)
    return [number(key, one) for one in (given if isinstance(given, list) else [given])]
