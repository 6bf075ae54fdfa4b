"""A call of PyTorch as an expression of JAX: a form of torch_forms.py with the call's arguments put in."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import cache
from types import FunctionType
from typing import Any

from init import torch_in_jax
from init.torch_forms import WITHOUT_MEANING
from init.torch_stand_in import Size

HELPERS = {name: one for name, one in vars(torch_in_jax).items() if isinstance(one, FunctionType)}
LITERALS = (bool, int, float, str, type(None))
# Keywords that a form's body may leave out, with the value that they then have.
_UNSAID = {"axis": None, "keepdims": False, "dtype": None, "ddof": 0}


class Refused(Exception):
    """A call that has no form as it is; the message says what is wrong with it."""


@cache
def _form(text: str) -> ast.Lambda:
    node = ast.parse(f"lambda {text}", mode="eval").body
    assert isinstance(node, ast.Lambda)
    return node


def literal(value: Any) -> ast.expr:
    """Returns a number, a text or a tuple of these as an expression. Raises Refused."""
    if isinstance(value, (tuple, list)):
        return ast.Tuple([literal(one) for one in value], ast.Load())
    if not isinstance(value, LITERALS):
        raise Refused(f"a {type(value).__name__}")
    text = repr(int(value) if isinstance(value, Size) else value)
    return ast.parse(text.replace("inf", "jnp.inf") if isinstance(value, float) else text, mode="eval").body


def _constant(node: ast.expr, name: str) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError as error:
        raise Refused(f"where '{name}' is not a number or a text") from error


class _Put(ast.NodeTransformer):
    """Replaces names by expressions, and leaves out arguments that need not be written."""

    def __init__(self, values: dict[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return deepcopy(self.values.get(node.id, node))

    def visit_Call(self, node: ast.Call) -> ast.expr:
        # A function's name is kept, even if an argument has the same name.
        func = node.func if isinstance(node.func, ast.Name) else self.visit(node.func)
        keywords = [ast.keyword(one.arg, self.visit(one.value)) for one in node.keywords]
        call = ast.Call(func, [self.visit(one) for one in node.args], keywords)
        call.args = [part for one in call.args for part in _unpacked(one)]
        call.keywords = [one for one in keywords if not _is_unsaid(one)]
        macro = _MACROS.get(func.id) if isinstance(func, ast.Name) else None
        return macro(call.args) if macro else _short(call)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        left, right = self.visit(node.left), self.visit(node.right)
        if _is_one(right) and isinstance(node.op, (ast.Mult, ast.Div)):
            return left
        return right if _is_one(left) and isinstance(node.op, ast.Mult) else ast.BinOp(left, node.op, right)


def _is_one(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is not bool and node.value == 1


def _unpacked(node: ast.expr) -> list[ast.expr]:
    return node.value.elts if isinstance(node, ast.Starred) and isinstance(node.value, ast.Tuple) else [node]


def _is_unsaid(one: ast.keyword) -> bool:
    is_known = one.arg in _UNSAID and isinstance(one.value, ast.Constant)
    return is_known and one.value.value is _UNSAID[one.arg or ""]  # type: ignore[attr-defined]


def _short(call: ast.Call) -> ast.Call:
    """Drops the last arguments if they are the function's own defaults."""
    helper = HELPERS.get(call.func.id) if isinstance(call.func, ast.Name) else None
    defaults = [one.default for one in inspect.signature(helper).parameters.values()] if helper else [None] * 9
    while call.args and isinstance(last := call.args[-1], ast.Constant):
        default = defaults[len(call.args) - 1]
        if type(last.value) is not type(default) or last.value != default:
            break
        call.args.pop()
    return call


def _call(name: str, args: Sequence[ast.expr], **keywords: ast.expr) -> ast.Call:
    node = ast.parse(name, mode="eval").body
    said = [ast.keyword(key, value) for key, value in keywords.items()]
    return ast.Call(node, list(args), [one for one in said if not _is_unsaid(one)])


