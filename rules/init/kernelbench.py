"""KernelBench's problems: a PyTorch model whose `forward` is written anew in JAX, call by call.

The file runs with a stand-in for torch (stand_in.py), which says what the inputs' shapes are and what the constructor
sets. `forward` is translated from its text by torch_forms.py's tables; what stands in none is named, with its line. A
parameter of the model becomes an input: a candidate is judged for weights that it cannot know.
"""

from __future__ import annotations

import ast
import copy
import inspect
import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dimensions import Tensor, named
from folder import Given, Tolerance
from source import Imported, Wrong, executed
from stand_in import Drawn, Layer, Unknown, installed
from torch_forms import FUNCTIONS, LAYERS, REDUCTIONS

_ELSEWHERE = "has no form in JAX here: write it as a function, and use evolve init"
_MODULES = {"torch", "F", "torch.nn.functional", "nn.functional"}
_HEAD = '"""{summary}, in JAX."""\n\nimport jax\nimport jax.numpy as jnp\n\n\n'


@dataclass
class Translator:
    """Expressions of a model's forward as texts in JAX."""

    path: Path
    attributes: dict[str, Any]  # of the model
    constants: dict[str, Any] = field(default_factory=dict)  # arguments that are no tensors
    weights: dict[str, Drawn] = field(default_factory=dict)  # those that were used, by the names of their inputs

    def wrong(self, node: ast.AST, what: str) -> Wrong:
        """What stands where."""
        return Wrong(f"{self.path}:{getattr(node, 'lineno', 0)}: {what}")

    def text(self, node: ast.expr) -> str:
        """An expression."""
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        if isinstance(node, ast.Name) and node.id in self.constants:
            return repr(self.constants[node.id])
        return ast.unparse(self._translated(node))

    def _translated(self, node: ast.expr) -> ast.expr:
        is_constant = isinstance(node, ast.Name) and node.id in self.constants
        if is_constant or isinstance(node, (ast.Call, ast.Attribute)):
            return ast.parse(self.text(node), mode="eval").body
        changed = copy.copy(node)
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                setattr(changed, name, self._translated(value))
            elif isinstance(value, list):
                setattr(changed, name, [self._translated(x) if isinstance(x, ast.expr) else x for x in value])
        return changed

    def _attribute(self, node: ast.Attribute) -> str:
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            value = self.attributes.get(node.attr)
            if isinstance(value, Drawn):
                self.weights[node.attr] = value
                return node.attr
            if isinstance(value, (int, float, bool, str, tuple, list)) or (
                value is None and node.attr in self.attributes
            ):
                return repr(value)
            raise self.wrong(node, f"'self.{node.attr}' {_ELSEWHERE}")
        if ast.unparse(node) == "math.pi":
            return repr(math.pi)
        if ast.unparse(node.value) in _MODULES:
            raise self.wrong(node, f"'{ast.unparse(node)}' {_ELSEWHERE}")
        if node.attr in ("T", "shape", "ndim"):
            return f"{self.text(node.value)}.{node.attr}"
        # Of a pair of values and places.
        if node.attr in ("values", "indices"):
            return f"{self.text(node.value)}[{int(node.attr == 'indices')}]"
        raise self.wrong(node, f"a tensor's '{node.attr}' {_ELSEWHERE}")

    def _call(self, node: ast.Call) -> str:
        function = node.func
        if not isinstance(function, ast.Attribute):
            name = ast.unparse(function)
            if name in ("len", "int", "float", "min", "max", "range"):
                return f"{name}({', '.join(map(self.text, node.args))})"
            raise self.wrong(node, f"'{name}' {_ELSEWHERE}")
        if isinstance(function.value, ast.Name) and function.value.id == "self":
            return self._layer(node, function.attr)
        if ast.unparse(function.value) in _MODULES:
            return self._function(node, function.attr, [])
        if ast.unparse(function.value) == "math":
            return f"jnp.{function.attr}({', '.join(map(self.text, node.args))})"
        if function.attr == "size":
            shape = f"{self.text(function.value)}.shape"
            return f"{shape}[{self.text(node.args[0])}]" if node.args else shape
        if function.attr in ("float", "to", "type"):
            return self.text(function.value)
        return self._function(node, function.attr, [self.text(function.value)])

    def _layer(self, node: ast.Call, name: str) -> str:
        layer = self.attributes.get(name)
        if not isinstance(layer, Layer) or len(node.args) != 1:
            raise self.wrong(node, f"'self.{name}' {_ELSEWHERE}")
        x = self.text(node.args[0])
        if layer.name == "Linear":
            given = self._given(node, layer, "in_features, out_features, bias=True, device=None, dtype=None")
            weight = self._weight(f"{name}_weight", (given["out_features"], given["in_features"]))
            bias = f" + {self._weight(f'{name}_bias', (given['out_features'],))}" if given["bias"] else ""
            return f"({x} @ {weight}.T{bias})"
        if layer.name == "LayerNorm":
            return self._layer_norm(node, name, layer, x)
        if layer.name not in LAYERS:
            raise self.wrong(node, f"'nn.{layer.name}' {_ELSEWHERE}")
        options = {key: repr(value) for key, value in layer.options.items()}
        return self._filled(node, LAYERS[layer.name], [x, *map(repr, layer.args)], options)

    def _given(self, node: ast.AST, layer: Layer, arguments: str) -> dict[str, Any]:
        """What a layer was made with, by the names of its constructor."""
        try:
            bound = inspect.signature(eval(f"lambda {arguments}: None")).bind(*layer.args, **layer.options)  # noqa: S307
        except TypeError as error:
            raise self.wrong(node, f"'nn.{layer.name}': {error}") from error
        bound.apply_defaults()
        return dict(bound.arguments)

    def _layer_norm(self, node: ast.AST, name: str, layer: Layer, x: str) -> str:
        given = self._given(node, layer, "normalized_shape, eps=1e-5, elementwise_affine=True, bias=True")
        shape = given["normalized_shape"]
        shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
        axes = tuple(range(-len(shape), 0))
        mean, square = (f"jnp.{one}({x}, axis={axes}, keepdims=True)" for one in ("mean", "var"))
        scaled = f"({x} - {mean}) * jax.lax.rsqrt({square} + {given['eps']})"
        if not given["elementwise_affine"]:
            return f"({scaled})"
        weight, bias = (self._weight(f"{name}_{one}", shape) for one in ("weight", "bias"))
        return f"({scaled} * {weight} + {bias})"

    def _weight(self, name: str, shape: tuple[int, ...]) -> str:
        self.weights[name] = Drawn(shape)
        return name

    def _function(self, node: ast.Call, name: str, first: list[str]) -> str:
        args = [*first, *map(self.text, node.args)]
        options = {str(one.arg): self.text(one.value) for one in node.keywords}
        if name in ("max", "min") and len(args) == 1 and not options:
            name += " of all"
        return self._filled(node, name.rstrip("_"), args, options)

    def _filled(self, node: ast.Call, name: str, args: list[str], options: dict[str, str]) -> str:
        if name not in FUNCTIONS:
            raise self.wrong(node, f"'{ast.unparse(node.func)}' {_ELSEWHERE}")
        arguments, form = FUNCTIONS[name]
        signature = inspect.signature(eval(f"lambda {arguments}: None"))  # noqa: S307 - a text of the table
        try:
            bound = signature.bind(*args, **options)
        except TypeError as error:
            raise self.wrong(node, f"'{ast.unparse(node.func)}': {error}") from error
        words = {}
        for key, parameter in signature.parameters.items():
            value = bound.arguments.get(key, repr(parameter.default))
            words[key] = ", ".join(value) if isinstance(value, tuple) else value
        # Frobenius' norm is that of all elements.
        words = {key: "2" if value == "'fro'" else value for key, value in words.items()}
        if words.get("reduction") not in (None, repr(REDUCTIONS.get(name, "mean"))):
            raise self.wrong(node, f"'{name}' with reduction={words['reduction']} {_ELSEWHERE}")
        if not re.fullmatch(r"[\w.]+|\(.*\)", words.get("x", "x")) and "{x}." in form:
            words["x"] = f"({words['x']})"
        return form.format(**words)


