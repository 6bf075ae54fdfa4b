"""A problem's file: its imports and definitions, and the functions that its parts have become."""

from __future__ import annotations

import ast
import keyword
from typing import Any

from init.torch_calls import HELPERS

Function = ast.FunctionDef | ast.Lambda


class File:
    """A problem's file: its imports, definitions and values, the functions that its parts have become, and notices."""

    def __init__(self, path: str, tree: ast.Module, model: Any, values: dict[str, Any]) -> None:
        self.path, self.tree, self.model, self.values = path, tree, model, values
        self.modules = _modules_of(tree)
        self.classes = {one.name: one for one in tree.body if isinstance(one, ast.ClassDef)}
        self.functions = {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}
        self.texts: dict[str, str] = {}
        self.notices: list[str] = []
        self.pending: set[tuple[int, int]] = set()
        used = {getattr(one, "id", None) or getattr(one, "arg", None) for one in ast.walk(tree)}
        self.taken = {one for one in used if one} | {"jax", "jnp", "math"} | set(HELPERS)

    def named(self, name: str, text: str) -> str:
        """Returns the name of the function with that text: its present name, or a new name if it has none."""
        name += "_" if name in self.taken or keyword.iskeyword(name) else ""
        for at in range(1, len(self.texts) + 2):
            numbered = name if at == 1 else f"{name}_{at}"
            if self.texts.setdefault(numbered, text) == text:
                return numbered
        raise AssertionError("there are more names than texts")

    def functions_in_jax(self) -> list[str]:
        """Returns the texts of the functions, under their names."""
        return [text.replace("def (", f"def {name}(", 1).rstrip() for name, text in self.texts.items()]

    def method(self, model: Any, name: str) -> ast.FunctionDef | None:
        """Returns a function of a model's class, or of the classes that it derives from; None: none of them has it."""
        for made_from in type(model).__mro__:
            found = self.classes.get(made_from.__name__)
            for one in reversed(found.body if found else []):
                if isinstance(one, ast.FunctionDef) and one.name == name:
                    return one
        return None

    def defined(self, model: Any, made: Any) -> Function | None:
        """Returns the syntax of a model's method, or of a lambda that the model has set; None: it is not known."""
        code = made.__code__
        if made.__name__ != "<lambda>":
            found = self.method(model, made.__name__)
            lines = [found.lineno, *(one.lineno for one in found.decorator_list)] if found else []
            return found if code.co_firstlineno in lines else None
        lambdas = [one for one in ast.walk(self.tree) if isinstance(one, ast.Lambda)]
        here = [one for one in lambdas if one.lineno == code.co_firstlineno]
        return here[0] if len(here) == 1 else None


def _modules_of(tree: ast.Module) -> dict[str, str]:
    """Returns the full name of each name that the file imports."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                found[one.asname or one.name.partition(".")[0]] = one.name if one.asname else one.name.partition(".")[0]
        elif isinstance(node, ast.ImportFrom):
            found.update({one.asname or one.name: f"{node.module}.{one.name}" for one in node.names})
    return found
