"""The Pallas kernels in a source: each call with its grid, blocks, index maps and scratch memory, and its kernel.

A part that is not understood is None or left out, so that nothing is proposed for it. Runs without JAX.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from source.source_text import Function, Scope, Source

PALLAS = "jax.experimental.pallas"
TPU = "jax.experimental.pallas.tpu"

_PIPELINE = f"{TPU}.emit_pipeline"
_CALLS = (f"{PALLAS}.pallas_call", _PIPELINE)
_GRID_SPECS = (f"{TPU}.PrefetchScalarGridSpec", f"{PALLAS}.GridSpec")
_PROGRAM_AXES = (f"{PALLAS}.program_id", f"{PALLAS}.num_programs")


@dataclass(frozen=True)
class BlockSpec:
    """`pl.BlockSpec(shape, index_map)`; without a shape a block is the whole array, or the kernel's part of it."""

    call: ast.Call
    shape: tuple[ast.expr, ...] | None
    index_map: Function | None
    is_matrix: bool  # the kernel sees just the shape's two dimensions

    def axes(self, rank: int) -> set[int]:
        """Returns the axes of the grid that the block's index depends on."""
        if self.index_map is None:
            return set()
        names = [argument.arg for argument in self.index_map.args.args[:rank]]
        used = {node.id for node in ast.walk(_map_body(self.index_map)) if isinstance(node, ast.Name)}
        return {axis for axis, name in enumerate(names) if name in used}

    def plain_axes(self, rank: int) -> set[int]:
        """Returns the axes along which every step has blocks of its own: the axis itself is an index of the block."""
        if self.index_map is None or not isinstance(self.index_map, ast.Lambda):
            return set()
        body, names = self.index_map.body, [argument.arg for argument in self.index_map.args.args[:rank]]
        indices = body.elts if isinstance(body, ast.Tuple) else [body]
        plain = {index.id for index in indices if isinstance(index, ast.Name)}
        return {axis for axis, name in enumerate(names) if name in plain}


@dataclass(frozen=True)
class Kernel:
    """The function that a call runs, and its parameters. Nothing else in the source uses the function."""

    function: ast.FunctionDef
    inputs: tuple[str, ...]  # by place in `in_specs`
    outputs: tuple[str, ...]
    scratch: tuple[str, ...]
    bound: dict[str, ast.expr]  # by functools.partial, at the call


@dataclass(frozen=True)
class KernelCall:
    """`pl.pallas_call(…)`, or `pltpu.emit_pipeline(…)`, which is a call in a kernel."""

    call: ast.Call
    structure: ast.Call  # the call, or its grid spec: it has the grid, specs and scratch shapes
    scope: Scope
    is_pipeline: bool
    grid: tuple[ast.expr, ...]
    grid_node: ast.expr | None
    prefetch: int
    in_specs: tuple[BlockSpec, ...]
    out_specs: tuple[BlockSpec, ...]
    scratch: tuple[ast.expr, ...]
    kernel: Kernel | None

    def keyword(self, name: str) -> ast.expr | None:
        """Returns an argument of the call or of its grid spec."""
        found = [k.value for k in [*self.structure.keywords, *self.call.keywords] if k.arg == name]
        return found[0] if found else None

    def output_of(self, ref: str) -> BlockSpec | None:
        """The blocks of the kernel's output `ref`."""
        if self.kernel is None or ref not in self.kernel.outputs:
            return None
        return self.out_specs[self.kernel.outputs.index(ref)]


@lru_cache(maxsize=2)
def find_calls(source: Source) -> tuple[KernelCall, ...]:
    """The kernel calls of a source whose grid and block specs are understood."""
    read = (_read_call(source, call) for call in source.calls(source.tree, *_CALLS))
    return tuple(call for call in read if call is not None)


def program_axis(source: Source, node: ast.AST) -> int | None:
    """The axis of `pl.program_id(2)` or `pl.num_programs(2)`."""
    if not isinstance(node, ast.Call) or source.qualified(node.func) not in _PROGRAM_AXES:
        return None
    given = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg == "axis")]
    return whole_number(given[0]) if len(given) == 1 else None


def program_axes(source: Source, within: ast.AST) -> list[ast.Call]:
    """All `pl.program_id(…)` and `pl.num_programs(…)`."""
    return source.calls(within, *_PROGRAM_AXES)


