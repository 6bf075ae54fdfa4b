"""The names of a function that may have the same array: PyTorch changes arrays in place, and JAX does not."""

from __future__ import annotations

import ast
from collections.abc import Container

# This name stands for a function's caller, which also has the arrays of the arguments.
CALLERS = "the caller's"
# Operations whose result may share the first operand's memory, by PyTorch's names and by JAX's.
_VIEWS = {
    *(
        "view",
        "reshape",
        "transpose",
        "permute",
        "swapaxes",
        "t",
        "T",
        "mT",
        "squeeze",
        "unsqueeze",
        "flatten",
        "expand",
    ),
    *("narrow", "select", "split", "chunk", "unbind", "unfold", "contiguous", "detach", "to", "float"),
    *("expanded", "broadcast_to", "chunks", "unbound", "unfolded", "expand_dims", "moveaxis", "astype", "slice_in_dim"),
    *("take", "stop_gradient"),
}


class Memory:
    """A function's names, as its statements are read. `texts`: functions that may return an input."""

    def __init__(self, texts: Container[str]) -> None:
        self._texts = texts
        self._together: dict[str, set[str]] = {}
        self.changed: set[str] = set()  # names whose array was changed in place by a call

    def arguments(self, names: list[str]) -> None:
        """Notes arguments, whose arrays the caller has, too."""
        self._together = {name: {name, CALLERS} for name in names}

    def of(self, name: str) -> set[str]:
        """Returns the names that may have the same array as this name."""
        return set(self._together.get(name, {name}))

    def shared(self, node: ast.AST) -> set[str]:
        """Returns the names that may have the array that an expression gives."""
        if isinstance(node, ast.Name):
            return self.of(node.id)
        if isinstance(node, (ast.Tuple, ast.List)):
            return {name for one in node.elts for name in self.shared(one)}
        if isinstance(node, (ast.Subscript, ast.Starred)) or (isinstance(node, ast.Attribute) and node.attr in _VIEWS):
            return self.shared(node.value)
        if isinstance(node, ast.IfExp):
            return self.shared(node.body) | self.shared(node.orelse)
        if isinstance(node, ast.Call):
            func = node.func
            is_method = isinstance(func, ast.Attribute) and not ast.unparse(func).startswith(("jnp.", "jax."))
            name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
            first = func.value if is_method else node.args[0] if node.args else None  # type: ignore[attr-defined]
            if first is not None and (name in _VIEWS or name in self._texts):
                return self.shared(first)
        return set()

    def now(self, names: list[str], shared: set[str]) -> None:
        """Gives names other arrays from here on. The names in `shared` may have these arrays, too."""
        for name in names:
            for other in self._together.pop(name, set()) - {name, CALLERS}:
                self._together[other].discard(name)
            self.changed.discard(name)
        together = {*(shared - set(names)), *names}
        if len(together) > len(names):
            for name in together - {CALLERS}:
                self._together[name] = self._together.get(name, {name}) | together