def _reduced(args: list[ast.expr]) -> ast.expr:
    how = _constant(args[1], "reduction")
    if how == "batchmean" and len(args) > 2:
        count = ast.parse(f"({ast.unparse(args[2])}).shape[0]", mode="eval").body
        return ast.BinOp(_call("jnp.sum", args[:1]), ast.Div(), count)
    if how not in ("mean", "sum", "none"):
        raise Refused(f"with reduction='{how}'")
    return args[0] if how == "none" else _call(f"jnp.{how}", args[:1])


def _gelu_of(args: list[ast.expr]) -> ast.expr:
    how = _constant(args[1], "approximate")
    if how not in ("none", "tanh"):
        raise Refused(f"with approximate='{how}'")
    return _call("jax.nn.gelu" if how == "tanh" else "exact_gelu", args[:1])


def _norm_of(args: list[ast.expr]) -> ast.expr:
    x, p, dim, keepdim = args
    order = _constant(p, "p")
    if order in ("fro", 2, None):
        return _call("jnp.linalg.norm", [x], axis=dim, keepdims=keepdim)
    if not isinstance(order, (int, float)):
        raise Refused(f"with p={order!r}")
    if order == 1:
        return _call("jnp.sum", [_call("jnp.abs", [x])], axis=dim, keepdims=keepdim)
    if order == float("inf"):
        return _call("jnp.max", [_call("jnp.abs", [x])], axis=dim, keepdims=keepdim)
    powers = ast.BinOp(_call("jnp.abs", [x]), ast.Pow(), p)
    total = _call("jnp.sum", [powers], axis=dim, keepdims=keepdim)
    return ast.BinOp(total, ast.Pow(), ast.BinOp(ast.Constant(1), ast.Div(), p))


def _with_places(args: list[ast.expr]) -> ast.expr:
    values, places, x, dim, keepdim = args
    if isinstance(dim, ast.Constant) and dim.value is None:
        return ast.Call(values, [x], [])
    if isinstance(dim, (ast.Name, ast.Call, ast.BinOp)):
        elementwise = {"jnp.max": "jnp.maximum", "jnp.min": "jnp.minimum"}[ast.unparse(values)]
        return _call(elementwise, [x, dim])
    pair: list[ast.expr] = [_call(ast.unparse(one), [x], axis=dim, keepdims=keepdim) for one in (values, places)]
    return ast.Tuple(pair, ast.Load())


def _size_of(args: list[ast.expr]) -> ast.expr:
    shape = ast.Attribute(args[0], "shape", ast.Load())
    is_all = isinstance(args[1], ast.Constant) and args[1].value is None
    return shape if is_all else ast.Subscript(shape, args[1], ast.Load())


def _len(args: list[ast.expr]) -> ast.expr:
    value = _constant(args[0], "normalized_shape")
    return ast.Constant(len(value) if isinstance(value, (tuple, list)) else 1)


def _expanded_of(args: list[ast.expr]) -> ast.expr:
    is_own = isinstance(args[1], ast.Tuple) and any(ast.unparse(one) == "-1" for one in args[1].elts)
    return _call("expanded" if is_own else "jnp.broadcast_to", args)


def _cast_of(args: list[ast.expr]) -> ast.expr:
    is_none = isinstance(args[1], ast.Constant) and args[1].value is None
    return args[0] if is_none else ast.Call(ast.Attribute(args[0], "astype", ast.Load()), args[1:], [])


def _pooled_to(args: list[ast.expr]) -> ast.expr:
    size = _constant(args[1], "output_size")
    if size != 1 and set(size if isinstance(size, (tuple, list)) else ()) != {1}:
        raise Refused(f"with output_size={size!r}")
    return _call("mean_of_each", [args[0], args[2]])


def _sides_of(args: list[ast.expr]) -> ast.expr:
    sides, rank = args[0], _constant(args[1], "rank")
    return ast.Tuple([sides] * rank, ast.Load()) if isinstance(sides, ast.Constant) else sides


