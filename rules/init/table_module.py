"""A Python module with a table of tuned block sizes: its literals, which are read and not run."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

from init.source import Wrong, one_line, text_of


class Module:
    """The literals of a Python module."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = text_of(path)
        try:
            tree = ast.parse(self.text, str(path))
        except (SyntaxError, ValueError) as error:
            raise Wrong(f"{path}: {error}") from error
        self._assigned = {
            target.id: value
            for node in tree.body
            for target, value in _assignments(node)
            if isinstance(target, ast.Name) and value is not None
        }
        self._fields = {
            node.name: [one.target.id for one in node.body if isinstance(one, ast.AnnAssign)]  # type: ignore[union-attr]
            for node in tree.body
            if isinstance(node, ast.ClassDef)
        }
        self._defaults = {
            node.name: {
                one.target.id: one.value  # type: ignore[union-attr]
                for one in node.body
                if isinstance(one, ast.AnnAssign) and isinstance(one.value, ast.Constant)
            }
            for node in tree.body
            if isinstance(node, ast.ClassDef) and node.name.lower().endswith("key")
        }
        self._known: dict[str, Any] = {}  # values of names
        self._asked: set[str] = set()  # names whose values are being found

    def first(self, fits: Callable[[str, ast.expr], bool]) -> ast.expr | None:
        """Returns the value of the first name that fits."""
        return next((value for name, value in self._assigned.items() if fits(name, value)), None)

    def classes(self) -> list[tuple[str, list[str]]]:
        """Returns the names of the module's classes, and of their fields."""
        return list(self._fields.items())

    def value(self, node: ast.expr) -> Any:
        """Returns the value of a literal; for a call, its fields by their names."""
        if isinstance(node, ast.Name) and node.id in self._assigned:
            return self._value_of(node)
        if isinstance(node, ast.Tuple):
            return tuple(self.value(one) for one in node.elts)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            # 256 * 6
            left, right = self.value(node.left), self.value(node.right)
            if type(left) is int and type(right) is int and max(abs(left), abs(right)) < 2**31:
                return left * right
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            names = self._fields.get(called, [])
            if len(node.args) > len(names):
                raise self.wrong(node, f"the fields of {called} are unknown: name them")
            fields = {name: one.value for name, one in self._defaults.get(called, {}).items()}
            fields |= {name: self.value(one) for name, one in zip(names, node.args, strict=False)}
            return fields | {str(one.arg): self.value(one.value) for one in node.keywords}
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError) as error:
            raise self.wrong(node, f"'{one_line(ast.unparse(node))}' is not a literal") from error

    def _value_of(self, node: ast.Name) -> Any:
        """Returns the literal that a name stands for. Each name is evaluated only once."""
        if node.id in self._asked:
            raise self.wrong(node, f"'{node.id}' is defined by itself")
        if node.id not in self._known:
            self._asked.add(node.id)
            self._known[node.id] = self.value(self._assigned[node.id])
            self._asked.remove(node.id)
        return self._known[node.id]

    def fields(self, node: ast.expr) -> dict[str, Any]:
        """Returns the fields of a node that must be a literal with fields."""
        found = self.value(node)
        if not isinstance(found, dict) or not all(isinstance(name, str) for name in found):
            raise self.wrong(node, "expected a call with fields")
        return found

    def device(self, node: ast.expr) -> str:
        """Returns a device's printable name; empty: the node names no device."""
        found = self.value(node)
        if not isinstance(found, str):
            return ""
        if not found.isprintable():
            raise self.wrong(node, f"'{one_line(found)}' is not a device's name")
        return found

    def wrong(self, node: ast.AST, what: str) -> Wrong:
        """Returns an error with the place of a node."""
        return Wrong(f"{self.path}:{getattr(node, 'lineno', 0)}: {what}")


def _assignments(node: ast.stmt) -> list[tuple[ast.expr, ast.expr | None]]:
    if isinstance(node, ast.Assign):
        return [(target, node.value) for target in node.targets]
    return [(node.target, node.value)] if isinstance(node, ast.AnnAssign) else []
