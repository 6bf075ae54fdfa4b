"""A candidate's source: the modules and builtins that it may use, and its trace. Runs only in the sandbox.

A kernel is a function of its inputs' shapes and dtypes: it asks nothing about where it runs. So the modules that it may
name are a closed list, which a spec can lengthen, and so are the builtins. The list shows authors of kernels what they
may not use, with the place in the source. It is not a wall: Python leads from any object to any other. A module that is
not on the list matters only if the candidate uses it to distinguish one place from another. Tracing twice finds that
(elsewhere.py).
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import importlib
import importlib.util
import re
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
from jax.experimental.pallas import tpu as pltpu

from programs import forms, mosaic_lacks, program
from reports import verdict
from source import normalise

Signature = dict[str, Any]


class Target(NamedTuple):
    """The target of device programs: JAX's platform, and JAX's name of the device.

    A campaign's steps get the target as flags (engine/campaign/target.h). The default is the target of reports that do
    not name one.
    """

    platform: str = "tpu"
    device_kind: str = "TPU7x"


DEFAULT_TARGET = Target()

# The modules that a kernel may import; a name that ends with a dot includes all modules below it.
IMPORTS = frozenset(
    """
    __future__ abc collections collections.abc contextlib copy dataclasses enum functools itertools math numbers
    operator re string types typing typing_extensions warnings
    ml_dtypes numpy numpy.typing
    jax jax.ad_checkpoint jax.api_util jax.core jax.custom_batching jax.custom_derivatives jax.debug jax.dtypes
    jax.errors jax.experimental jax.experimental.checkify jax.experimental.layout jax.experimental.pallas
    jax.experimental.pallas.fuser jax.experimental.pallas.ops. jax.experimental.pallas.tpu
    jax.experimental.pallas.tpu_sc jax.experimental.shard_map jax.experimental.xla_metadata jax.flatten_util
    jax.image jax.lax jax.lax.linalg jax.nn jax.nn.initializers jax.numpy jax.numpy.fft jax.numpy.linalg jax.ops
    jax.random jax.ref jax.scipy. jax.sharding jax.stages jax.tree jax.tree_util jax.typing
    """.split()
)

# Builtins that read files, run text, or wait for somebody.
_NO_BUILTINS = frozenset("breakpoint compile eval exec exit help input open quit".split())

# The maximum number of characters of a line that a reason quotes.
_LONGEST_QUOTE = 80

# The word in a spec's list of imports that allows all builtins.
_BUILTINS = "builtins"


class Rejection(Exception):
    """The candidate is rejected: `kind` of verdict.KINDS, and why."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind


class Imports:
    """The modules that a candidate may import."""

    def __init__(self, also: Sequence[str]) -> None:
        self._also = frozenset(also)
        self._names = IMPORTS.union(also)

    def allow(self, name: str) -> bool:
        """Whether a module is among the allowed ones."""
        above = (f"{name[:end]}." for end, letter in enumerate(f"{name}.") if letter == ".")
        return name in self._names or not self._names.isdisjoint(above)

    def lead_on(self, name: str) -> bool:
        """Whether modules inside a module are allowed with it: a module that the spec names is allowed as a whole."""
        return name in self._also

    def check(self, name: str, place: str) -> None:
        """Raises Rejection for a module that exists and is not allowed."""
        if not self.allow(name) and _is_there(name):
            raise _refused(f"'{name}' is not among the modules that a kernel may import", name, place)


def _refused(what: str, name: str, place: str) -> Rejection:
    return Rejection("contract", f"{what} ({place}); a spec can allow it: contract: {{ imports: [{name}] }}")


def _is_there(name: str) -> bool:
    top = name.partition(".")[0]
    return top in sys.stdlib_module_names or importlib.util.find_spec(top) is not None


def _at(node: Any) -> str:
    return f"line {node.lineno}, column {node.col_offset + 1} of the canonical source"


def parse(source: bytes) -> ast.Module:
    """Returns the syntax tree of a source in UTF-8. Raises Rejection."""
    try:
        return ast.parse(normalise.decoded(source, "kernel.py"), "kernel.py")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line, column = getattr(error, "lineno", None), getattr(error, "offset", None)
        place = f"line {line}, column {column}: " if line else ""
        raise Rejection("lower-error", f"{place}{normalise.why_unparsed(error)}") from error


def check_names(tree: ast.Module, imports: Imports) -> None:
    """Raises Rejection where a source names a module or a builtin that is not for kernels."""
    bound = dict(_imported(tree, imports))
    own = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    own.update(node.arg for node in ast.walk(tree) if isinstance(node, ast.arg))
    own.update(n.name for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.ClassDef)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and (module := _module_of(node, bound)):
            imports.check(module.__name__, _at(node))
        elif isinstance(node, ast.Name) and node.id in _NO_BUILTINS - own and not imports.allow(_BUILTINS):
            raise _refused(f"'{node.id}' is not among the functions that a kernel may call", _BUILTINS, _at(node))