_MACROS: dict[str, Callable[[list[ast.expr]], ast.expr]] = {
    "reduced": _reduced,
    "gelu_of": _gelu_of,
    "norm_of": _norm_of,
    "with_places": _with_places,
    "size_of": _size_of,
    "pooled_to": _pooled_to,
    "sides_of": _sides_of,
    "expanded_of": _expanded_of,
    "cast_of": _cast_of,
    "len": _len,
    "int": lambda args: ast.Constant(int(_constant(args[0], "unbiased"))),
}


def applied(form: str, args: Sequence[ast.expr], keywords: dict[str, ast.expr]) -> ast.expr:
    """Returns a form's body with these arguments. Raises Refused."""
    given, body = _form(form).args, _form(form).body
    names = [one.arg for one in given.args]
    values: dict[str, ast.expr] = dict(zip(names, args, strict=False))
    defaults = dict(zip(names[::-1], given.defaults[::-1], strict=False))
    defaults |= {one.arg: value for one, value in zip(given.kwonlyargs, given.kw_defaults, strict=True) if value}
    if given.vararg:
        more = list(args[len(names) :]) or [keywords.pop(given.vararg.arg, ast.Tuple([], ast.Load()))]
        is_starred = f"*{given.vararg.arg}" in form.partition(": ")[2]
        # A single argument may already be the tuple of all arguments.
        values[given.vararg.arg] = more[0] if len(more) == 1 and not is_starred else ast.Tuple(more, ast.Load())
    elif len(args) > len(names):
        raise Refused(f"with {len(args)} arguments")
    values |= keywords
    if isinstance(dim := values.get("dim"), ast.Constant) and isinstance(dim.value, bool):
        raise Refused(f"with dim={dim.value}")
    if isinstance(dim, (ast.Tuple, ast.List)) and not dim.elts:
        raise Refused("with dim=()")
    values = {name: ast.Tuple(one.elts, one.ctx) if isinstance(one, ast.List) else one for name, one in values.items()}
    used = {node.id for node in ast.walk(body) if isinstance(node, ast.Name)}
    for name, value in values.items():
        is_default = name in defaults and ast.dump(value) == ast.dump(defaults[name])
        if name not in used and name not in WITHOUT_MEANING and not is_default:
            raise Refused(f"with {name}={ast.unparse(value)}")
    missing = [name for name in names if name not in values and name not in defaults]
    if missing:
        raise Refused(f"without {missing[0]}")
    result = _Put(defaults | values).visit(deepcopy(body))
    assert isinstance(result, ast.expr)
    return result


def renamed(keywords: dict[str, ast.expr]) -> dict[str, ast.expr]:
    """Returns keywords under PyTorch's own names, because some functions take NumPy's names, too."""
    also = {"axis": "dim", "keepdims": "keepdim", "split_size_or_sections": "split_size", "split_sizes": "split_size"}
    return {also.get(name, name): value for name, value in keywords.items()}


def helpers_of(text: str) -> list[str]:
    """Returns the functions of torch_in_jax.py that a text calls, also indirectly, as texts in that file's order."""
    wanted: set[str] = set()
    pending = [text]
    while pending:
        names = {node.id for node in ast.walk(ast.parse(pending.pop())) if isinstance(node, ast.Name)}
        new = (names & set(HELPERS)) - wanted
        wanted |= new
        pending += [inspect.getsource(HELPERS[name]) for name in new]
    return [inspect.getsource(one).rstrip() for name, one in HELPERS.items() if name in wanted]


def imports_of(text: str) -> list[str]:
    """Returns the imports that a text needs."""
    names = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    known = {"jax": "import jax", "jnp": "import jax.numpy as jnp", "math": "import math"}
    return [line for name, line in known.items() if name in names]


def is_helper(name: str) -> bool:
    """Whether a translated text may have a function of that name already."""
    return name in HELPERS
