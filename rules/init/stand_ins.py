"""A function's text for use in a kernel, with known stand-ins for operations that Mosaic lacks.

The function is traced. If Mosaic has no form of an operation (mosaic_lacks.py), the operation's text is rewritten:
products add up in 32 bits, and other calls become calls of in_kernel.py, whose texts the kernel gets, too.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import jax.extend
import numpy as np
from jax._src import source_info_util

from init import in_kernel
from init.folder import Source
from init.source import executed

# The file name of a text while it is traced.
_FILE = "on_block.py"
# Calls that multiply and add up. Their parameter preferred_element_type is the dtype of the sums.
_PRODUCTS = frozenset({"dot", "matmul", "einsum", "tensordot", "vdot", "inner", "dot_general", "vecdot", "matvec"})
_BY_BATCH = {"einsum": in_kernel.einsum_by_batch, "matmul": in_kernel.matmul_by_batch}
_CALLS = {
    "top_k": in_kernel.top_k_by_maxima,
    "scan": in_kernel.scan_in_vmem,
    "take_along_axis": in_kernel.take_along_by_masks,
}
# Only a call with exactly this many arguments, and with no other keywords than these, is replaced.
_ARGUMENTS = {"top_k": 2, "scan": 3, "take_along_axis": 3}
_NAMES = {"take_along_axis": {"indices", "axis"}}
_BITS = 4
# The maximum number of places that a take_along_axis may take if each needs a mask. The longest axis from which Mosaic
# itself takes any places, by the axis' number from the end.
_MOST_TAKEN = 16
_GATHERED = {1: 128, 2: 8}

# The start and the end of an expression: a line, counted from 1, and a column in bytes, counted from 0, for each.
_Span = tuple[int, int, int, int]


@dataclass(frozen=True)
class _Change:
    """The change of an expression."""

    wide: np.dtype[Any] | None = None  # the narrow type of a product that is to add up in 32 bits, and is cast back
    instead: Any = None  # the function of in_kernel.py that is called


def with_stand_ins(source: Source, shapes: Sequence[jax.ShapeDtypeStruct]) -> Source:
    """Returns the source with stand-ins for operations that Mosaic lacks, for inputs of these shapes.

    A function that cannot be traced, or that is written in an unknown way, stays as it is. The fault is reported when
    the seed is lowered.
    """
    head = f"{source.imports}\n\n\n"
    text = head + source.body
    try:
        function = getattr(executed(text, Path(_FILE)), source.entry)
        closed = jax.make_jaxpr(function)(*shapes)
    except Exception:  # noqa: BLE001 - it is the user's
        return source
    kinds = (ast.BinOp, ast.Call, ast.Subscript)
    nodes = {_span_of(one): one for one in ast.walk(ast.parse(text)) if isinstance(one, kinds)}
    # The text of a function that is called twice is there once, so it is changed once.
    changes = dict(_changes(closed.jaxpr, nodes))
    edits = _Edits(text)
    for span, change in changes.items():
        edits.add(nodes[span], span, change)
    helpers = {one.instead for one in changes.values() if one.instead is not None}
    texts = [_untyped(inspect.getsource(one)) for one in sorted(helpers, key=lambda one: str(one.__name__))]
    return replace(source, in_kernel="\n\n".join([*texts, edits.applied()[len(head) :]]))


def _span_of(node: ast.expr) -> _Span:
    return node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0


def _changes(jaxpr: Any, nodes: dict[_Span, Any]) -> Iterator[tuple[_Span, _Change]]:
    """Yields the places of expressions that are to be rewritten, and their changes."""
    for eqn in jaxpr.eqns:
        frame = source_info_util.user_frame(eqn.source_info.traceback)
        span = (frame.start_line, frame.start_column, frame.end_line, frame.end_column) if frame else (0, 0, 0, 0)
        node = nodes.get(span) if frame and frame.file_name == _FILE else None
        change = _change_of(eqn, node)
        if change is not None:
            yield span, change
        if change is None or change.instead is in_kernel.scan_in_vmem:
            for inner in jax.extend.core.jaxprs_in_params(eqn.params):
                yield from _changes(inner, nodes)


def _name_of(node: Any) -> str:
    """Returns the name of the called function; for a product's operator, "matmul"."""
    if isinstance(node, ast.BinOp):
        return "matmul" if isinstance(node.op, ast.MatMult) else ""
    called = getattr(node, "func", None)
    return str(getattr(called, "attr", getattr(called, "id", "")))


def _change_of(eqn: Any, node: Any) -> _Change | None:
    """Returns the change of a call whose only equation is this one; None: the call stays."""
    name = _name_of(node)
    if name in _PRODUCTS:
        products = list(_products(eqn))
        narrow = [one.outvars[0].aval.dtype for one in products if one.outvars[0].aval.dtype.itemsize < _BITS]
        is_said = any(word.arg == "preferred_element_type" for word in getattr(node, "keywords", ()))
        batch = max((len(one.params["dimension_numbers"][1][0]) for one in products), default=0)
        instead = _BY_BATCH.get(name) if batch > 1 else None
        wide = narrow[0] if narrow and not is_said else None
        return _Change(wide, instead) if wide is not None or instead is not None else None
    if eqn.primitive.name == "gather" and _is_of_each_row(eqn, node):
        return _Change(instead=in_kernel.one_of_each_row)
    is_lacking = {
        "top_k": eqn.primitive.name == "top_k",
        "scan": _walks_arrays(eqn),
        "take_along_axis": _takes_far(eqn),
    }.get(name, False)
    if not is_lacking or len(node.args) + len(node.keywords) != _ARGUMENTS[name]:
        return None
    return _Change(instead=_CALLS[name]) if {one.arg for one in node.keywords} <= _NAMES.get(name, set()) else None