def semantics_of(source: Source, call: KernelCall) -> list[str] | None:
    """Returns "parallel" or "arbitrary" for each axis; "arbitrary" is the default. None: they are not known."""
    if call.is_pipeline:
        return None
    node = semantics_node(source, call)
    if node is None:
        parameters = call.keyword("compiler_params")
        is_plain = (
            parameters is None or source.qualified(getattr(parameters, "func", parameters)) == f"{TPU}.CompilerParams"
        )
        is_plain = is_plain and not any(
            k.arg in (None, "dimension_semantics") for k in getattr(parameters, "keywords", [])
        )
        return ["arbitrary"] * len(call.grid) if is_plain and not getattr(parameters, "args", []) else None
    words = [part.value for part in node.elts if isinstance(part, ast.Constant)]
    is_known = len(words) == len(node.elts) == len(call.grid) and set(words) <= {"parallel", "arbitrary"}
    return [str(word) for word in words] if is_known else None


def semantics_node(source: Source, call: KernelCall) -> ast.Tuple | ast.List | None:
    """The tuple of a call's dimension semantics, where it is written out in the call."""
    parameters = call.keyword("compiler_params")
    if not isinstance(parameters, ast.Call) or source.qualified(parameters.func) != f"{TPU}.CompilerParams":
        return None
    found = [keyword.value for keyword in parameters.keywords if keyword.arg == "dimension_semantics"]
    return found[0] if found and isinstance(found[0], ast.Tuple | ast.List) else None


def is_of_call(source: Source, node: ast.AST, call: KernelCall) -> bool:
    """Whether a part of a call (a grid spec, a block spec, an index map) serves no other call, wherever it is."""

    def is_in(part: ast.AST) -> bool:
        return source.is_inside(part, call.call) or (
            part is not call.structure
            and source.is_inside(part, call.structure)
            and is_of_call(source, call.structure, call)
        )

    if is_in(node):
        return True
    at: ast.AST | None = node
    while at is not None and not isinstance(at, ast.stmt):
        at = source.parent(at)
    if isinstance(at, ast.FunctionDef) and at is node:
        name = at.name
    elif isinstance(at, ast.Assign) and len(at.targets) == 1 and isinstance(at.targets[0], ast.Name):
        name = at.targets[0].id
    else:
        return False
    return all(is_in(use) or not isinstance(use.ctx, ast.Load) for use in source.uses(name))


def _read_call(source: Source, call: ast.Call) -> KernelCall | None:
    is_pipeline = source.qualified(call.func) == _PIPELINE
    if not call.args or any(keyword.arg is None for keyword in call.keywords):
        return None
    scope = source.scope_of(call)
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    structure = call
    if "grid_spec" in keywords:
        spec, _ = source.resolve(keywords["grid_spec"], scope)
        if not isinstance(spec, ast.Call) or source.qualified(spec.func) not in _GRID_SPECS or spec.args:
            return None
        structure, keywords = spec, {keyword.arg: keyword.value for keyword in spec.keywords}
    prefetch = whole_number(keywords.get("num_scalar_prefetch", ast.Constant(0)))
    grid = _grid(source, keywords.get("grid"), scope)
    in_specs = _specs(source, keywords.get("in_specs"), scope)
    out_specs = _specs(source, keywords.get("out_specs"), scope)
    scratch = _sequence(source, keywords.get("scratch_shapes", ast.Tuple([], ast.Load())), scope)
    if prefetch is None or grid is None or in_specs is None or out_specs is None or scratch is None:
        return None
    arity = len(grid) + prefetch
    if any(spec.index_map is not None and not _takes(spec.index_map, arity) for spec in (*in_specs, *out_specs)):
        return None
    counts = (prefetch, len(in_specs), len(out_specs), len(scratch))
    kernel = _kernel(source, call.args[0], scope, counts)
    grid_node = keywords.get("grid")
    return KernelCall(
        call, structure, scope, is_pipeline, grid, grid_node, prefetch, in_specs, out_specs, tuple(scratch), kernel
    )


def _grid(source: Source, node: ast.expr | None, scope: Scope) -> tuple[ast.expr, ...] | None:
    """Returns the axes of a grid that is written out; None: it is a name, which may be any number of axes."""
    if node is None:
        return ()
    value, _ = source.resolve(node, scope)
    if isinstance(value, ast.Tuple):
        return None if any(isinstance(part, ast.Starred) for part in value.elts) else tuple(value.elts)
    return None if isinstance(value, ast.Name | ast.Subscript | ast.FunctionDef) else (value,)


def _sequence(source: Source, node: ast.expr, scope: Scope) -> list[ast.expr] | None:
    value, _ = source.resolve(node, scope)
    if not isinstance(value, ast.Tuple | ast.List) or any(isinstance(part, ast.Starred) for part in value.elts):
        return None
    return value.elts


