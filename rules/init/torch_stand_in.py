"""A stand-in for PyTorch, with which a problem's file shows its sizes, inputs and layers. It computes no numbers."""

from __future__ import annotations

import itertools
import math
import operator
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np

from init.torch_forms import DTYPES, NARROWED

_FLOATS = {"float16", "bfloat16", "float32", "float64"}
# The types of `torch.NAME` and `x.NAME()`, and not the narrower ones that replace them.
_DTYPES = DTYPES | {"half": "float16", "float16": "float16"}
_DTYPES |= {"double": "float64", "float64": "float64", "long": "int64", "int64": "int64", "bool": "bool"}


def _text(value: Any) -> str:
    """Returns a number as the text of a JAX function has it."""
    text = repr(int(value) if isinstance(value, Size) else value)
    return text.replace("inf", "jnp.inf").replace("nan", "jnp.nan") if isinstance(value, float) else text


class Size(int):
    """A size that knows its name in the file."""

    name: str

    def __new__(cls, value: int, name: str) -> Size:
        """Makes the number, with its name."""
        made = super().__new__(cls, value)
        made.name = name
        return made


@dataclass(frozen=True)
class Dtype:
    """A `torch.float32`."""

    name: str


@dataclass(frozen=True, eq=False)
class Sample:
    """An array of `get_inputs`: the range of its numbers, and its differences from a plain draw."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    low: float | None = None
    high: float | None = None
    traits: frozenset[str] = frozenset()
    draws: frozenset[int] = frozenset()
    recipe: str = ""  # its text in JAX, if it is the same each time

    @property
    def T(self) -> Sample:  # noqa: N802 - their name
        """The transposed array."""
        return self.changed(f"{self.recipe}.T", shape=self.shape[::-1])

    def changed(self, recipe: str = "", **changes: Any) -> Sample:
        """Returns the array with other fields, and with this recipe if it has any."""
        return replace(self, recipe=recipe if self.recipe else "", **changes)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in _METHODS:
            raise AttributeError(f"a tensor's {name} is not supported here")
        return lambda *args, **kwargs: _METHODS[name](self, *args, **kwargs)

    def with_(self, other: Any, function: Callable[[float, float], float], text: str) -> Sample:
        """Combines two arrays, element by element; `text`: the recipe from the two recipes."""
        if not isinstance(other, Sample):
            other = Sample((), "float32" if isinstance(other, float) else "int64", other, other, recipe=_text(other))
        traits = self.traits | other.traits
        if self.draws & other.draws:
            traits |= {"made from one draw twice, like a symmetric matrix"}
        shape: Any = self.shape if not other.shape else np.broadcast_shapes(self.shape, other.shape)
        dtype = self.dtype if self.dtype in _FLOATS or other.dtype not in _FLOATS else other.dtype
        ends = [
            function(a, b)
            for a in (self.low, self.high)
            for b in (other.low, other.high)
            if a is not None and b is not None
        ]
        # Normal numbers have no ends, so a result that is made of them has none, and counts as scaled or shifted.
        traits |= {"scaled or shifted"} if len(ends) < 4 else set()
        low, high = (min(ends), max(ends)) if len(ends) == 4 else (None, None)
        recipe = text.format(self.recipe, other.recipe) if self.recipe and other.recipe else ""
        return Sample(shape, dtype, low, high, traits, self.draws | other.draws, recipe)

    def compared(self, other: Any, text: str) -> Sample:
        """Returns the result of a comparison of two arrays."""
        made = self.with_(other, operator.sub, text)
        return replace(made, dtype="bool", low=0, high=1, traits=made.traits | {"the result of a comparison"})

    def __add__(self, other: Any) -> Sample:
        return self.with_(other, operator.add, "({} + {})")

    def __sub__(self, other: Any) -> Sample:
        return self.with_(other, operator.sub, "({} - {})")

    def __rsub__(self, other: Any) -> Sample:
        return self.with_(other, lambda a, b: b - a, "({1} - {0})")

    def __mul__(self, other: Any) -> Sample:
        return self.with_(other, operator.mul, "({} * {})")

    def __truediv__(self, other: Any) -> Sample:
        return self.with_(other, operator.truediv, "({} / {})")

    def __neg__(self) -> Sample:
        return self * -1

    __radd__, __rmul__ = __add__, __mul__

    def __eq__(self, other: object) -> Any:
        return self.compared(other, "({} == {})")

    def __ne__(self, other: object) -> Any:
        return self.compared(other, "({} != {})")

    def __lt__(self, other: Any) -> Sample:
        return self.compared(other, "({} < {})")

    def __le__(self, other: Any) -> Sample:
        return self.compared(other, "({} <= {})")

    def __gt__(self, other: Any) -> Sample:
        return self.compared(other, "({} > {})")

    def __ge__(self, other: Any) -> Sample:
        return self.compared(other, "({} >= {})")

    def __and__(self, other: Any) -> Sample:
        return self.compared(other, "({} & {})")

    def __or__(self, other: Any) -> Sample:
        return self.compared(other, "({} | {})")

    def __invert__(self) -> Sample:
        return self.changed(f"(~{self.recipe})")

    def __bool__(self) -> bool:
        raise NotImplementedError("an array's truth value is not known before it is computed")

    __hash__ = object.__hash__


@dataclass(frozen=True)
class Layer:
    """A layer of a model, with the arguments that it was made with."""

    kind: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


@dataclass(frozen=True)
class Weight:
    """A model's own array. `numbers`: how many last axes are numbers of the model, as a window's sides are."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    numbers: int = 0


