"""A model's `forward` as the text of JAX functions, translated only by the tables of torch_forms.py.

Values of the model that are known before it runs are computed (torch_static.py): loops over its layers are unrolled,
and conditions on such values are decided. An inner model, a method or a function of the file becomes a function of its
own.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import textwrap
from collections import Counter
from copy import deepcopy
from types import FunctionType, MethodType
from typing import Any, NoReturn

from init.source import Wrong
from init.torch_calls import HELPERS, LITERALS, Refused, applied, literal, renamed
from init.torch_file import File, Function
from init.torch_forms import (
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
from init.torch_memory import CALLERS, Memory
from init.torch_stand_in import Group, Layer, Made, Module, Sample, Sequential, Weight
from init.torch_static import NotStatic, Part, Static, Unset

_SPACES = ("torch", "torch.nn.functional", "torch.special", "torch.Tensor")
_ADVICE = "write its reference.py and use evolve init"
# The id of a layer or an array of the model, and the name of its weight.
_Key = tuple[int, str]


class Translator(ast.NodeTransformer):
    """The translation of a function of the file. `weights`: the weights that it uses, by the names of arguments."""

    def __init__(self, file: File, model: Any) -> None:
        self.file, self.model = file, model
        self.static = Static(model, file.values)
        self.locals: set[str] = set()
        self.once: set[str] = set()  # names that are set in one place
        self.counters: set[str] = set()  # names that only loops set
        self.lists: set[str] = set()
        self.is_sure = True  # false in code that runs, or runs again, depending on the inputs
        self.memory = Memory(file.texts)
        self.weights: dict[str, Weight] = {}
        self.places: dict[str, str] = {}  # by name: where the model has the weight
        self.keys: dict[str, _Key] = {}  # by name: the weight's identity, because names may share a weight

    def function(self, node: Function, entry: str, summary: str, numbers: dict[str, Any]) -> str:
        """Returns the function's text. `numbers`: arguments that are numbers, which the text does not take."""
        if node.args.vararg or node.args.kwarg or node.args.kwonlyargs:
            self._refuse(node, f"'{getattr(node, 'name', 'lambda')}' takes any arguments")
        names = [one.arg for one in node.args.args if one.arg != "self"]
        stored = Counter(one.id for one in ast.walk(node) if isinstance(one, ast.Name) and _is_set(one))
        looped = Counter(name for one in ast.walk(node) for name in _targets(one))
        self.locals = {one.arg for one in ast.walk(node) if isinstance(one, ast.arg) and one.arg != "self"} | set(
            stored
        )
        self.static.locals = self.locals
        self.once = {name for name, count in stored.items() if count == 1 and name not in names}
        self.counters = {name for name in looped if looped[name] == stored[name] and name not in names}
        self.static.names |= {name: value for name, value in numbers.items() if name not in stored}
        # The entry's inputs are not its caller's: if forward changes an input in place, its results stay the same.
        self.memory.arguments([] if entry else names)
        body = [f"{name} = {value!r}" for name, value in numbers.items()]
        statements: list[ast.stmt] = [ast.Return(node.body)] if isinstance(node, ast.Lambda) else node.body
        body += [ast.unparse(ast.fix_missing_locations(one)) for one in self._statements(statements)]
        arguments = ", ".join([name for name in names if name not in numbers] + list(self.weights))
        told = summary.replace("\\", "\\\\").replace('"""', "'''")
        lines = "\n".join(body)
        return f'def {entry}({arguments}):\n    """{told}."""\n{textwrap.indent(lines, "    ")}\n'

    def _statements(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Translates statements, up to the first that ends the function."""
        found: list[ast.stmt] = []
        for one in statements:
            if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant):
                continue
            made = self.visit(one)
            found += made if isinstance(made, list) else [] if made is None else [made]
            if found and isinstance(found[-1], (ast.Return, ast.Raise)):
                break
        return found

    def _refuse(self, node: ast.AST, what: str) -> NoReturn:
        raise Wrong(f"{self.file.path}:{getattr(node, 'lineno', 0)}: {what} cannot be translated to JAX: {_ADVICE}")

    def _narrowed(self, name: str) -> None:
        self.file.notices.append(f"forward's {name} is {NARROWED[name]} here")

    def _known(self, node: ast.AST) -> Any:
        """Returns a node's value; NotStatic: the value depends on the inputs."""
        try:
            return self.static.of(node)
        except Unset as why:
            self._refuse(node, f"'{why}', which __init__ does not set,")
        except NotStatic:
            return NotStatic

    def _part(self, node: ast.AST) -> Part | None:
        found = self._known(node)
        return found if isinstance(found, Part) else None

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        """Refuses to assign into a part of an array. A new name of a layer is known from here on."""
        for one in node.targets:
            if any(isinstance(part, (ast.Subscript, ast.Attribute)) for part in ast.walk(one)):
                what = "changes the model" if ast.unparse(one).startswith("self.") else "writes into an array"
                self._refuse(node, f"'{ast.unparse(one)} = …', which {what},")
        stored = [name for one in node.targets for name in _names_set(one)]
        if len(node.targets) == 1 and isinstance(target := node.targets[0], ast.Name):
            found = self._part(node.value)
            if found and isinstance(found.value, (Module, Layer)):
                if target.id not in self.once or not self.is_sure:
                    self._refuse(node, f"'{target.id}', which is one layer here and another elsewhere,")
                self.static.names[target.id] = found
                return None
            known = self._known(node.value)
            if type(known) is int and target.id in self.once and self.is_sure:
                self.static.names[target.id] = known
            if isinstance(node.value, (ast.List, ast.ListComp)):
                self.lists.add(target.id)
        node.value = self.visit(node.value)
        self.memory.now(stored, self.memory.shared(node.value))
        node.targets = [self.visit(one) for one in node.targets]
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """Refuses to change an array that another name may have, too."""
        if not isinstance(node.target, ast.Name):
            self._refuse(node, f"'{ast.unparse(node.target)} … =', which changes what is not a name")
        node.value = self.visit(node.value)
        name = node.target.id
        if name not in self.lists and self.memory.of(name) != {name}:
            self._refuse(node, f"'{name} … =', which changes what another name may have, too,")
        self.memory.now([name], set())
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        """Drops the annotation."""
        made: ast.AST | None = self.visit(
            ast.copy_location(ast.Assign([node.target], node.value or ast.Constant(None)), node)
        )
        return made

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        """Takes one side, if it is known which."""
        try:
            return self._statements(node.body if self.static.truth(node.test) else node.orelse)
        except NotStatic:
            return self._unsure(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        """Takes one side, if it is known which."""
        try:
            made: ast.AST = self.visit(node.body if self.static.truth(node.test) else node.orelse)
        except NotStatic:
            return self.generic_visit(node)
        return made

    def visit_While(self, node: ast.While) -> ast.AST:
        """Keeps the statement, because the inputs decide whether it runs."""
        return self._unsure(node)

    visit_With = visit_Try = visit_While  # type: ignore[assignment]

    def _unsure(self, node: Any) -> ast.AST:
        """Translates statements that run depending on the inputs. The names that they set are unknown from here on."""
        for name in {name for one in ast.walk(node) for name in _names_set(one)}:
            self.static.names.pop(name, None)
        before, self.is_sure = self.is_sure, False
        made: Any = self.generic_visit(node)
        self.is_sure = before
        if isinstance(made, (ast.If, ast.For, ast.While)) and not made.body:
            made.body = [ast.Pass()]
        return made

    def visit_Assert(self, node: ast.Assert) -> ast.AST | None:
        """Drops the assertion, because it does not change the result."""
        return None

    def visit_For(self, node: ast.For) -> ast.AST | list[ast.stmt]:
        """Unrolls a loop over layers."""
        items = self._layers(node.iter, [*node.body])
        if items is None:
            return self._unsure(node)
        if node.orelse or any(isinstance(one, (ast.Break, ast.Continue, ast.Return)) for one in ast.walk(node)):
            self._refuse(node, "a loop over layers that ends early")
        own = set(_names_set(node.target))
        if not own <= self.counters or own & {name for part in node.body for name in _all_set(part)}:
            self._refuse(node, f"a loop over layers whose '{ast.unparse(node.target)}' is set elsewhere, too,")
        found: list[ast.stmt] = []
        for item in items:
            self._bind(node.target, item)
            found += self._statements(deepcopy(node.body))
        return found

    def _bind(self, target: ast.expr, item: Any) -> None:
        try:
            self.static.bind(target, item)
        except NotStatic:
            self._refuse(target, f"a loop over layers with '{ast.unparse(target)}'")

    def visit_ListComp(self, node: ast.ListComp | ast.GeneratorExp) -> ast.AST:
        """Unrolls a comprehension over layers."""
        (first, *others) = node.generators
        items = None if others or first.ifs else self._layers(first.iter, [node.elt])
        own = set(_names_set(first.target))
        if items is None or own & set(_all_set(node.elt)):
            hidden = {name: self.static.names.pop(name) for name in set(_all_set(node)) & set(self.static.names)}
            made = self.generic_visit(node)
            self.static.names |= hidden
            return made
        found: list[ast.expr] = []
        for item in items:
            with self.static.where(first.target, item):
                found.append(self.visit(deepcopy(node.elt)))
        return ast.List(found, ast.Load())

    visit_GeneratorExp = visit_ListComp

    def _layers(self, over: ast.expr, body: list[ast.AST]) -> list[Any] | None:
        """Returns the items of a loop; None: they are neither layers, nor numbers by which it takes layers."""
        try:
            items = list(self.static.items(over))
        except NotStatic:
            return None
        has_parts = any(
            isinstance(part, Part) for item in items for part in (item if isinstance(item, tuple) else [item])
        )
        if has_parts or any(self._takes_a_layer(one) for part in body for one in ast.walk(part)):
            return items
        return None

    def _takes_a_layer(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr":
            return True
        if not isinstance(node, ast.Subscript):
            return False
        found = self._known(node.value)
        return isinstance(found, list) or (isinstance(found, Part) and isinstance(found.value, Group))

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Translates a local name, a number of the file, or a name of a Python builtin."""
        if node.id in self.memory.changed and not _is_set(node):
            self._refuse(node, f"'{node.id}', which was changed in place through another name,")
        if node.id in self.static.names and not _is_set(node):
            return self._own(node, self.static.names[node.id])
        if node.id in self.locals or node.id in self.file.modules:
            # A local name must not hide a function of torch_in_jax.py that the text calls.
            return ast.Name(node.id + "_", node.ctx) if node.id in self.locals and node.id in HELPERS else node
        if node.id in self.file.values and isinstance(self.file.values[node.id], (*LITERALS, tuple)):
            return literal(self.file.values[node.id])
        if not hasattr(builtins, node.id):
            self._refuse(node, f"'{node.id}'")
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Takes an element of a pair that is written out."""
        known = self._known(node)
        if known is not NotStatic:
            return self._own(node, known)
        value, at = self.visit(node.value), self.visit(node.slice)
        if isinstance(value, ast.Tuple) and isinstance(at, ast.Constant) and isinstance(at.value, int):
            return value.elts[at.value]
        return ast.Subscript(value, at, node.ctx)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Translates the model's own numbers and weights, dtypes, and attributes of arrays."""
        dotted = self._dotted(node)
        if dotted.startswith("torch."):
            name = dotted.rpartition(".")[2]
            if name in NARROWED:
                self._narrowed(name)
            elif name not in DTYPES:
                self._refuse(node, f"'{dotted}'")
            return ast.parse(f"jnp.{(NARROWED | DTYPES)[name]}", mode="eval").body
        if dotted:
            return node
        known = self._known(node)
        if known is not NotStatic and node.attr != "device":
            return self._own(node, known)
        value = self.visit(node.value)
        if isinstance(value, ast.Tuple) and node.attr in ("values", "indices"):
            return value.elts[node.attr == "indices"]
        if node.attr not in ATTRIBUTES:
            self._refuse(node, f"a tensor's '{node.attr}'")
        return ast.Attribute(value, node.attr, node.ctx)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Translates a form of the tables, a layer, or a function of Python's own."""
        if any(one.arg is None for one in node.keywords):
            self._refuse(node, f"'{ast.unparse(node)}', whose keywords are not written out,")
        keywords = {str(one.arg): one.value for one in node.keywords if one.arg not in WITHOUT_MEANING}
        # Arguments without a meaning are left out, because they may have no form, such as x.device.
        args = [self.visit(one) for one in node.args if self._known(one) != "device"]
        said = {name: self.visit(value) for name, value in keywords.items()}
        part = self._part(node.func)
        dotted = part.dotted if part else self._dotted(node.func)
        self._changes(node, part)
        try:
            if part:
                return self._of_part(part, args, said)
            if dotted.startswith("torch."):
                space, _, name = dotted.rpartition(".")
                # These two functions differ from the tensors' method `unfold`, which has a form.
                is_other = space == "torch.nn.functional" and name in ("unfold", "fold")
                return self._of_form(name if space in _SPACES and not is_other else "", args, said)
            if isinstance(node.func, ast.Attribute) and not dotted:
                return self._of_method(node.func, args, said)
            if isinstance(node.func, ast.Name) and node.func.id in self.file.functions:
                function = self.file.functions[node.func.id]
                made = self.file.values.get(node.func.id)
                return self._inlined(Part("self", None), function, made, args, said)
        except Refused as why:
            what = f"'{dotted}'" if dotted else f"a tensor's '{ast.unparse(node.func).rpartition('.')[2]}'"
            self._refuse(node, f"{what} {why}".strip())
        if isinstance(node.func, ast.Name) and not hasattr(builtins, node.func.id):
            self._refuse(node, f"'{node.func.id}'")
        known = self._known(node)
        if isinstance(known, LITERALS):
            return literal(known)
        return ast.Call(node.func, args, [ast.keyword(*one) for one in said.items()])

    def _of_method(self, func: ast.Attribute, args: list[ast.expr], keywords: dict[str, ast.expr]) -> ast.expr:
        """Translates a method of a tensor, or of a list of tensors."""
        of = func.value
        if isinstance(of, ast.Name) and of.id in self.lists and func.attr in ("append", "extend"):
            return ast.Call(ast.Attribute(self.visit(of), func.attr, ast.Load()), args, [])
        if func.attr == "where" and args and not keywords:
            return self._of_form("where", [args[0], self.visit(of), *args[1:]], {})
        return self._of_form(func.attr, [self.visit(of), *args], keywords)

    def _changes(self, node: ast.Call, part: Part | None) -> None:
        """Notes the names whose array a call changes in place: they must not be used from here on."""
        layer = part.value if part else None
        last = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        said = [one.value for one in node.keywords if one.arg == "inplace"]
        is_inplace = any(not isinstance(one, ast.Constant) or one.value for one in said)
        if isinstance(layer, Sequential) and len(layer):
            layer = next(iter(layer))
        if isinstance(layer, Layer):
            is_inplace = layer.kwargs.get("inplace", False) or (
                layer.kind in ("ReLU", "ReLU6", "SiLU") and any(layer.args)
            )
        if not is_inplace or not node.args:
            return
        names = self.memory.shared(node.args[0]) if isinstance(node.args[0], (ast.Name, ast.Subscript)) else set()
        if CALLERS in names:
            self._refuse(node, f"'{last}' in place, which changes what the caller has, too,")
        self.memory.changed |= names - {CALLERS}

    def _of_form(self, name: str, args: list[ast.expr], keywords: dict[str, ast.expr]) -> ast.expr:
        name = ALSO.get(name, name)
        if name not in FORMS:
            raise Refused("")
        if name in NARROWED:
            self._narrowed(name)
        if name in ("max", "min"):
            self._check_axis(args, keywords)
        return applied(FORMS[name], args, renamed(keywords))

    def _check_axis(self, args: list[ast.expr], keywords: dict[str, ast.expr]) -> None:
        """Raises Refused if an axis is not a number, because it might be an array that is used element by element."""
        for one in [*args[1:2], *(keywords[name] for name in ("dim", "axis") if name in keywords)]:
            is_number = _number_of(one) is not None
            is_axis = bool(keywords) or len(args) > 2 or (isinstance(one, ast.Name) and one.id in self.counters)
            if not is_number and is_axis:
                raise Refused(f"along '{ast.unparse(one)}', which may be another axis each time")

    def _of_part(self, part: Part, args: list[ast.expr], keywords: dict[str, ast.expr]) -> ast.expr:
        value = part.value
        own = self.file.method(value, "forward") if isinstance(value, (Module, Layer)) else None
        if own is not None:
            return self._inlined(part, own, type(value).forward, args, keywords)
        if isinstance(value, Layer):
            return self._of_layer(value, part.dotted, args, keywords)
        if isinstance(value, Group):
            are_told = {getattr(one, "kind", "") for one in value} == {"TransformerEncoderLayer"}
            if value.kind != "Sequential" or not args or (keywords and not are_told):
                raise Refused(f"(nn.{value.kind})")
            for name, one in value.items():
                args = [self._of_part(Part(f"{part.dotted}.{name}", one), args, keywords)]
            return args[0]
        if not isinstance(value, (MethodType, FunctionType)):
            raise Refused("")
        dotted = part.dotted.rpartition(".")[0]
        owner = Part(dotted, value.__self__ if isinstance(value, MethodType) else self._model(dotted))
        node = self.file.defined(owner.value, value)
        if node is None:
            raise Refused("")
        around = dict(inspect.getclosurevars(value).nonlocals) if isinstance(node, ast.Lambda) else {}
        return self._inlined(owner, node, value, args, keywords, around)

    def _model(self, dotted: str) -> Any:
        found = self.model
        for name in dotted.split(".")[1:]:
            found = found[int(name)] if name.isdigit() and isinstance(found, (list, tuple)) else getattr(found, name)
        return found

    def _inlined(
        self,
        owner: Part,
        node: Function,
        made: Any,
        args: list[ast.expr],
        keywords: dict[str, ast.expr],
        around: dict[str, Any] | None = None,
    ) -> ast.expr:
        """Translates a call of a function of the file into a call in the text; `made`: the function itself."""
        names = [one.arg for one in node.args.args if one.arg != "self"]
        if any(isinstance(one, ast.Starred) for one in args):
            raise Refused("with arguments that are not written out")
        if len(args) > len(names) or not set(keywords) <= set(names):
            raise Refused(f"with {len(args) + len(keywords)} arguments")
        defaults = getattr(made, "__defaults__", None) or ()
        given = {
            name: literal(value) for name, value in zip(names[len(names) - len(defaults) :], defaults, strict=True)
        }
        given |= dict(zip(names, args, strict=False)) | keywords
        if missing := [one for one in names if one not in given]:
            raise Refused(f"without {missing[0]}")
        numbers = {one: value.value for one, value in given.items() if isinstance(value, ast.Constant)}
        numbers |= {one: number for one, value in given.items() if (number := _number_of(value)) is not None}
        key = (id(node), id(owner.value))
        if key in self.file.pending:
            raise Refused("calls itself")
        self.file.pending.add(key)
        child = Translator(self.file, owner.value)
        child.static.names |= {name: child.place_of(value) for name, value in (around or {}).items()}
        called = getattr(made, "__name__", "lambda")
        name = type(owner.value).__name__ if called == "forward" else called if called.isidentifier() else "function"
        text = child.function(deepcopy(node), "", f"{name} of the file", numbers)
        self.file.pending.discard(key)
        called = self.file.named(_snake(name), text)
        weights = [
            self._weight(owner.dotted + place.removeprefix("self"), child.weights[of], child.keys[of])
            for of, place in child.places.items()
        ]
        inputs = [given[one] for one in names if one not in numbers]
        return ast.Call(ast.Name(called, ast.Load()), [*inputs, *weights], [])

    def place_of(self, value: Any) -> Any:
        """Returns a number, or a part of the model, for a value that a function in __init__ has in its closure."""
        if value is None or isinstance(value, LITERALS):
            return value
        for name, one in vars(self.model).items():
            if one is value:
                return Part(f"self.{name}", value)
        return Part("self", value) if value is self.model else value

    def _of_layer(self, layer: Layer, dotted: str, args: list[ast.expr], keywords: dict[str, ast.expr]) -> ast.expr:
        if not args:
            raise Refused(f"(nn.{layer.kind}) without its input")
        if layer.kind == "Identity" or (layer.kind.startswith("Dropout") and _chance(layer) == 0):
            return args[0]
        if layer.kind in LAYER_NOTICES:
            self.file.notices.append(f"nn.{layer.kind} {LAYER_NOTICES[layer.kind]}")
        try:
            if layer.kind in PLAIN_LAYERS:
                count, form = PLAIN_LAYERS[layer.kind]
                own = {key: literal(value) for key, value in layer.kwargs.items()}
                return applied(FORMS[form], [*args[:count], *map(literal, layer.args)], own | keywords)
            if layer.kind in WEIGHTED_LAYERS:
                return self._weighted(WEIGHTED_LAYERS[layer.kind], layer, dotted, args, keywords)
        except Refused as why:
            raise Refused(f"(nn.{layer.kind}) {why}") from why
        raise Refused(f"(nn.{layer.kind})")

    def _weighted(
        self, of: Weighted, layer: Layer, dotted: str, args: list[ast.expr], keywords: dict[str, ast.expr]
    ) -> ast.expr:
        said = {name: value for name, value in layer.kwargs.items() if name not in WITHOUT_MEANING}
        try:
            bound = inspect.signature(of.shapes).bind(*layer.args, **said)
        except TypeError as error:
            raise Refused(f"with these arguments ({error})") from error
        bound.apply_defaults()
        if isinstance(bound.arguments.get("padding"), str):
            raise Refused(f"with padding='{bound.arguments['padding']}'")
        if bound.arguments.get("dropout"):
            raise Refused(f"with dropout={bound.arguments['dropout']}")
        shapes = of.shapes(*bound.args, **bound.kwargs)
        values = {name: literal(value) for name, value in bound.arguments.items() if name not in shapes}
        weights: list[ast.expr] = []
        for name, shape in shapes.items():
            values[name] = ast.Constant(None)
            if shape:
                weight = Weight(tuple(map(int, shape)), numbers=len(shape[2:]))
                values[name] = self._weight(f"{dotted}.{name}", weight, (id(layer), name))
                weights.append(values[name])
        values["weights"] = ast.Tuple(weights, ast.Load())
        used = {one.id for one in ast.walk(ast.parse(of.call, mode="eval")) if isinstance(one, ast.Name)}
        own = {name: value for name, value in values.items() if name in used}
        return applied(f"{of.inputs}: {of.call}", args, own | keywords)

    def _weight(self, dotted: str, weight: Weight, key: _Key) -> ast.Name:
        known = [name for name, one in self.keys.items() if one == key]
        name = known[0] if known else dotted.removeprefix("self.").replace(".", "_")
        while not known and (name in self.locals or name in HELPERS or name in self.places):
            name += "_"
        if not known:
            self.weights[name], self.places[name], self.keys[name] = weight, dotted, key
        return ast.Name(name, ast.Load())

    def _own(self, node: ast.AST, value: Any) -> ast.expr:
        """Translates a weight, a mask or a number of the model."""
        dotted = value.dotted if isinstance(value, Part) else ast.unparse(node)
        if isinstance(value, Part):
            if isinstance(value.value, Weight):
                return self._weight(dotted, value.value, (id(value.value), ""))
            if isinstance(value.value, Made) or (isinstance(value.value, Sample) and value.value.recipe):
                return ast.parse(value.value.recipe, mode="eval").body
            is_drawn = isinstance(value.value, Sample)
            what = "which is drawn when the model is made" if is_drawn else f"a {type(value.value).__name__}"
            self._refuse(node, f"'{dotted}', {what},")
        try:
            return literal(value)
        except Refused as why:
            self._refuse(node, f"'{dotted}', {why},")

    def _dotted(self, node: ast.AST) -> str:
        """Returns the full name of a module's attribute; empty: the node is not one."""
        names: list[str] = []
        while isinstance(node, ast.Attribute):
            names.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id in self.locals or node.id not in self.file.modules:
            return ""
        return ".".join([self.file.modules[node.id], *names[::-1]])


def _names_set(target: ast.AST) -> list[str]:
    """Returns the names that a target, or a statement by itself, sets."""
    if isinstance(target, ast.Name):
        return [target.id] if _is_set(target) else []
    if isinstance(target, (ast.Tuple, ast.List)):
        return [name for one in target.elts for name in _names_set(one)]
    return _names_set(target.value) if isinstance(target, ast.Starred) else []


def _all_set(node: ast.AST) -> list[str]:
    return [one.id for one in ast.walk(node) if isinstance(one, ast.Name) and _is_set(one)]


def _targets(node: ast.AST) -> list[str]:
    return _names_set(node.target) if isinstance(node, (ast.For, ast.comprehension)) else []


def _number_of(node: ast.expr) -> Any:
    """Returns a number that is written out; None: it is not a number."""
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).strip("_").lower()


def _is_set(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _chance(layer: Layer) -> Any:
    return layer.args[0] if layer.args else layer.kwargs.get("p", 0.5)