def _is_of_each_row(eqn: Any, node: Any) -> bool:
    """Whether an expression is `x[jnp.arange(rows), places]` for all rows, made of names and on one line."""
    if eqn.outvars[0].aval.shape != eqn.invars[0].aval.shape[:-1] or eqn.outvars[0].aval.ndim != 1:
        return False
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Tuple) or node.lineno != node.end_lineno:
        return False
    rows, *places = node.slice.elts
    are_names = [isinstance(one, (ast.Name, ast.Attribute)) for one in (node.value, *places)]
    return are_names == [True, True] and _name_of(rows) == "arange" and len(getattr(rows, "args", ())) == 1


def _takes_far(eqn: Any) -> bool:
    """Whether a call of take_along_axis takes a few places of a longer axis than Mosaic can."""
    if len(eqn.invars) != len(("x", "indices")):
        return False
    whole, taken = (one.aval.shape for one in eqn.invars)
    axes = [axis for axis, (of, to) in enumerate(zip(whole, taken, strict=False)) if of != to]
    if len(whole) != len(taken) or len(axes) != 1:
        return False
    longest = _GATHERED.get(len(whole) - axes[0], 0)
    return bool(whole[axes[0]] > longest and taken[axes[0]] <= _MOST_TAKEN)


def _products(eqn: Any) -> Iterator[Any]:
    if eqn.primitive.name == "dot_general":
        yield eqn
    for inner in jax.extend.core.jaxprs_in_params(eqn.params):
        for one in inner.eqns:
            yield from _products(one)


def _walks_arrays(eqn: Any) -> bool:
    """Whether a loop has inputs or outputs for each step."""
    if eqn.primitive.name != "scan":
        return False
    held = eqn.params["num_consts"] + eqn.params["num_carry"]
    return len(eqn.invars) > held or len(eqn.outvars) > eqn.params["num_carry"]


def _untyped(text: str) -> str:
    """Returns a function's text without its types, whose names a kernel does not import."""
    edits = _Edits(text)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.arg) and node.annotation is not None:
            before = node.col_offset + len(node.arg)
            edits.put(node.lineno, before, (node.annotation.end_col_offset or 0) - before, "")
        elif isinstance(node, ast.FunctionDef) and node.returns is not None:
            line = text.splitlines()[node.returns.lineno - 1]
            before = line.rindex(" ->")
            edits.put(node.returns.lineno, before, (node.returns.end_col_offset or 0) - before, "")
    return edits.applied()


class _Edits:
    """Changes of a text, made together: each removes bytes at a place, and inserts a text there."""

    def __init__(self, text: str) -> None:
        self._lines = [line.encode() for line in text.splitlines(keepends=True)]
        self._found: list[tuple[int, int, int, int, str]] = []  # line, column, order, bytes removed, text inserted

    def put(self, line: int, column: int, gone: int, comes: str) -> None:
        """Inserts a text at a place, and removes `gone` bytes there."""
        self._found.append((line, column, len(self._found), gone, comes))

    def add(self, node: Any, span: _Span, change: _Change) -> None:
        """Adds the change of the expression at a place."""
        first_line, first, last_line, last = span
        wide, narrowed = "", ""
        if change.wide is not None:
            is_whole = jax.numpy.issubdtype(change.wide, np.integer)
            wide = f"preferred_element_type=jnp.{'int32' if is_whole else 'float32'}"
            narrowed = f".astype(jnp.{change.wide.name})"
        if isinstance(node, ast.BinOp):
            self._comma_for_operator(node)
            self.put(first_line, first, 0, f"{change.instead.__name__ if change.instead else 'jnp.matmul'}(")
            self.put(last_line, last, 0, f"{', ' if wide else ''}{wide}){narrowed}")
            return
        if isinstance(node, ast.Subscript):
            words = ast.unparse(node.value), ast.unparse(node.slice.elts[1])  # type: ignore[attr-defined]
            self.put(first_line, first, last - first, f"{change.instead.__name__}({', '.join(words)})")
            return
        if change.instead is not None:
            called = node.func
            self.put(first_line, first, called.end_col_offset - first, change.instead.__name__)
        if wide:
            self.put(last_line, last, 0, narrowed)
            self.put(last_line, last - 1, 0, f"{'' if self._has_comma_before(last_line, last - 1) else ', '}{wide}")

    def _comma_for_operator(self, node: ast.BinOp) -> None:
        """Replaces an operator by a comma. Between operands are only the operator, brackets, blanks and comments."""
        line, column = node.left.end_lineno or 0, node.left.end_col_offset or 0
        while (at := self._lines[line - 1].split(b"#")[0].find(b"@", column)) < 0:
            line, column = line + 1, 0
        before = self._lines[line - 1][:at]
        blanks = len(before) - len(before.rstrip())
        self.put(line, at - blanks, blanks + 1, ",")

    def _has_comma_before(self, line: int, column: int) -> bool:
        before = b"".join(self._lines[: line - 1]) + self._lines[line - 1][:column]
        return before.rstrip().endswith(b",")

    def applied(self) -> str:
        """Returns the text with all changes."""
        lines = list(self._lines)
        for line, column, _, gone, comes in sorted(self._found, reverse=True):
            old = lines[line - 1]
            lines[line - 1] = old[:column] + comes.encode() + old[column + gone :]
        return b"".join(lines).decode()