@dataclass(frozen=True)
class Made:
    """A model's own array that is the same each time, as a mask is, with its text in JAX."""

    recipe: str


class Module:
    """The base class of models, which have the attributes that they set."""

    training = True

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def register_buffer(self, name: str, value: Any, persistent: bool = True) -> None:
        """Sets an attribute."""
        if isinstance(value, Sample):
            value = Made(value.recipe) if value.recipe else parameter(value)
        setattr(self, name, value)

    def register_parameter(self, name: str, value: Any) -> None:
        """Sets an attribute."""
        setattr(self, name, parameter(value) if isinstance(value, Sample) else value)

    def add_module(self, name: str, value: Any) -> None:
        """Sets an attribute."""
        setattr(self, name, value)

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """Yields its layers and models, with their names."""
        return iter([(name, one) for name, one in vars(self).items() if isinstance(one, (Layer, Module))])

    def children(self) -> Iterator[Any]:
        """Yields its layers and models, without their names."""
        return iter([one for _, one in self.named_children()])

    def modules(self) -> Iterator[Any]:
        """Yields nothing: code that goes through all modules sets their weights, and there are no weights."""
        return iter(())

    parameters = named_modules = named_parameters = buffers = modules

    def apply(self, _: Any) -> Module:
        """Does nothing, because there are no weights."""
        return self

    def to(self, *_: Any, **__: Any) -> Module:
        """Does nothing, whatever the device."""
        return self

    cuda = cpu = float = requires_grad_ = to

    def train(self, mode: bool = True) -> Module:
        """Does nothing: a model is in training until `eval` is called."""
        if not mode:
            self.eval()
        return self

    def eval(self) -> Module:
        """Raises NotImplementedError: evaluation needs the kept statistics of batches, which are not known."""
        raise NotImplementedError("evaluation mode (`eval()`) is not supported: batch statistics are not kept")


