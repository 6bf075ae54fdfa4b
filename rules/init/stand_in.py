"""Stands in for PyTorch while a KernelBench problem is read: it knows shapes and bounds, and computes nothing."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

# torch's names of dtypes, and those that inputs have here: TPUs have none that are wider.
DTYPES = {
    "float32": "float32",
    "float": "float32",
    "float64": "float32",
    "double": "float32",
    "float16": "float16",
    "half": "float16",
    "bfloat16": "bfloat16",
    "int64": "int32",
    "long": "int32",
    "int32": "int32",
    "int": "int32",
    "int8": "int8",
    "bool": "bool",
}


class Unknown(Exception):
    """Something of torch that inputs or a constructor are made of, and that is not known here."""


@dataclass(frozen=True)
class Drawn:
    """A tensor that is not there: its shape, its dtype, and the bounds of its values."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    low: float = -math.inf
    high: float = math.inf

    def _mapped(self, one: float, other: float) -> Drawn:
        return replace(self, low=min(one, other), high=max(one, other))

    def __mul__(self, factor: float | Drawn) -> Drawn:
        if not isinstance(factor, Drawn):
            return self._mapped(self.low * factor, self.high * factor)
        ends = [one * other for one in (self.low, self.high) for other in (factor.low, factor.high)]
        return replace(self if self.shape else factor, low=min(ends), high=max(ends))

    def __add__(self, what: float | Drawn) -> Drawn:
        if not isinstance(what, Drawn):
            return self._mapped(self.low + what, self.high + what)
        return replace(self if self.shape else what, low=self.low + what.low, high=self.high + what.high)

    def __sub__(self, what: float) -> Drawn:
        return self + -what

    def __truediv__(self, by: float) -> Drawn:
        return self * (1 / by)

    __rmul__ = __mul__
    __radd__ = __add__

    def __getattr__(self, name: str) -> Any:
        """What changes nothing that counts; and dtypes."""
        if name in ("cuda", "cpu", "contiguous", "clone", "detach", "requires_grad_"):
            return lambda *_args, **_options: self
        if name == "to":
            return lambda *args, **_options: next(
                (replace(self, dtype=a.name) for a in args if isinstance(a, Dtype)), self
            )
        if name in DTYPES:
            return lambda: replace(self, dtype=DTYPES[name])
        if name in ("softmax", "sigmoid"):
            return lambda *_args, **_options: replace(self, low=0.0, high=1.0)
        if name in ("triu", "tril", "abs", "sign", "T"):
            return self if name == "T" else lambda *_args: self
        raise Unknown(f"a tensor's '{name}' is not known")

    @property
    def range(self) -> str:
        """As a spec has it; empty: any values."""
        if math.isinf(self.low) or math.isinf(self.high):
            return ""
        return f"{self.low:g}, {self.high:g}"


@dataclass(frozen=True)
class Dtype:
    """torch.float16, by its name here."""

    name: str


@dataclass(frozen=True)
class Layer:
    """nn.NAME(…): what it was made with."""

    name: str
    args: tuple[Any, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)


class Module:
    """nn.Module: attributes are what the constructor sets."""

    def __init__(self, *_args: Any, **_options: Any) -> None:
        pass


def _shape(args: tuple[Any, ...]) -> tuple[int, ...]:
    sizes = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
    return tuple(int(size) for size in sizes)


def _dtype(options: dict[str, Any]) -> str:
    given = options.get("dtype")
    return given.name if isinstance(given, Dtype) else "float32"


def _filled(low: float, high: float) -> Any:
    return lambda *args, **options: Drawn(_shape(args), _dtype(options), low, high)


def _randint(*args: Any, **options: Any) -> Drawn:
    low, high, shape = args if len(args) == 3 else (0, *args) if len(args) == 2 else (args[0], args[1], options["size"])
    return Drawn(_shape((shape,)), "int32", low, high - 1)


def _modules() -> dict[str, ModuleType]:
    torch, nn, functional = (ModuleType(name) for name in ("torch", "torch.nn", "torch.nn.functional"))
    vars(torch).update({name: Dtype(ours) for name, ours in DTYPES.items()})
    vars(torch).update(
        rand=_filled(0, 1),
        randn=_filled(-math.inf, math.inf),
        ones=_filled(1, 1),
        zeros=_filled(0, 0),
        empty=_filled(-math.inf, math.inf),
        randint=_randint,
        manual_seed=lambda *_: None,
        triu=lambda x, *_args, **_options: x,
        tril=lambda x, *_args, **_options: x,
        Tensor=Drawn,
        nn=nn,
    )

    def layer(name: str) -> Any:
        return lambda *args, **options: Layer(name, args, options)

    def unknown(name: str) -> Any:
        raise Unknown(f"torch.{name} is not known")

    vars(nn).update(Module=Module, Parameter=lambda drawn, *_args, **_options: drawn, functional=functional)
    nn.__getattr__ = layer  # type: ignore[method-assign]
    functional.__getattr__ = layer  # type: ignore[method-assign]
    torch.__getattr__ = unknown  # type: ignore[method-assign]
    return {"torch": torch, "torch.nn": nn, "torch.nn.functional": functional}


@contextmanager
def installed() -> Iterator[None]:
    """While this lasts, `import torch` gives the stand-in."""
    modules = _modules()
    kept = {name: sys.modules.get(name) for name in modules}
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name, module in kept.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