def _imported(tree: ast.Module, imports: Imports) -> Iterator[tuple[str, types.ModuleType]]:
    """Yields each name that a source gives to a module, and the module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                imports.check(alias.name, _at(node))
                name = alias.name if alias.asname else alias.name.partition(".")[0]
                with contextlib.suppress(ImportError):
                    importlib.import_module(alias.name)
                    if not imports.lead_on(name):
                        yield alias.asname or name, sys.modules[name]
        elif isinstance(node, ast.ImportFrom):
            if node.level or not node.module:
                raise Rejection("contract", f"a kernel is a file of its own, without relative imports ({_at(node)})")
            imports.check(node.module, _at(node))
            with contextlib.suppress(ImportError):
                module = importlib.import_module(node.module)
                for alias in node.names:
                    found = _member(module, alias.name)
                    if isinstance(found, types.ModuleType) and not imports.lead_on(node.module):
                        imports.check(found.__name__, _at(node))
                        yield alias.asname or alias.name, found


def _member(module: types.ModuleType, name: str) -> Any:
    with contextlib.suppress(ImportError):
        if not hasattr(module, name):
            importlib.import_module(f"{module.__name__}.{name}")
    return getattr(module, name, None)


def _module_of(node: ast.expr, bound: dict[str, types.ModuleType]) -> types.ModuleType | None:
    """Returns the module that an expression leads to from a module's name, by attributes only; None: no module."""
    if isinstance(node, ast.Name):
        return bound.get(node.id)
    above = _module_of(node.value, bound) if isinstance(node, ast.Attribute) else None
    found = getattr(above, node.attr, None) if above and isinstance(node, ast.Attribute) else None
    return found if isinstance(found, types.ModuleType) else None


class _Absent(types.ModuleType):
    """A stand-in for a module that is not installed: it has every attribute, and does nothing."""

    def __getattr__(self, name: str) -> Any:
        return _Absent(name)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return arguments[0] if len(arguments) == 1 and callable(arguments[0]) else self


class _Importer:
    """The `__import__` of a candidate's module."""

    def __init__(self, imports: Imports, has_all: bool) -> None:
        self._imports = imports
        self._has_all = has_all
        self.refusal: Rejection | None = None

    def __call__(
        self, name: str, variables: Any = None, local: Any = None, items: Sequence[str] | None = (), level: int = 0
    ) -> Any:
        try:
            self._imports.check(name, _running())
            if self._has_all and not _is_there(name):
                return _Absent(name)
            module = builtins.__import__(name, variables, local, items or (), level)
            for item in () if self._imports.lead_on(name) else items or ():
                found = getattr(module, item, None)
                if isinstance(found, types.ModuleType):
                    self._imports.check(found.__name__, _running())
        except Rejection as rejection:
            # The refusal is kept, because the source may catch any exception.
            self.refusal = rejection
            raise
        return module


def _running() -> str:
    return f"line {sys._getframe(2).f_lineno} of the canonical source"


class Surroundings:
    """The surroundings in which a candidate is traced; its program must be the same in all of them.

    `name`: that of its file and module. `has_all`: modules that are not installed can be imported. `is_users`: a user's
    function calls it, in the user's file, under jax.jit. `has_users_settings`: JAX's settings are those of a user, and
    not of the judge.
    """

    def __init__(
        self,
        name: str = "kernel",
        has_all: bool = False,
        is_users: bool = False,
        has_users_settings: bool = False,
    ) -> None:
        self.name = name
        self.has_all = has_all
        self.is_users = is_users
        self.has_users_settings = has_users_settings

    @property
    def file(self) -> str:
        """The candidate's file."""
        return f"{self.name}.py"


# Mosaic's message about a block, in which the block's shape comes after more words than a reason can hold.
_BLOCK = re.compile(r"has block shape \((?P<block>.*?)\), array shape \((?P<array>[^)]*)\)", re.DOTALL)
_SIZE = re.compile(r"Blocked\((?:block_size=)?(\d+)\)")
# Pallas' words around the message of its verifier.
_VERIFIED = re.compile(
    r"internal verification error.*?Error details:\s*(?P<told>.*?)\s*(?:see current operation:|$)", re.DOTALL
)


def _told(error: BaseException) -> str:
    """Returns an exception's text, or only the shapes if Mosaic rejects a block, with advice on what Mosaic lacks."""
    text = str(error)
    if verified := _VERIFIED.search(text):
        return verified["told"] + mosaic_lacks.advice(text)
    if advice := mosaic_lacks.advice(text):
        return verdict.one_line(text).rstrip(".") + advice
    found = _BLOCK.search(text)
    if not found or "divisible by" not in text:
        return text
    block = _SIZE.sub(r"\1", found["block"]).replace("Squeezed()", "None")
    return (
        f"a block of shape ({block}) of an array of shape ({found['array']}): its last two dimensions are neither "
        "multiples of 8 and 128 nor the array's own"
    )