class Group(Module):
    """Layers by number or by name: Sequential, ModuleList and ModuleDict, distinguished by `kind`."""

    kind = "ModuleList"

    def __init__(self, parts: Any = ()) -> None:
        super().__init__()
        named = parts.items() if isinstance(parts, dict) else parts
        self.parts: dict[str, Any] = dict(named) if self.kind == "ModuleDict" else {}
        if self.kind != "ModuleDict":
            self.extend(parts)

    def append(self, part: Any) -> Group:
        """Appends a part."""
        return self.extend([part])

    def extend(self, parts: Any) -> Group:
        """Appends parts."""
        for part in parts:
            self.parts[str(len(self.parts))] = part
        return self

    def add_module(self, name: str, value: Any) -> None:
        """Adds a part under a name."""
        self.parts[name] = value

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, (Layer, Module)):
            self.parts[name] = value
        else:
            super().__setattr__(name, value)

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """Yields its layers, with their numbers or names."""
        return iter(list(self.parts.items()))

    def __len__(self) -> int:
        return len(self.parts)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.parts if self.kind == "ModuleDict" else self.parts.values())

    def __getitem__(self, at: Any) -> Any:
        if self.kind == "ModuleDict":
            return self.parts[at]
        found = list(self.parts.values())[at]
        return type(self)(found) if isinstance(at, slice) else found

    def __setitem__(self, at: Any, part: Any) -> None:
        self.parts[list(self.parts)[at] if isinstance(at, int) else at] = part

    def __getattr__(self, name: str) -> Any:
        parts = self.__dict__.get("parts", {})
        if name not in parts:
            raise AttributeError(name)
        return parts[name]

    def items(self) -> Any:
        """The layers, with their names."""
        return self.parts.items()

    def values(self) -> Any:
        """The layers, without their names."""
        return self.parts.values()


class Sequential(Group):
    """Layers one after another: given as they are, or as an OrderedDict."""

    kind = "Sequential"

    def __init__(self, *parts: Any) -> None:
        is_named = len(parts) == 1 and isinstance(parts[0], dict)
        super().__init__(() if is_named else parts)
        if is_named:
            self.parts = dict(parts[0])

    def __getitem__(self, at: Any) -> Any:
        found = list(self.parts.values())[at]
        return Sequential(*found) if isinstance(at, slice) else found


class ModuleDict(Group):
    """Layers by name."""

    kind = "ModuleDict"


def parameter(value: Sample, requires_grad: bool = True) -> Weight:
    """Makes an `nn.Parameter`."""
    return Weight(value.shape, value.dtype)


@dataclass(frozen=True)
class Unknown:
    """A name without a meaning here; calling it is an error."""

    name: str

    def __getattr__(self, name: str) -> Unknown:
        if name.startswith("__"):
            raise AttributeError(name)
        return Unknown(f"{self.name}.{name}")

    def __or__(self, _: Any) -> Unknown:
        return self

    __ror__ = __or__

    def __call__(self, *_: Any, **__: Any) -> Any:  # noqa: D102
        raise NotImplementedError(f"'{self.name}' is not supported here")


_NUMBERS = itertools.count()


def _of_dtype(x: Sample, name: str, **changes: Any) -> Sample:
    known = (NARROWED | DTYPES).get(name, name)
    return x.changed(f"{x.recipe}.astype(jnp.{known})", dtype=name, **changes)


def _drawer(function: Callable[..., Sample]) -> Callable[..., Sample]:
    """Returns a function that makes a new draw each time, of any dtype."""

    def drawn(*args: Any, size: Any = None, dtype: Dtype | None = None, **_: Any) -> Sample:
        made = replace(function(*args) if size is None else function(*args, size), draws=frozenset({next(_NUMBERS)}))
        return _of_dtype(made, dtype.name) if dtype else made

    return drawn


