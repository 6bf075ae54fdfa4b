"""A model's `forward` as the text of a JAX function: by the tables of torch_forms.py, and by nothing else."""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import cache
from types import FunctionType
from typing import Any, NoReturn

import torch_in_jax
from source import Wrong
from torch_forms import (
    ALSO,
    ATTRIBUTES,
    DTYPES,
    FORMS,
    LAYER_NOTICES,
    NARROWED,
    PLAIN_LAYERS,
    WEIGHTED_LAYERS,
    WITHOUT_MEANING,
    Weighted,
)
from torch_stand_in import Layer, Size, Weight

_SPACES = ("torch", "torch.nn.functional", "torch.special", "torch.Tensor")
_HELPERS = {name: one for name, one in vars(torch_in_jax).items() if isinstance(one, FunctionType)}
_ADVICE = "write its reference.py and use evolve init"
# What a keyword of a form's body need not say.
_UNSAID = {"axis": None, "keepdims": False, "dtype": None, "ddof": 0}
_LITERALS = (bool, int, float, str, type(None))


class _Refused(Exception):
    """A call that has no form as it is; the message says what of it."""


@cache
def _form(text: str) -> ast.Lambda:
    node = ast.parse(f"lambda {text}", mode="eval").body
    assert isinstance(node, ast.Lambda)
    return node


def literal(value: Any) -> ast.expr:
    """A number, a text or a tuple of such as it stands in a text. Raises _Refused."""
    if isinstance(value, (tuple, list)):
        return ast.Tuple([literal(one) for one in value], ast.Load())
    if not isinstance(value, _LITERALS):
        raise _Refused(f"a {type(value).__name__}")
    text = repr(int(value) if isinstance(value, Size) else value)
    return ast.parse(text.replace("inf", "jnp.inf") if isinstance(value, float) else text, mode="eval").body


def _constant(node: ast.expr, name: str) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError as error:
        raise _Refused(f"where '{name}' is no number or text") from error


