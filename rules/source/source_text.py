"""A source as a mutator sees it: its syntax tree, its EVOLVE block, and edits that keep the rest byte for byte.

This module handles Python, and the modules that names were imported from, but not Pallas. Runs without JAX.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from source import normalise

Function = ast.FunctionDef | ast.Lambda
Scope = ast.Module | ast.FunctionDef | ast.Lambda

# A line `NAME = <whole number>`, as engine/search/proposal/mutation.h reads it. Only the sweep may change such a line.
_PARAMETER = re.compile(r"^[ \t]*(\w+)[ \t]*(?::[ \t]*int[ \t]*)?=(?!=)[ \t]*([0-9_]+)[ \t]*(?:#.*)?$", re.MULTILINE)


@dataclass(frozen=True)
class Edit:
    """A replacement of the characters from `start` to before `end` by `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Binding:
    """The value that binds a name in a scope: an expression, or a function; None: it is not known."""

    value: ast.expr | ast.FunctionDef | None


class Source:
    """A source that parses and has an EVOLVE block. Raises SyntaxError or ValueError where it does not."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = ast.parse(text)
        if "\r" in text or "\f" in text:
            raise ValueError("a line does not end with a plain newline")
        # ast counts lines by newlines, and columns in UTF-8 bytes.
        self._lines = re.findall(r"[^\n]*\n|[^\n]+", text)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))
        self.block = self._find_block()
        self._bindings: dict[tuple[str, Scope], list[Binding]] = {}
        self._parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def number_of(self, name: str) -> int | None:
        """Returns the whole number that a line of the block gives a name; None: no line does, or several do."""
        line = rf"^[ \t]*{re.escape(name)}\b[ \t]*(?::[ \t]*int[ \t]*)?=(?!=)([^#\n]*)"
        found = re.findall(line, self.text[slice(*self.block)], re.MULTILINE)
        return int(found[0]) if len(found) == 1 and re.fullmatch(r"-?[0-9_]+", found[0].strip()) else None

    def _find_block(self) -> tuple[int, int]:
        start = [i for i, line in enumerate(self._lines) if normalise.START in line]
        end = [i for i, line in enumerate(self._lines) if normalise.END in line]
        if not start or not end or end[-1] <= start[-1]:
            raise ValueError(f"no EVOLVE block: no lines with '{normalise.START}' and, after it, '{normalise.END}'")
        return self._starts[start[-1] + 1], self._starts[end[-1]]

    # Places.

    def _offset(self, line: int, column: int) -> int:
        text = self._lines[line - 1]
        return self._starts[line - 1] + len(text.encode()[:column].decode())

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Returns the place of an expression or statement, without its decorators."""
        return (
            self._offset(node.lineno, node.col_offset),  # type: ignore[attr-defined]
            self._offset(node.end_lineno, node.end_col_offset),  # type: ignore[attr-defined]
        )

    def code(self, node: ast.AST) -> str:
        """Returns the node's own text; for a node that is not in the source, its unparsed text."""
        if not hasattr(node, "lineno"):
            return ast.unparse(node)
        start, end = self.span(node)
        return self.text[start:end]

    def lines_of(self, first: ast.stmt, last: ast.stmt) -> tuple[int, int] | None:
        """Returns the whole lines of statements, with decorators and comments after them; None: they share lines."""
        decorators = getattr(first, "decorator_list", [])
        line = min([first.lineno, *(node.lineno for node in decorators)])
        assert last.end_lineno is not None
        start, end = self._starts[line - 1], self._starts[last.end_lineno]
        before = self.text[start : self.span(decorators[0] if decorators else first)[0]]
        after = self.text[self.span(last)[1] : end].strip()
        if before.strip(" \t@") or (after and not after.startswith("#")):
            return None
        return start, end

    def indent_of(self, statement: ast.stmt) -> str:
        """Returns the blanks before a statement that opens its line."""
        line = self._lines[statement.lineno - 1]
        return line[: len(line) - len(line.lstrip())]

    # Edits.

    def edited(self, edits: Iterable[Edit]) -> str | None:
        """Returns the edited source; None: two edits overlap, or one is outside the block or in a parameter line."""
        real = {edit for edit in edits if self.text[edit.start : edit.end] != edit.text}
        edits = sorted(real, key=lambda edit: (edit.start, edit.end, edit.text))
        out, at = "", 0
        for edit in edits:
            if edit.start < max(at, self.block[0]) or edit.end > self.block[1]:
                return None
            out += self.text[at : edit.start] + edit.text
            at = edit.end
        out += self.text[at:]
        return out if _PARAMETER.findall(out) == _PARAMETER.findall(self.text) else None

    def replacing(self, node: ast.AST, text: str) -> Edit:
        """Returns the edit that puts a text in an expression's place."""
        return Edit(*self.span(node), text)

    def appending(self, call: ast.Call, argument: str) -> Edit:
        """Returns the edit that gives a call one more argument."""
        last = max([*call.args, *(keyword.value for keyword in call.keywords)], key=lambda node: self.span(node)[1])
        end = self.span(last)[1]
        return Edit(end, end, f", {argument}")

    def fresh(self, name: str) -> str:
        """Returns `name`, with a number after it if the source has the name already."""
        taken = set(re.findall(r"\w+", self.text))
        return next(text for text in (name, *(f"{name}_{i}" for i in range(2, 1000))) if text not in taken)

    # Names.

    @cached_property
    def _imports(self) -> dict[str, str]:
        out = {}
        for node in self.tree.body:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    first = alias.name.split(".")[0]
                    out[alias.asname or first] = alias.name if alias.asname else first
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for alias in node.names:
                    out[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        return out

    def qualified(self, node: ast.AST) -> str:
        """Returns `jax.numpy.dot` for `jnp.dot`, by the imports; empty: it was not imported."""
        if isinstance(node, ast.Name):
            return self._imports.get(node.id, "")
        if isinstance(node, ast.Attribute):
            inner = self.qualified(node.value)
            return f"{inner}.{node.attr}" if inner else ""
        return ""

    def spelled(self, module: str) -> str | None:
        """Returns how the source spells a module: `pl` for `jax.experimental.pallas`; None: it was not imported."""
        names = [name for name, path in self._imports.items() if path == module]
        if names:
            return names[0]
        outer, _, last = module.rpartition(".")
        # `import jax` imports jax.lax, too, but not all packages of jax.
        return f"{self.spelled(outer)}.{last}" if last == "lax" and self.spelled(outer) else None

    def calls(self, within: ast.AST, *functions: str) -> list[ast.Call]:
        """Returns the calls of one of the functions, by qualified name, in the order of the source."""
        found = (n for n in ast.walk(within) if isinstance(n, ast.Call) and self.qualified(n.func) in functions)
        return sorted(found, key=lambda node: (node.lineno, node.col_offset))

    # Scopes.

    def parent(self, node: ast.AST) -> ast.AST | None:
        """The node around a node."""
        return self._parents.get(node)

    def scope_of(self, node: ast.AST) -> Scope:
        """The function around a node, or the module. A function's own scope is the one around it."""
        around = self._parents.get(node)
        while around is not None and not isinstance(around, Scope):
            around = self._parents.get(around)
        return around if around is not None else self.tree

    def is_inside(self, node: ast.AST, outer: ast.AST) -> bool:
        """Whether a node is the other, or in it."""
        at: ast.AST | None = node
        while at is not None and at is not outer:
            at = self._parents.get(at)
        return at is outer

    def uses(self, name: str, within: ast.AST | None = None) -> list[ast.Name]:
        """Returns the places that read or bind a name."""
        return [n for n in ast.walk(within or self.tree) if isinstance(n, ast.Name) and n.id == name]

    def bindings(self, name: str, scope: Scope) -> list[Binding]:
        """Returns all bindings of a name in a scope, also parameters and imports, but not inside of other functions."""
        if (name, scope) not in self._bindings:
            self._bindings[name, scope] = self._find_bindings(name, scope)
        return self._bindings[name, scope]

    def _find_bindings(self, name: str, scope: Scope) -> list[Binding]:
        out = []
        if isinstance(scope, Function) and name in {argument.arg for argument in _arguments(scope)}:
            out.append(Binding(None))
        for node in _own_nodes(scope):
            if isinstance(node, ast.Assign):
                out += [Binding(value) for target in node.targets for value in _bound(target, node.value, name)]
            elif isinstance(node, ast.FunctionDef) and node.name == name:
                out.append(Binding(node))
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
                out.append(Binding(node.value))
            elif _binds_otherwise(node, name):
                out.append(Binding(None))
        return out

    def resolve(self, node: ast.expr, scope: Scope) -> tuple[ast.expr | ast.FunctionDef, Scope]:
        """Follows a name that is bound once to its value. Returns the value, and the scope in which to read it.

        A field of an object that is made with only its defaults is the field's default.
        """
        value: ast.expr | ast.FunctionDef = node
        for _ in range(20):
            if isinstance(value, ast.Attribute) and (default := self._default_of(value, scope)) is not None:
                value, scope = default, self.tree
            if not isinstance(value, ast.Name):
                break
            at = scope
            while not (found := self.bindings(value.id, at)) and at is not self.tree:
                at = self.scope_of(at)
            if len(found) != 1 or found[0].value is None:
                break
            value, scope = found[0].value, at
        return value, scope

    def _default_of(self, field: ast.Attribute, scope: Scope) -> ast.expr | None:
        """Returns the default of `Name().field`, or of `(given or Name()).field`; the file defines the class once."""
        made, _ = self.resolve(field.value, scope)
        if isinstance(made, ast.BoolOp) and isinstance(made.op, ast.Or):
            made = made.values[-1]
        if not isinstance(made, ast.Call) or not isinstance(made.func, ast.Name) or made.args or made.keywords:
            return None
        classes = [node for node in self.tree.body if isinstance(node, ast.ClassDef) and node.name == made.func.id]
        defaults = [
            node.value
            for one in classes
            for node in one.body
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == field.attr
        ]
        return defaults[0] if len(classes) == len(defaults) == 1 else None


def _arguments(function: Function) -> list[ast.arg]:
    a = function.args
    return [*a.posonlyargs, *a.args, *a.kwonlyargs, *([a.vararg] if a.vararg else []), *([a.kwarg] if a.kwarg else [])]


def _own_nodes(scope: Scope) -> Iterator[ast.AST]:
    """Yields the nodes of a scope. Functions in it are among them, but not the nodes inside of these."""
    todo: list[ast.AST] = [scope.body] if isinstance(scope, ast.Lambda) else list(scope.body)
    while todo:
        node = todo.pop(0)
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            todo[:0] = ast.iter_child_nodes(node)


def _bound(target: ast.expr, value: ast.expr, name: str) -> Iterator[ast.expr | None]:
    """Yields the values to which `target = value` binds a name; for `(m, n) = x.shape` and m, `x.shape[0]`."""
    if isinstance(target, ast.Name):
        if target.id == name:
            yield value
    elif isinstance(target, ast.Tuple | ast.List):
        has_star = any(isinstance(part, ast.Starred) for part in target.elts)
        parts: list[ast.expr | None] = [None] * len(target.elts)
        if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(parts) and not has_star:
            parts = list(value.elts)
        elif not has_star:
            parts = [ast.Subscript(value, ast.Constant(i), ast.Load()) for i in range(len(parts))]
        for inner, part in zip(target.elts, parts, strict=True):
            if part is not None:
                yield from _bound(inner, part, name)
            elif any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(inner)):
                yield None


def _binds_otherwise(node: ast.AST, name: str) -> bool:
    """Whether a node binds a name in a way that is not followed: loops, `with`, `+=`, `global`, imports, classes."""
    if isinstance(node, ast.Name):
        return False
    if isinstance(node, ast.For | ast.AugAssign | ast.NamedExpr | ast.comprehension):
        return any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node.target))
    if isinstance(node, ast.withitem) and node.optional_vars is not None:
        return any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node.optional_vars))
    if isinstance(node, ast.Import | ast.ImportFrom):
        return any((alias.asname or alias.name.split(".")[0]) == name for alias in node.names)
    if isinstance(node, ast.Global | ast.Nonlocal):
        return name in node.names
    return isinstance(node, ast.ClassDef | ast.AsyncFunctionDef | ast.ExceptHandler) and node.name == name