def _shape(size: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else tuple(size)


def _whole(low: int, high: Any, size: Any = None) -> Sample:
    low, high, size = (0, low, high) if size is None else (low, high, size)
    return Sample(_shape((size,)), "int64", low, high - 1)


def _constant(value: float, *size: Any) -> Sample:
    shape = _shape(size)
    recipe = f"jnp.full({tuple(map(int, shape))}, {_text(float(value))})"
    return Sample(shape, low=value, high=value, traits=frozenset({f"{value:g} everywhere"}), recipe=recipe)


def _given(value: Any) -> Sample:
    array = np.asarray(value)
    dtype = {"f": "float32", "b": "bool"}.get(array.dtype.kind, "int64")
    low, high = (array.min().item(), array.max().item()) if array.size else (None, None)
    traits = frozenset[str]() if array.ndim == 0 else frozenset({"a constant of the file"})
    text = f"jnp.asarray({np.array2string(array, separator=', ', threshold=sys.maxsize, floatmode='unique')})"
    text = text.replace("inf", "jnp.inf").replace("nan", "jnp.nan")
    return Sample(array.shape, dtype, low, high, traits, recipe=" ".join(text.split()))


_DRAWERS: dict[str, Callable[..., Sample]] = {
    "rand": lambda *size: Sample(_shape(size), low=0, high=1),
    "randn": lambda *size: Sample(_shape(size)),
    "randint": _whole,
    "ones": lambda *size: _constant(1, *size),
    "zeros": lambda *size: _constant(0, *size),
    "empty": lambda *size: Sample(_shape(size)),
    "full": lambda size, value: _constant(value, size),
    "arange": lambda count: Sample(
        (count,), "int64", 0, count - 1, frozenset({"consecutive numbers"}), recipe=f"jnp.arange({int(count)})"
    ),
    "tensor": _given,
    "randperm": lambda count: Sample((count,), "int64", 0, count - 1, frozenset({"a permutation"})),
}


def _triangular(name: str, trait: str) -> Callable[..., Sample]:
    def made(x: Sample, diagonal: int = 0) -> Sample:
        low, high = (None, None) if x.low is None or x.high is None else (min(x.low, 0), max(x.high, 0))
        return x.changed(f"jnp.{name}({x.recipe}, {diagonal})", low=low, high=high, traits=x.traits | {trait})

    return made


def _same(x: Sample, *_: Any, **__: Any) -> Sample:
    return x


def _within(low: float, high: float, *traits: str) -> Callable[..., Sample]:
    return lambda x, *_, **__: x.changed(low=low, high=high, traits=x.traits | set(traits))


def _cast(name: str) -> Callable[[Sample], Sample]:
    def cast(x: Sample) -> Sample:
        was_whole = x.dtype not in _FLOATS and name in _FLOATS
        return _of_dtype(x, name, traits=x.traits | ({"of whole numbers"} if was_whole else set()))

    return cast


def _to(x: Sample, *args: Any, dtype: Any = None, **_: Any) -> Sample:
    dtype = next((one for one in (dtype, *args) if isinstance(one, Dtype)), None)
    return x if dtype is None else _cast(dtype.name)(x)


def _moved(x: Sample, *axes: Any) -> Sample:
    return x.changed(shape=tuple(x.shape[axis] for axis in _shape(axes)))


def _swapped(x: Sample, one: int, other: int) -> Sample:
    sides = list(x.shape)
    sides[one], sides[other] = sides[other], sides[one]
    return x.changed(f"jnp.swapaxes({x.recipe}, {one}, {other})", shape=tuple(sides))


def _reshaped(x: Sample, *size: Any) -> Sample:
    shape = _shape(size)
    if -1 in shape:
        rest = math.prod(side for side in shape if side != -1)
        shape = tuple(math.prod(x.shape) // rest if side == -1 else side for side in shape)
    return x.changed(f"{x.recipe}.reshape({tuple(map(int, shape))})", shape=shape)


def _unsqueezed(x: Sample, dim: int) -> Sample:
    sides = list(x.shape)
    sides.insert(dim if dim >= 0 else dim + len(sides) + 1, 1)
    return _reshaped(x, *sides)


def _clamped(x: Sample, min: float | None = None, max: float | None = None) -> Sample:  # noqa: A002 - theirs
    low, high = (x.low if min is None else min), (x.high if max is None else max)
    return x.changed(low=low, high=high)


_METHODS: dict[str, Callable[..., Any]] = {
    "triu": _triangular("triu", "upper triangular"),
    "tril": _triangular("tril", "lower triangular"),
    "softmax": _within(0, 1, "made of rows that sum to one"),
    "sigmoid": _within(0, 1),
    "tanh": _within(-1, 1),
    "clamp": _clamped,
    "abs": lambda x: _within(0, max(-x.low, x.high))(x) if x.low is not None else _within(0, 4)(x),
    "to": _to,
    "type": _to,
    "t": lambda x: x.T,
    "permute": _moved,
    "transpose": _swapped,
    "unsqueeze": _unsqueezed,
    "view": _reshaped,
    "reshape": _reshaped,
    "size": lambda x, dim=None: x.shape if dim is None else x.shape[dim],
    "dim": lambda x: len(x.shape),
    **dict.fromkeys(("contiguous", "clone", "detach", "cuda", "cpu", "requires_grad_"), _same),
    **{name: _cast(dtype) for name, dtype in _DTYPES.items()},
}


class _Devices:
    """`torch.cuda` and similar modules on a machine without such a device. Their settings do not change a task."""

    def is_available(self) -> bool:
        return False

    def device_count(self) -> int:
        return 0

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name.startswith("is_"):
            return lambda *_, **__: False
        return _Devices()

    def __call__(self, *_: Any, **__: Any) -> None:
        return None


@contextmanager
def _as_it_is(*_: Any, **__: Any) -> Iterator[None]:
    """The context `torch.no_grad`, and others that change how something is computed, but not the result."""
    yield


def _check_default(dtype: Dtype) -> None:
    if dtype.name != "float32":
        raise NotImplementedError(f"numbers are float32 here unless an array says otherwise, and not {dtype.name}")


_SETTINGS = {
    **dict.fromkeys(
        ("manual_seed", "set_default_device", "set_float32_matmul_precision", "set_num_threads"),
        lambda *_, **__: None,
    ),
    "set_default_dtype": _check_default,
    **dict.fromkeys(("no_grad", "inference_mode", "enable_grad", "autocast"), _as_it_is),
    **dict.fromkeys(("device", "Generator"), lambda *_, **__: "device"),
}
_DEVICES = {"cuda", "backends", "mps", "xpu", "version", "_dynamo", "_inductor"}


class _Torch(ModuleType):
    """The module `torch`."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in _DEVICES:
            return _Devices()
        if name in _SETTINGS:
            return _SETTINGS[name]
        if name in _DRAWERS:
            return _drawer(_DRAWERS[name])
        if name in _DTYPES:
            return Dtype(_DTYPES[name])
        if name.endswith("_like") and name[:-5] in _DRAWERS:
            return lambda x, **_: _of_dtype(_DRAWERS[name[:-5]](*x.shape), x.dtype)
        if name in _METHODS:
            return _METHODS[name]
        return Unknown(f"torch.{name}")


def _copies(layer: Layer, num_layers: int, norm: Any = None, **_: Any) -> Sequential:
    """Returns several copies of a layer, one after another."""
    parts: dict[str, Any] = {f"layers.{at}": replace(layer) for at in range(num_layers)}
    return Sequential(parts | ({} if norm is None else {"norm": norm}))


class _Layers(ModuleType):
    """The module `torch.nn`."""

    Module, Parameter = Module, staticmethod(parameter)
    Sequential, ModuleList, ModuleDict = Sequential, Group, ModuleDict
    TransformerEncoder = staticmethod(_copies)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: Layer(name, args, kwargs)


class _Nothing(ModuleType):
    """A module whose functions do nothing (`torch.nn.init`), or have only names (`torch.nn.functional`)."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return (lambda *_, **__: None) if self.__name__.endswith("init") else Unknown(f"{self.__name__}.{name}")


@contextmanager
def standing_in() -> Iterator[None]:
    """The context in which `import torch` gives the stand-in."""
    modules: dict[str, Any] = {"torch": _Torch("torch"), "torch.nn": _Layers("torch.nn")}
    modules |= {name: _Nothing(name) for name in ("torch.nn.functional", "torch.nn.init")}
    modules["torch"].nn = modules["torch.nn"]
    modules["torch.nn"].functional = modules["torch.nn.functional"]
    modules["torch.nn"].init = modules["torch.nn.init"]
    were = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "torch"}
    for name in were:
        del sys.modules[name]
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name in modules:
            sys.modules.pop(name, None)
        sys.modules.update(were)