class _Put(ast.NodeTransformer):
    """Puts expressions in the place of names, and leaves out what need not be said."""

    def __init__(self, values: dict[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return deepcopy(self.values.get(node.id, node))

    def visit_Call(self, node: ast.Call) -> ast.expr:
        # The name of a function is not one of the values.
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
    """Without the last arguments where they are what the function has without them."""
    helper = _HELPERS.get(call.func.id) if isinstance(call.func, ast.Name) else None
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
        count = ast.parse(f"{ast.unparse(args[2])}.shape[0]", mode="eval").body
        return ast.BinOp(_call("jnp.sum", args[:1]), ast.Div(), count)
    if how not in ("mean", "sum", "none"):
        raise _Refused(f"with reduction='{how}'")
    return args[0] if how == "none" else _call(f"jnp.{how}", args[:1])


def _gelu_of(args: list[ast.expr]) -> ast.expr:
    how = _constant(args[1], "approximate")
    if how not in ("none", "tanh"):
        raise _Refused(f"with approximate='{how}'")
    return _call("jax.nn.gelu" if how == "tanh" else "exact_gelu", args[:1])


def _norm_of(args: list[ast.expr]) -> ast.expr:
    x, p, dim, keepdim = args
    order = _constant(p, "p")
    if order in ("fro", 2, None):
        return _call("jnp.linalg.norm", [x], axis=dim, keepdims=keepdim)
    if not isinstance(order, (int, float)):
        raise _Refused(f"with p={order!r}")
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


def _pooled_to(args: list[ast.expr]) -> ast.expr:
    size = _constant(args[1], "output_size")
    if size != 1 and set(size if isinstance(size, (tuple, list)) else ()) != {1}:
        raise _Refused(f"with output_size={size!r}")
    return _call("mean_of_each", args[:1])


_MACROS: dict[str, Callable[[list[ast.expr]], ast.expr]] = {
    "reduced": _reduced,
    "gelu_of": _gelu_of,
    "norm_of": _norm_of,
    "with_places": _with_places,
    "size_of": _size_of,
    "pooled_to": _pooled_to,
    "len": _len,
    "int": lambda args: ast.Constant(int(_constant(args[0], "unbiased"))),
}


def applied(form: str, args: Sequence[ast.expr], keywords: dict[str, ast.expr]) -> ast.expr:
    """A form's body with these arguments. Raises _Refused."""
    given, body = _form(form).args, _form(form).body
    names = [one.arg for one in given.args]
    values: dict[str, ast.expr] = dict(zip(names, args, strict=False))
    if given.vararg:
        more = list(args[len(names) :]) or [keywords.pop(given.vararg.arg, ast.Tuple([], ast.Load()))]
        is_starred = f"*{given.vararg.arg}" in form.partition(": ")[2]
        # One alone may be all of them already.
        values[given.vararg.arg] = more[0] if len(more) == 1 and not is_starred else ast.Tuple(more, ast.Load())
    elif len(args) > len(names):
        raise _Refused(f"with {len(args)} arguments")
    values |= keywords
    values = {name: ast.Tuple(one.elts, one.ctx) if isinstance(one, ast.List) else one for name, one in values.items()}
    used = {node.id for node in ast.walk(body) if isinstance(node, ast.Name)}
    defaults = dict(zip(names[::-1], given.defaults[::-1], strict=False))
    for name, value in values.items():
        is_default = name in defaults and ast.dump(value) == ast.dump(defaults[name])
        if name not in used and name not in WITHOUT_MEANING and not is_default:
            raise _Refused(f"with {name}={ast.unparse(value)}")
    missing = [name for name in names if name not in values and name not in defaults]
    if missing:
        raise _Refused(f"without {missing[0]}")
    result = _Put(defaults | values).visit(deepcopy(body))
    assert isinstance(result, ast.expr)
    return result


class Translator(ast.NodeTransformer):
    """A function of the file in JAX. `notices` and `weights` are what it came upon, by the names of arguments."""

    def __init__(self, path: str, tree: ast.Module, model: Any, values: dict[str, Any]) -> None:
        self.path, self.model, self.values = path, model, values
        self.modules = _modules_of(tree)
        self.locals: set[str] = set()
        self.weights: dict[str, Weight] = {}
        self.notices: list[str] = []

    def function(self, node: ast.FunctionDef, entry: str, summary: str, numbers: dict[str, Any]) -> str:
        """Its text. `numbers` are arguments that are numbers, and no arguments of it."""
        if node.args.vararg or node.args.kwarg or node.args.kwonlyargs:
            self._refuse(node, "'forward' takes any arguments")
        names = [one.arg for one in node.args.args[1:]]
        self.locals = set(names) | {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and _is_set(one)}
        body = [f"{name} = {value!r}" for name, value in numbers.items()]
        for statement in node.body:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                continue
            body.append(ast.unparse(ast.fix_missing_locations(self.visit(statement))))
        arguments = ", ".join([name for name in names if name not in numbers] + list(self.weights))
        told = summary.replace("\\", "\\\\").replace('"""', "'''")
        lines = "\n".join(body)
        return f'def {entry}({arguments}):\n    """{told}."""\n{textwrap.indent(lines, "    ")}\n'

    def _refuse(self, node: ast.AST, what: str) -> NoReturn:
        raise Wrong(f"{self.path}:{getattr(node, 'lineno', 0)}: {what} has no form in JAX here: {_ADVICE}")

    def _narrowed(self, name: str) -> None:
        self.notices.append(f"forward's {name} is {NARROWED[name]} here")

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """Not into a part of an array."""
        for one in node.targets:
            if any(isinstance(part, (ast.Subscript, ast.Attribute)) for part in ast.walk(one)):
                self._refuse(node, f"'{ast.unparse(one)} = …', which writes into an array,")
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Without the annotation."""
        return self.visit(ast.copy_location(ast.Assign([node.target], node.value or ast.Constant(None)), node))

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """A local one, a number of the file, or Python's own."""
        if node.id in self.locals or node.id in self.modules:
            # What the text calls of torch_in_jax.py keeps its name.
            return ast.Name(node.id + "_", node.ctx) if node.id in self.locals and node.id in _HELPERS else node
        if node.id in self.values and isinstance(self.values[node.id], (*_LITERALS, tuple)):
            return literal(self.values[node.id])
        if not hasattr(builtins, node.id):
            self._refuse(node, f"'{node.id}'")
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Of a pair that is written out, the one."""
        value, at = self.visit(node.value), self.visit(node.slice)
        if isinstance(value, ast.Tuple) and isinstance(at, ast.Constant) and isinstance(at.value, int):
            return value.elts[at.value]
        return ast.Subscript(value, at, node.ctx)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """The model's own numbers and weights, dtypes, and what arrays have."""
        dotted = self._dotted(node)
        if dotted.startswith("torch."):
            name = dotted.rpartition(".")[2]
            if name in NARROWED:
                self._narrowed(name)
            elif name not in DTYPES:
                self._refuse(node, f"'{dotted}'")
            return ast.parse(f"jnp.{(NARROWED | DTYPES)[name]}", mode="eval").body
        if dotted.startswith("self."):
            return self._own(node, dotted)
        if dotted:
            return node
        value = self.visit(node.value)
        if isinstance(value, ast.Tuple) and node.attr in ("values", "indices"):
            return value.elts[node.attr == "indices"]
        if node.attr not in ATTRIBUTES:
            self._refuse(node, f"a tensor's '{node.attr}'")
        return ast.Attribute(value, node.attr, node.ctx)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """A form of the tables, a layer, or what Python has itself."""
        dotted = self._dotted(node.func)
        keywords = {one.arg: one.value for one in node.keywords if one.arg and one.arg not in WITHOUT_MEANING}
        # What has no meaning may have no form, either, as x.device.
        args = [self.visit(one) for one in node.args]
        said = {name: self.visit(value) for name, value in keywords.items()}
        try:
            if dotted.startswith("self."):
                return self._of_layer(self._value(node, dotted), dotted, args, said)
            if dotted.startswith("torch."):
                space, _, name = dotted.rpartition(".")
                return self._of_form(name if space in _SPACES else "", args, said)
            if isinstance(node.func, ast.Attribute) and not dotted:
                name = node.func.attr
                return self._of_form(name, [self.visit(node.func.value), *args], said)
        except _Refused as why:
            what = f"'{dotted}'" if dotted else f"a tensor's '{ast.unparse(node.func).rpartition('.')[2]}'"
            self._refuse(node, f"{what} {why}".strip())
        if isinstance(node.func, ast.Name) and not hasattr(builtins, node.func.id):
            self._refuse(node, f"'{node.func.id}'")
        return ast.Call(node.func, args, [ast.keyword(*one) for one in said.items()])

    def _of_form(self, name: str, args: list[ast.expr], keywords: dict[str, ast.expr]) -> ast.expr:
        name = ALSO.get(name, name)
        if name not in FORMS:
            raise _Refused("")
        if name in NARROWED:
            self._narrowed(name)
        return applied(FORMS[name], args, _renamed(keywords))

    def _of_layer(self, layer: Any, dotted: str, args: list[ast.expr], keywords: dict[str, ast.expr]) -> ast.expr:
        if not isinstance(layer, Layer):
            raise _Refused("")
        if layer.kind == "Identity" or (layer.kind.startswith("Dropout") and _chance(layer) == 0):
            return args[0]
        if layer.kind == "Sequential":
            for at, one in enumerate(layer.args):
                args = [self._of_layer(one, f"{dotted}_{at}", args, {})]
            return args[0]
        if layer.kind in LAYER_NOTICES:
            self.notices.append(f"nn.{layer.kind} {LAYER_NOTICES[layer.kind]}")
        try:
            if layer.kind in PLAIN_LAYERS:
                count, form = PLAIN_LAYERS[layer.kind]
                own = {key: literal(value) for key, value in layer.kwargs.items()}
                return applied(FORMS[form], [*args[:count], *map(literal, layer.args)], own | keywords)
            if layer.kind in WEIGHTED_LAYERS:
                return self._weighted(WEIGHTED_LAYERS[layer.kind], layer, dotted, args)
        except _Refused as why:
            raise _Refused(f"(nn.{layer.kind}) {why}") from why
        raise _Refused(f"(nn.{layer.kind})")

    def _weighted(self, of: Weighted, layer: Layer, dotted: str, args: list[ast.expr]) -> ast.expr:
        said = {name: value for name, value in layer.kwargs.items() if name not in WITHOUT_MEANING}
        try:
            bound = inspect.signature(of.shapes).bind(*layer.args, **said)
        except TypeError as error:
            raise _Refused(f"with these arguments ({error})") from error
        bound.apply_defaults()
        if isinstance(bound.arguments.get("padding"), str):
            raise _Refused(f"with padding='{bound.arguments['padding']}'")
        shapes = of.shapes(*bound.args, **bound.kwargs)
        values = {name: literal(value) for name, value in bound.arguments.items() if name not in shapes}
        for name in ("weight", "bias"):
            values[name] = ast.Constant(None)
            if shape := shapes.get(name):
                values[name] = self._weight(f"{dotted}.{name}", Weight(tuple(map(int, shape)), numbers=len(shape[2:])))
        result = _Put(values | {"x": args[0]}).visit(ast.parse(of.call, mode="eval").body)
        assert isinstance(result, ast.expr)
        return result

    def _weight(self, dotted: str, weight: Weight) -> ast.Name:
        name = dotted.removeprefix("self.").replace(".", "_")
        name += "_" if name in self.locals else ""
        self.weights[name] = weight
        return ast.Name(name, ast.Load())

    def _value(self, node: ast.AST, dotted: str) -> Any:
        value = self.model
        for name in dotted.split(".")[1:]:
            if not hasattr(value, name):
                self._refuse(node, f"'{dotted}', which __init__ does not set,")
            value = getattr(value, name)
        return value

    def _own(self, node: ast.AST, dotted: str) -> ast.expr:
        value = self._value(node, dotted)
        if isinstance(value, Weight):
            return self._weight(dotted, value)
        try:
            return literal(value)
        except _Refused as why:
            self._refuse(node, f"'{dotted}', {why},")

    def _dotted(self, node: ast.AST) -> str:
        """The full name of what belongs to a module or to the model; empty of all else."""
        names: list[str] = []
        while isinstance(node, ast.Attribute):
            names.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id in self.locals or not names:
            is_imported = isinstance(node, ast.Name) and node.id in self.modules and not names
            return self.modules[node.id] if is_imported else ""  # type: ignore[attr-defined]
        root = "self" if node.id == "self" else self.modules.get(node.id, "")
        full = ".".join([root, *names[::-1]])
        # Of a weight or a number a method may follow.
        is_method = root == "self" and isinstance(getattr(self.model, names[-1], None), (Weight, *_LITERALS))
        return "" if not root or (is_method and len(names) > 1) else full


def _is_set(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _renamed(keywords: dict[str, ast.expr]) -> dict[str, ast.expr]:
    """As tensors' functions call their arguments; some take NumPy's names, too."""
    also = {"axis": "dim", "keepdims": "keepdim"}
    return {also.get(name, name): value for name, value in keywords.items()}


def _chance(layer: Layer) -> Any:
    return layer.args[0] if layer.args else layer.kwargs.get("p", 0.5)


def _modules_of(tree: ast.Module) -> dict[str, str]:
    """What the names that the file imports stand for."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                found[one.asname or one.name.partition(".")[0]] = one.name if one.asname else one.name.partition(".")[0]
        elif isinstance(node, ast.ImportFrom):
            found.update({one.asname or one.name: f"{node.module}.{one.name}" for one in node.names})
    return found


def helpers_of(text: str) -> list[str]:
    """The texts of those functions of torch_in_jax.py that a text calls, and that they call, in that file's order."""
    wanted: set[str] = set()
    pending = [text]
    while pending:
        names = {node.id for node in ast.walk(ast.parse(pending.pop())) if isinstance(node, ast.Name)}
        new = (names & set(_HELPERS)) - wanted
        wanted |= new
        pending += [inspect.getsource(_HELPERS[name]) for name in new]
    return [inspect.getsource(one).rstrip() for name, one in _HELPERS.items() if name in wanted]


def imports_of(text: str) -> list[str]:
    """The imports that a text needs."""
    names = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    known = {"jax": "import jax", "jnp": "import jax.numpy as jnp", "math": "import math"}
    return [line for name, line in known.items() if name in names]


def is_helper(name: str) -> bool:
    """Whether a translated text may have a function of that name already."""
    return name in _HELPERS