def _specs(source: Source, node: ast.expr | None, scope: Scope) -> tuple[BlockSpec, ...] | None:
    if node is None:
        return None
    value, _ = source.resolve(node, scope)
    parts = value.elts if isinstance(value, ast.Tuple | ast.List) else [node]
    out = [_block_spec(source, part, scope) for part in parts]
    return None if None in out else tuple(spec for spec in out if spec is not None)


def _block_spec(source: Source, node: ast.expr, scope: Scope) -> BlockSpec | None:
    call, scope = source.resolve(node, scope)
    if not isinstance(call, ast.Call) or source.qualified(call.func) != f"{PALLAS}.BlockSpec":
        return None
    given: dict[str | None, ast.expr] = dict(zip(("block_shape", "index_map"), call.args, strict=False))
    given.update({keyword.arg: keyword.value for keyword in call.keywords})
    if None in given or len(call.args) > 2 or "indexing_mode" in given:
        return None
    shape, index_map = given.get("block_shape"), given.get("index_map")
    parts: tuple[ast.expr, ...] | None = None
    if shape is not None and not _is_none(shape):
        value, _ = source.resolve(shape, scope)
        if not isinstance(value, ast.Tuple):
            return None
        parts = tuple(value.elts)
    function: Function | None = None
    if index_map is not None and not _is_none(index_map):
        found, _ = source.resolve(index_map, scope)
        if not isinstance(found, Function):
            return None
        function = found
    is_matrix = parts is not None and len(parts) == 2 and all(_is_size(source, part, scope) for part in parts)
    return BlockSpec(call, parts, function, is_matrix)


def _kernel(source: Source, node: ast.expr, scope: Scope, counts: Sequence[int]) -> Kernel | None:
    """Returns the kernel that is named, if the call gives all its parameters and no other place names the kernel."""
    bound: dict[str, ast.expr] = {}
    if isinstance(node, ast.Name):
        value, _ = source.resolve(node, scope)
        node = value if isinstance(value, ast.Call) else node
    if isinstance(node, ast.Call):
        if source.qualified(node.func) != "functools.partial" or len(node.args) != 1:
            return None
        bound = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg is not None}
        if len(bound) != len(node.keywords):
            return None
        node = node.args[0]
    function, _ = source.resolve(node, scope)
    if not isinstance(function, ast.FunctionDef) or function.decorator_list or len(source.uses(function.name)) != 1:
        return None
    a = function.args
    free = [argument.arg for argument in [*a.posonlyargs, *a.args] if argument.arg not in bound]
    is_given = {argument.arg for argument in a.kwonlyargs} <= set(bound) and not a.defaults
    if a.vararg or a.kwarg or not is_given or len(free) != sum(counts) or _rebinds(function, free):
        return None
    parts, names = [], iter(free)
    for count in counts:
        parts.append(tuple(itertools.islice(names, count)))
    return Kernel(function, parts[1], parts[2], parts[3], bound)


def _rebinds(function: ast.FunctionDef, names: Sequence[str]) -> bool:
    """Whether the name of one of a kernel's references means something else in a part of the kernel."""
    stored = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    inner = [n.args for n in ast.walk(function) if isinstance(n, Function) and n is not function]
    stored |= {a.arg for args in inner for a in [*args.posonlyargs, *args.args, *args.kwonlyargs]}
    return bool(stored & set(names))


def _takes(function: Function, arity: int) -> bool:
    a = function.args
    return len(a.args) == arity and not (a.posonlyargs or a.kwonlyargs or a.vararg or a.kwarg or a.defaults)


def _map_body(function: Function) -> ast.AST:
    return function.body if isinstance(function, ast.Lambda) else ast.Module(function.body, [])


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_size(source: Source, node: ast.expr, scope: Scope) -> bool:
    """Whether a dimension is a size that the kernel sees: not None, `pl.Squeezed()`, `pl.squeezed`, or another kind."""
    value, _ = source.resolve(node, scope)
    name = source.qualified(value.func if isinstance(value, ast.Call) else value)
    return not (isinstance(value, ast.Constant) and value.value is None) and (
        not name.startswith(PALLAS) or name == f"{PALLAS}.cdiv"
    )


def whole_number(node: ast.expr) -> int | None:
    """Returns the whole number that a node is; None: the node is not a number."""
    is_number = isinstance(node, ast.Constant) and type(node.value) is int
    return node.value if is_number else None  # type: ignore[attr-defined]
