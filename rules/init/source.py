"""A user's own file, which is trusted and run as it is; and the task that an importer makes from one."""

from __future__ import annotations

import importlib.util
import inspect
import json
import linecache
import stat
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from init.dimensions import Tensor

# The maximum number of bytes of a file. No kernel, table of sizes or result has as many.
_MOST_BYTES = 16 * 2**20


class Wrong(Exception):
    """The user's input is not right; the message says what is wrong."""


@dataclass(frozen=True)
class Case:
    """A timed case that a task names."""

    name: str
    sizes: dict[str, int]
    weight: float = 1


@dataclass(frozen=True)
class Tolerance:
    """The tolerance of each element by itself."""

    rtol: float = 1e-2
    atol: float = 1e-2


@dataclass(frozen=True)
class Given:
    """All that is known of a task, apart from its function and its inputs. The rest is found out, or is a default."""

    cases: tuple[Case, ...] = ()
    tolerance: Tolerance = Tolerance()
    outputs: tuple[str, ...] = ()  # their names
    reference: str = ""  # the text of reference.py, and of xla.py
    seed: str = ""  # kernel.py
    parameters: dict[str, tuple[int, ...]] = field(default_factory=dict)  # of the seed
    constraints: tuple[str, ...] = ()
    contract: dict[str, float | list[str]] = field(default_factory=dict)  # the terms that the seed needs
    rounds: int = 3
    variants: int = 8
    top_k: int = 2
    mutator: str = "sweep"
    opening: int = 0  # rounds whose kernels exist already
    policy: str = ""  # of the selection
    learnings: str = ""  # a file of learnings, as the pipeline names it
    written_by: str = "evolve init"


@dataclass(frozen=True)
class Imported:
    """A task of another system, in JAX."""

    name: str  # its name in the other system
    entry: str
    path: str  # of the file that it comes from, for people
    function: Callable[..., Any]
    inputs: tuple[Tensor, ...]
    sizes: dict[str, int]  # the sizes of the first example
    given: Given
    summary: str = ""
    notices: list[str] = field(default_factory=list)  # settings that have no meaning here, or another one
    learnings: str = ""  # Markdown, with the learnings of the other system
    proposals: dict[str, str] = field(default_factory=dict)  # kernels for the opening rounds, by their files' names
    past: dict[str, Any] = field(default_factory=dict)  # their results in the other system (glaucis_run.py)


# Other names of floating-point dtypes, and their full names.
DTYPE_NAMES = {
    **dict.fromkeys(("float32", "fp32", "f32", "float"), "float32"),
    **dict.fromkeys(("float16", "fp16", "f16", "half"), "float16"),
    **dict.fromkeys(("bfloat16", "bf16"), "bfloat16"),
}


def text_of(path: Path) -> str:
    """Returns the text of a regular file, also if the path is a link to one. Raises Wrong."""
    where = one_line(str(path))
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise Wrong(f"{where}: not a regular file")
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise Wrong(f"{where}: it has more than {_MOST_BYTES // 2**20} MiB")
        return content.decode().replace("\r\n", "\n").replace("\r", "\n")
    except OSError as error:
        raise Wrong(f"{where}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise Wrong(f"{where}: not UTF-8: {error.reason} at byte {error.start}") from error


def one_line(text: str, most: int = 200) -> str:
    """Returns somebody else's text without line ends, terminal controls and lone surrogates, cut to a length."""
    shown = "".join(letter if letter.isprintable() else "?" for letter in text)
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def json_of(path: Path) -> Any:
    """Reads a file of JSON; Python's own words for numbers that are not finite are read, too. Raises Wrong."""
    text = text_of(path)
    try:
        return json.loads(text)
    except RecursionError as error:
        raise Wrong(f"{one_line(str(path))}: not JSON: it is nested too deeply") from error
    except ValueError as error:
        raise Wrong(f"{one_line(str(path))}: not JSON: {one_line(str(error))}") from error


def called(where: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls a function of the user. Its exceptions become Wrong."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        raise Wrong(f"{where}: {type(error).__name__}: {error}") from error


def number(where: str, value: Any) -> float:
    """Reads a number, which may be written as text."""
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise Wrong(f"{where}: {value!r} is not a number") from error


def executed(text: str, path: Path) -> ModuleType:
    """Runs a text as a module; the file `path` may have another text."""
    module = ModuleType(path.stem)
    sys.modules[path.stem] = module
    # Code that looks up source lines, as a traceback does, finds this text, and not that of a file.
    linecache.cache[str(path)] = (len(text), None, text.splitlines(keepends=True), str(path))
    try:
        exec(compile(text, str(path), "exec", dont_inherit=True), vars(module))
    except Exception as error:
        raise Wrong(f"{path}: {type(error).__name__}: {error}") from error
    return module


def function_of(path: Path, name: str) -> tuple[ModuleType, Callable[..., Any]]:
    """Returns the user's module, and the function."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise Wrong(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as error:
        beside = path.parent / (error.name or "").partition(".")[0]
        if not beside.is_dir() and not beside.with_suffix(".py").is_file():
            raise Wrong(f"{path}: {error}") from error
        # The text of the file is run elsewhere, without the files next to it.
        raise Wrong(
            f"{path}: it imports {error.name}, a file next to it: the file has to work without its neighbours"
        ) from error
    except Exception as error:
        raise Wrong(f"{path}: {type(error).__name__}: {error}") from error
    function = getattr(module, name, None)
    if not callable(function):
        known = [one for one, value in vars(module).items() if inspect.isfunction(value) and not one.startswith("_")]
        raise Wrong(f"{path}: no function '{name}'; its functions: {', '.join(known) or 'none'}")
    return module, function