def read(path: Path, config: dict[str, Any]) -> Imported:
    """The problem of a file."""
    del config
    try:
        text = path.read_text()
        tree = ast.parse(text, str(path))
    except (OSError, SyntaxError, UnicodeDecodeError) as error:
        raise Wrong(f"{path}: {error}") from error
    model, given_inputs, module = _shown(text, path)
    forward = _forward(tree, path)
    arguments = [one.arg for one in forward.args.args[1:]]
    if len(given_inputs) > len(arguments):
        raise Wrong(f"{path}: get_inputs gives {len(given_inputs)} inputs, and forward takes {len(arguments)}")
    inputs = {name: one for name, one in zip(arguments, given_inputs, strict=False) if isinstance(one, Drawn)}
    # A number that is given is part of the task, and so is a default.
    defaults = dict(zip(arguments[::-1], map(ast.literal_eval, forward.args.defaults[::-1]), strict=False))
    numbers = {name: one for name, one in zip(arguments, given_inputs, strict=False) if name not in inputs}
    translator = Translator(path, vars(model), {**defaults, **numbers})
    body = _body(translator, forward)
    name = re.sub(r"^\d+_|\W", "", path.stem).strip("_").lower()
    name = name if name.isidentifier() else f"model_{name}"
    docstring = ast.get_docstring(next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Model"))
    summary = " ".join((docstring or name).split("\n\n")[0].split()).rstrip(".").replace('"', "'")
    given = (inputs | translator.weights).items()
    tensors = tuple(Tensor(name, one.dtype, one.shape, one.range) for name, one in given)
    taken = ", ".join(one.name for one in tensors)
    reference = _HEAD.format(summary=summary) + f"def {name}({taken}):\n" + f'    """{summary}."""\n' + body
    function = getattr(executed(reference, path.with_suffix(".jax.py")), name)
    notices = [f"its parameter '{one}' is an input, of any values" for one in translator.weights]
    dimensions, sizes = named(function, tensors)
    known = Given(tolerance=_tolerance(module), reference=reference, written_by="evolve import kernelbench")
    return Imported(name, name, str(path), function, dimensions, sizes, known, summary=summary, notices=notices)


def _shown(text: str, path: Path) -> tuple[Any, list[Any], Any]:
    """The model as its constructor leaves it, its inputs, and its module."""
    with installed():
        module = executed(text, path)
        for needed in ("Model", "get_inputs"):
            if not hasattr(module, needed):
                raise Wrong(f"{path}: not a problem of KernelBench: it has no {needed}")
        try:
            model = module.Model(*getattr(module, "get_init_inputs", list)())
            inputs = list(module.get_inputs())
        except Unknown as error:
            raise Wrong(f"{path}: {error}: what are the inputs?") from error
        except Exception as error:
            raise Wrong(f"{path}: {type(error).__name__}: {error}") from error
    odd = [one for one in inputs if not isinstance(one, (Drawn, int, float))]
    if odd:
        raise Wrong(f"{path}: an input is no tensor, and no number: {odd[0]!r}")
    return model, inputs, module


def _forward(tree: ast.Module, path: Path) -> ast.FunctionDef:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name == "Model":
            for one in node.body:
                if isinstance(one, ast.FunctionDef) and one.name == "forward":
                    return one
    raise Wrong(f"{path}: Model has no forward")


def _body(translator: Translator, forward: ast.FunctionDef) -> str:
    lines = []
    for node in forward.body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            lines.append(f"{ast.unparse(node.targets[0])} = {translator.text(node.value)}")
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            whole = ast.BinOp(ast.Name(node.target.id), node.op, node.value, lineno=node.lineno)
            lines.append(f"{node.target.id} = {translator.text(whole)}")
        elif isinstance(node, ast.Return) and node.value is not None:
            lines.append(f"return {translator.text(node.value)}")
        else:
            raise translator.wrong(node, f"'{ast.unparse(node).splitlines()[0]}' {_ELSEWHERE}")
    return "".join(f"    {line}\n" for line in lines)


def _tolerance(module: Any) -> Tolerance:
    """What the file says; its own defaults are for other hardware."""
    default = Tolerance()

    def said(key: str) -> float:
        return float(getattr(module, f"output_{key}", getattr(module, key, getattr(default, key))))

    return Tolerance(said("rtol"), said("atol"))
