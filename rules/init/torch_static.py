"""The values of a model's method that are known before it runs: its layers, its numbers, and values made from them."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FunctionType, MethodType
from typing import Any

from init.torch_calls import LITERALS
from init.torch_stand_in import Group, Layer, Made, Module, Sample, Weight


class NotStatic(Exception):
    """The value is known only when the method runs."""


class Unset(NotStatic):
    """The model has no such part; the message is its name."""


@dataclass(frozen=True, eq=False)
class Part:
    """A layer, a weight or a function of the model, and where it is: "self.layers.3"."""

    dotted: str
    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Part) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


# The attributes of PyTorch's own models (torch.nn.Module of PyTorch 2) that the stand-in does not have.
_MISSING = frozenset(
    "bfloat16 call_super_init compile double dump_patches extra_repr get_buffer get_extra_state get_parameter "
    "get_submodule half load_state_dict named_buffers register_backward_hook register_forward_hook "
    "register_forward_pre_hook register_full_backward_hook register_full_backward_pre_hook register_module "
    "set_extra_state set_submodule share_memory state_dict to_empty type xpu zero_grad".split()
)

_PARTS = (Module, Layer, Weight, Made, Sample, FunctionType, MethodType)
_COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Is: lambda one, other: one == other if isinstance(one, Part) else one is other,
    ast.IsNot: lambda one, other: one != other if isinstance(one, Part) else one is not other,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda one, many: one in many,
    ast.NotIn: lambda one, many: one not in many,
}
_COMPUTED: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_CALLED: dict[str, Callable[..., Any]] = {
    "len": len,
    "range": range,
    "enumerate": lambda parts, start=0: list(enumerate(parts, start)),
    "zip": lambda *parts: list(zip(*parts, strict=False)),
    "reversed": lambda parts: list(reversed(parts)),
    "list": list,
    "bool": bool,
    "int": int,
}


class Static:
    """The values of a method's expressions, where they do not depend on its inputs.

    `names`: the values of local names. `locals`: all local names; local names that are not in `names` have no value
    here.
    """

    def __init__(self, model: Any, values: dict[str, Any]) -> None:
        self.model, self.values = model, values
        self.names: dict[str, Any] = {}
        self.locals: set[str] = set()

    def of(self, node: ast.AST) -> Any:
        """Returns a number, a text, a Part, or a list of these. Raises NotStatic."""
        handler = getattr(self, f"_{type(node).__name__.lower()}", None)
        if handler is None:
            raise NotStatic
        try:
            return handler(node)
        except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as why:
            raise NotStatic from why

    def items(self, node: ast.expr) -> list[Any]:
        """Returns the items of a loop over an expression. Raises NotStatic."""
        found = _items(self.of(node))
        if isinstance(found, (str, int, float)) or found is None:
            raise NotStatic
        return list(found)

    def truth(self, node: ast.AST) -> bool:
        """Whether a condition holds. Raises NotStatic."""
        return _truth(self.of(node))

    @contextmanager
    def where(self, target: ast.expr, value: Any) -> Iterator[None]:
        """The context in which a target of a comprehension has a value."""
        before = dict(self.names)
        self.bind(target, value)
        try:
            yield
        finally:
            self.names = before

    def bind(self, target: ast.expr, value: Any) -> None:
        """Gives a target of a loop a value from here on. Raises NotStatic."""
        if isinstance(target, ast.Name):
            self.names[target.id] = value
        elif isinstance(target, ast.Tuple) and len(target.elts) == len(value):
            for one, of in zip(target.elts, value, strict=True):
                self.bind(one, of)
        else:
            raise NotStatic

    def _constant(self, node: ast.Constant) -> Any:
        return node.value

    def _name(self, node: ast.Name) -> Any:
        if node.id in self.names:
            return self.names[node.id]
        if node.id in self.locals:
            raise NotStatic
        if node.id == "self" and self.model is not None:
            return Part("self", self.model)
        if isinstance(self.values.get(node.id, ...), LITERALS):
            return self.values[node.id]
        raise NotStatic

    def _attribute(self, node: ast.Attribute) -> Any:
        if node.attr == "device":
            return "device"  # there is only one
        return _child(self.of(node.value), node.attr)

    def _subscript(self, node: ast.Subscript) -> Any:
        value = self.of(node.value)
        return _items(value)[self.of(node.slice)]

    def _slice(self, node: ast.Slice) -> Any:
        return slice(*(None if one is None else self.of(one) for one in (node.lower, node.upper, node.step)))

    def _tuple(self, node: ast.Tuple) -> Any:
        return [self.of(one) for one in node.elts]

    _list = _tuple

    def _joinedstr(self, node: ast.JoinedStr) -> str:
        return "".join(str(self.of(one)) for one in node.values)

    def _formattedvalue(self, node: ast.FormattedValue) -> Any:
        return self.of(node.value)

    def _unaryop(self, node: ast.UnaryOp) -> Any:
        value = self.of(node.operand)
        if isinstance(node.op, ast.Not):
            return not _truth(value)
        if isinstance(node.op, ast.USub):
            return -value
        raise NotStatic

    def _binop(self, node: ast.BinOp) -> Any:
        return _COMPUTED[type(node.op)](self.of(node.left), self.of(node.right))

    def _boolop(self, node: ast.BoolOp) -> Any:
        is_and = isinstance(node.op, ast.And)
        value: Any = is_and
        for one in node.values:
            value = self.of(one)
            if _truth(value) is not is_and:
                break
        return value

    def _compare(self, node: ast.Compare) -> Any:
        values = [self.of(one) for one in (node.left, *node.comparators)]
        pairs = zip(node.ops, values, values[1:], strict=False)
        return all(_COMPARED[type(op)](one, other) for op, one, other in pairs)

    def _call(self, node: ast.Call) -> Any:
        if node.keywords:
            raise NotStatic
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("items", "values", "keys"):
            return list(getattr(_layers_of(self.of(node.func.value)), node.func.attr)())
        if not isinstance(node.func, ast.Name):
            raise NotStatic
        args = [self.of(one) for one in node.args]
        if node.func.id == "hasattr":
            return _has(*args)
        if node.func.id == "getattr":
            return _child(args[0], args[1])
        return _CALLED[node.func.id](*(_items(one) if isinstance(one, Part) else one for one in args))


def _truth(value: Any) -> bool:
    if not isinstance(value, Part):
        return bool(value)
    if isinstance(value.value, (Weight, Made, Sample)):
        raise NotStatic
    return len(value.value) > 0 if isinstance(value.value, Group) else True


def _has(of: Any, name: str) -> bool:
    if not isinstance(of, Part) or not isinstance(of.value, Module):
        raise NotStatic
    has: bool = hasattr(of.value, name)
    if not has and name in _MISSING:
        raise NotStatic
    return has


def _child(of: Any, name: str) -> Any:
    if not isinstance(of, Part) or not isinstance(of.value, Module):
        raise NotStatic
    if not hasattr(of.value, name):
        raise Unset(f"{of.dotted}.{name}")
    return _told(f"{of.dotted}.{name}", getattr(of.value, name))


def _told(dotted: str, value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_told(f"{dotted}.{at}", one) for at, one in enumerate(value)]
    if value is None or isinstance(value, LITERALS):
        return value
    if isinstance(value, _PARTS):
        return Part(dotted, value)
    raise NotStatic


def _layers_of(of: Any) -> dict[str, Any]:
    """Returns a group's layers by number or name. Raises NotStatic."""
    if not isinstance(of, Part) or not isinstance(of.value, Group):
        raise NotStatic
    return {name: _told(f"{of.dotted}.{name}", one) for name, one in of.value.items()}


def _items(of: Any) -> Any:
    """Returns a group's layers, by number or name; returns a value that is not a Part as it is."""
    if not isinstance(of, Part):
        return of
    named = _layers_of(of)
    return named if of.value.kind == "ModuleDict" else list(named.values())