def describe(error: BaseException, source_name: str, source: bytes = b"") -> str:
    """Describes an exception in one line, with the number and the text of the candidate's own line, if there is one."""
    line = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == source_name:
            line = trace.tb_lineno
        trace = trace.tb_next
    lines = source.decode(errors="replace").splitlines()
    quoted = f": {verdict.one_line(lines[line - 1])[:_LONGEST_QUOTE]}" if line and line <= len(lines) else ""
    place = f" (line {line} of the canonical source{quoted})" if line else ""
    return verdict.one_line(f"{type(error).__name__}: {_told(error)}") + place


def known_tpu_on_cpu(target: Target = DEFAULT_TARGET) -> None:
    """Lets kernels that ask for the properties of a target's TPU be traced on a machine without one."""
    from jax._src.pallas.mosaic import tpu_info  # noqa: PLC0415

    if (version := tpu_info.chip_version_from_device_kind(target.device_kind)) is not None:
        tpu_info.registry["cpu"] = lambda: tpu_info._get_tpu_info_impl(version, 1)


def trace(source: bytes, entry: str, signatures: Sequence[Signature], around: Surroundings | None = None) -> Any:
    """Traces the candidate for each signature; returns the closed jaxpr for the last one. Raises Rejection."""
    around = around or Surroundings()
    imports = Imports(signatures[-1].get("imports", []))
    tree = parse(source)
    check_names(tree, imports)
    importer = _Importer(imports, around.has_all)
    try:
        with program.users_settings() if around.has_users_settings else contextlib.nullcontext():
            function = _loaded(source, entry, importer, imports, around)
            for signature in signatures[:-1]:
                # A failure for another signature does not count here.
                with contextlib.suppress(Exception):
                    _traced(function, signature, around)
            closed = _traced(function, signatures[-1], around)
    except (Rejection, MemoryError):
        raise
    except SystemExit as error:
        raise Rejection("crash", f"called sys.exit({error.code!r})") from error
    except BaseException as error:
        if importer.refusal is None:
            raise Rejection("lower-error", describe(error, around.file, source)) from error
    if importer.refusal is not None:
        raise importer.refusal
    return closed


def _loaded(
    source: bytes, entry: str, importer: _Importer, imports: Imports, around: Surroundings
) -> Callable[..., Any]:
    """Loads the candidate's function. Raises Rejection, and whatever the source raises."""
    # The module is registered as imported ones are: a dataclass looks for its module among those of the process.
    module = types.ModuleType(around.name)
    module.__file__ = str(Path.cwd() / around.file)
    sys.modules[module.__name__] = module
    namespace = module.__dict__
    namespace["__builtins__"] = _builtins(importer, imports)
    exec(compile(source, around.file, "exec", dont_inherit=True), namespace)
    if not callable(namespace.get(entry)):
        raise Rejection("lower-error", f"there is no function '{entry}'")
    function: Callable[..., Any] = namespace[entry]
    return function


def called(source: bytes, entry: str, signature: Signature, inputs: Sequence[Any]) -> list[Any]:
    """Calls the candidate with arrays, as a user without jax.jit does; kernels are interpreted. Returns the outputs."""
    imports = Imports(signature.get("imports", []))
    check_names(parse(source), imports)
    function = _loaded(source, entry, _Importer(imports, False), imports, Surroundings("best"))
    with pltpu.force_tpu_interpret_mode(pltpu.InterpretParams(buffer_bounds="padded")):
        return jax.tree.leaves(program.with_gradients(function, signature)(*map(jax.numpy.asarray, inputs)))


# Saved before a candidate runs, because the candidate might replace it.
_make_jaxpr = jax.make_jaxpr

# A user's function that calls a kernel.
_USERS = "def step(*arguments):\n    return judged(*arguments)\n"


def _traced(function: Callable[..., Any], signature: Signature, around: Surroundings) -> Any:
    judged = program.with_gradients(function, signature)
    arguments = program.shapes_of(signature["inputs"])
    if around.is_users:
        namespace = {"judged": judged, "__name__": "train"}
        exec(compile(_USERS, "train.py", "exec", dont_inherit=True), namespace)
        return forms.plain(jax.jit(namespace["step"]).trace(*arguments).jaxpr)
    # The function is new each time, because JAX does not trace the same function twice.
    once = lambda *arguments: judged(*arguments)  # noqa: E731, PLW0108
    return forms.plain(_make_jaxpr(once)(*arguments))


def _builtins(importer: _Importer, imports: Imports) -> dict[str, Any]:
    taken = frozenset() if imports.allow(_BUILTINS) else _NO_BUILTINS
    kept = {name: value for name, value in vars(builtins).items() if name not in taken}
    return {**kept, "__import__": importer}
