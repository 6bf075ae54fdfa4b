"""What a Mosaic kernel does, counted from its body: floating-point operations, copies, dots, sums, constants, and which
of its operands its results depend on.

Work is counted exactly where the body's control flow hangs on the grid's indices and on constants alone, by walking
the grid; what hangs on memory is between a least and a most. No body is run.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jax._src.lib.mlir import ir

import program

_PREFIX = "stable_mosaic."
_DYNAMIC = -(1 << 63)
# Grid points that are walked where the body does different work at each; of larger grids a sample, and scaled.
_MOST_POINTS = 1 << 15
# Blocks that are gone through for that; who has more to count is told that it is not known.
_MOST_BLOCKS = 1 << 18

FLOAT_BITS = {"f8E4M3FN": 4, "f8E5M2": 3, "f8E4M3B11FNUZ": 4, "bf16": 8, "f16": 11, "f32": 24, "f64": 53}

_ELEMENTWISE = frozenset({"addf", "subf", "mulf", "divf", "remf", "maximumf", "minimumf", "negf"})


def _toward_zero(a: int, b: int) -> int:
    return a // b if (a < 0) == (b < 0) else -(-a // b)


_SCALAR: dict[str, Callable[..., int]] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
    "shli": lambda a, b: a << b,
    "shrsi": lambda a, b: a >> b,
    "shrui": lambda a, b: a >> b,
    "divsi": _toward_zero,
    "divui": lambda a, b: a // b,
    "floordivsi": lambda a, b: a // b,
    "ceildivsi": lambda a, b: -(-a // b),
    "remsi": lambda a, b: a - b * _toward_zero(a, b),
    "remui": lambda a, b: a % b,
    "minsi": min,
    "minui": min,
    "maxsi": max,
    "maxui": max,
    "extui": lambda a: a,
    "extsi": lambda a: a,
    "trunci": lambda a: a,
    "index_cast": lambda a: a,
    "select": lambda c, a, b: a if c else b,
}
# The order of MLIR's arith.cmpi: eq, ne, slt, sle, sgt, sge, ult, ule, ugt, uge.
_COMPARE: tuple[Callable[[int, int], bool], ...] = (
    lambda a, b: a == b,
    lambda a, b: a != b,
    *(2 * (lambda a, b: a < b, lambda a, b: a <= b, lambda a, b: a > b, lambda a, b: a >= b)),
)
_FIRST_UNSIGNED = 6
# Those that take what a sign would be for a bit like others.
_UNSIGNED = frozenset({"divui", "extui", "maxui", "minui", "remui", "shrui"})


@dataclass(frozen=True)
class Count:
    """How much at least and at most. `most` is math.inf where nothing says so."""

    least: float = 0
    most: float = 0

    def __add__(self, other: Count) -> Count:
        return Count(self.least + other.least, self.most + other.most)

    def times(self, least: float, most: float) -> Count:
        """Of what is done between so many and so many times."""
        return Count(self.least * least if least else 0, self.most * most if self.most and most else 0)

    def or_else(self, other: Count) -> Count:
        """Of what is done instead of the other, or the other instead of it."""
        return Count(min(self.least, other.least), max(self.most, other.most))


@dataclass(frozen=True)
class Dot:
    """The element types of a dot's operands and of its result, and the precision that it asks for."""

    operands: tuple[str, ...]
    result: str
    precision: str


@dataclass
class Work:
    """What a kernel or a whole program does."""

    flops: Count = Count()
    copied: Count = Count()  # elements, by copies (DMAs) that are started
    awaited: Count = Count()  # elements of copies that are waited for
    dots: set[Dot] = field(default_factory=set)
    sums: set[str] = field(default_factory=set)  # element types that are summed over an axis
    constant_bytes: int = 0  # of arrays that are not one value all over
    calls: dict[str, int] = field(default_factory=dict)  # how often each operation stands there

    def note(self, name: str) -> None:
        """One more operation of this name."""
        self.calls[name] = self.calls.get(name, 0) + 1


def element_type(kind: Any) -> str:
    """The element type of a vector, tensor or memory reference, or the type itself."""
    return str(kind.element_type) if hasattr(kind, "element_type") else str(kind)


def size(kind: Any) -> int:
    """How many elements; 1 of a scalar."""
    return math.prod(kind.shape) if hasattr(kind, "shape") else 1


def array_bytes(attribute: Any) -> int:
    """The bytes of a constant that is an array of different values, else 0."""
    if not hasattr(attribute, "is_splat") or attribute.is_splat:
        return 0
    kind = attribute.type
    name = element_type(kind)
    bits = int("".join(c for c in name.split("E")[0] if c.isdigit()) or 64)
    return math.ceil(size(kind) * bits / 8)


class Kernel:
    """A kernel's body, read once."""

    def __init__(self, body: bytes) -> None:
        """`body` is Mosaic's bytecode; an MLIR context with unregistered dialects must be current."""
        self._module = ir.Module.parse(body)
        functions = [op.operation for op in self._module.body.operations]
        self._main = next(f for f in functions if "iteration_bounds" in f.attributes or len(functions) == 1)
        attributes = self._main.attributes
        bounds = list(attributes["iteration_bounds"]) if "iteration_bounds" in attributes else []
        self.grid: list[int | None] = [None if bound == _DYNAMIC else int(bound) for bound in bounds]
        self._scratch = int(attributes["scratch_operands"]) if "scratch_operands" in attributes else 0
        self._entry = self._main.regions[0].blocks[0]
        self._functions = functions

    @functools.cached_property
    def work(self) -> Work:
        """All that it does, over its whole grid."""
        work = Work()
        for function in self._functions:
            for operation in program.walk(function):
                _look_at(operation, work)
        work.flops = self._count(_static_flops)
        work.copied = self._count(_copied)
        work.awaited = self._count(_awaited)
        return work

    def dependencies(self, results: int) -> list[set[int]]:
        """For each of its results, the numbers of the operands (dynamic grid bounds left out) that it depends on."""
        taint = _Taint()
        arguments = list(self._entry.arguments)[len(self.grid) :]
        inputs = arguments[: len(arguments) - self._scratch - results]
        outputs = arguments[len(inputs) : len(inputs) + results]
        for number, value in enumerate(inputs):
            taint.add(value, {number})
        taint.spread(self._main)
        return [taint.of(value) for value in outputs]

    def _count(self, measure: Measure) -> Count:
        counter = _Counter(self._entry, measure, _Budget())
        if not counter.is_worth:
            return Count()
        bounds = [bound for bound in self.grid if bound is not None]
        if len(bounds) < len(self.grid):
            # A bound that is known at run time alone may be none or any.
            return Count(0, math.inf)
        arguments = list(self._entry.arguments)[: len(self.grid)]
        try:
            if not counter.is_guarded:
                steps = math.prod(bounds)
                return counter.count({}).times(steps, steps)
            points, share = _points(bounds)
            counts = (counter.count(dict(zip(arguments, point, strict=True))) for point in points)
            return sum(counts, Count()).times(share, share)
        except _TooMuch:
            return Count(0, math.inf)


def _points(bounds: list[int]) -> tuple[Iterator[tuple[int, ...]], float]:
    """The grid's points, or a sample of them, and how many points each stands for."""
    total = math.prod(bounds)
    if total <= _MOST_POINTS:
        return itertools.product(*map(range, bounds)), 1
    flat = np.random.Generator(np.random.Philox(key=total)).integers(0, total, _MOST_POINTS)
    drawn = zip(*(axis.tolist() for axis in np.unravel_index(flat, bounds)), strict=True)
    return drawn, total / _MOST_POINTS


def _name(operation: Any) -> str:
    return str(operation.name).removeprefix(_PREFIX)


def _look_at(operation: Any, work: Work) -> None:
    """Takes down what an operation is, whether or not it runs."""
    name = _name(operation)
    work.note(name)
    if name == "arith.constant":
        work.constant_bytes += array_bytes(operation.attributes["value"])
    elif name in ("tpu.matmul", "vector.contract"):
        operands = tuple(element_type(value.type) for value in list(operation.operands)[:2])
        precision = str(operation.attributes["precision"]) if "precision" in operation.attributes else "default"
        work.dots.add(Dot(operands, element_type(operation.results[0].type), precision))
    elif name == "vector.multi_reduction" and "add" in str(operation.attributes["kind"]):
        work.sums.add(element_type(operation.results[0].type))


def _static_flops(operation: Any, name: str) -> int:
    """Of one execution of an operation without regions."""
    if name in ("tpu.matmul", "vector.contract"):
        left = operation.operands[0].type
        return 2 * size(operation.results[0].type) * _contracted(operation, name, left)
    if name == "vector.multi_reduction":
        return size(operation.operands[0].type)
    dialect, _, short = name.partition(".")
    if dialect == "math" or (dialect == "arith" and short in _ELEMENTWISE) or name == "tpu.reciprocal":
        return size(operation.results[0].type)
    return 0


def _copied(operation: Any, name: str) -> int:
    """Elements that a copy takes: its first operand is where from."""
    return _known_size(operation.operands[0].type) if name == "tpu.enqueue_dma" else 0


def _awaited(operation: Any, name: str) -> int:
    """Elements that are waited for: those of the memory that is copied to, which comes last of what is no semaphore."""
    if not name.startswith("tpu.wait_dma"):
        return 0
    memory = [operand.type for operand in operation.operands if _is_memory(operand)]
    return _known_size(memory[-1]) if memory else 0


def _known_size(kind: Any) -> int:
    """How many elements; 0 where that is known at run time alone."""
    return max(0, size(kind)) if all(extent >= 0 for extent in getattr(kind, "shape", ())) else 0


def _is_memory(value: Any) -> bool:
    text = str(value.type)
    return text.startswith("memref") and "sema" not in text


def _contracted(operation: Any, name: str, left: Any) -> int:
    """The product of the extents that a dot sums over."""
    if name == "tpu.matmul":
        text = str(operation.attributes["dimension_numbers"])
        axes = [int(axis) for axis in text.split("<[", 1)[1].split("]", 1)[0].split(",") if axis.strip()]
        return math.prod(left.shape[axis] for axis in axes)
    # Of vector.contract: what both operands have and the result has not.
    both = size(left) * size(operation.operands[1].type)
    return max(1, round(math.sqrt(both / max(1, size(operation.results[0].type)))))


class _TooMuch(Exception):
    """Counting takes too long."""


@dataclass
class _Budget:
    left: int = _MOST_BLOCKS

    def spend(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise _TooMuch


# What one execution of an operation without regions, of that name, counts.
Measure = Callable[[Any, str], int]


class _Counter:
    """Counts the work of a block for given values of the grid's indices."""

    is_worth: bool  # whether there is work in it

    def __init__(self, block: Any, measure: Measure, budget: _Budget) -> None:
        self._budget = budget
        self._plain = 0
        self._controls: list[Any] = []
        self._nested: dict[Any, list[_Counter]] = {}
        self._block = block
        for inner in block.operations:
            operation = inner.operation
            name = _name(operation)
            if not list(operation.regions):
                self._plain += measure(operation, name)
                continue
            counters = [_Counter(b, measure, budget) for region in operation.regions for b in region.blocks]
            if any(counter.is_worth for counter in counters):
                self._controls.append(operation)
                self._nested[operation] = counters
        self.is_guarded = bool(self._controls)
        self.is_worth = self._plain > 0 or self.is_guarded

    def count(self, known: dict[Any, int | None]) -> Count:
        """`known` has the values of the enclosing blocks; None is what is not known."""
        total = Count(self._plain, self._plain)
        if not self._controls:
            return total
        self._budget.spend()
        values = _Scalars(known)
        for operation in self._controls:
            total += self._control(operation, _name(operation), values)
        return total

    def _control(self, operation: Any, name: str, values: _Scalars) -> Count:
        counters = self._nested[operation]
        if name == "scf.if":
            condition = values.of(operation.operands[0])
            branches = [counter.count(values.known) for counter in counters]
            branches += [Count()] * (2 - len(branches))
            if condition is None:
                return branches[0].or_else(branches[1])
            return branches[0] if condition else branches[1]
        if name == "scf.for":
            return self._loop(operation, counters[0], values)
        if name == "scf.while":
            once = sum((counter.count(values.known) for counter in counters), Count())
            return Count(0, math.inf if once.most else 0)
        # tpu.region and what else runs its blocks once.
        return sum((counter.count(values.known) for counter in counters), Count())

    def _loop(self, operation: Any, body: _Counter, values: _Scalars) -> Count:
        first, last, step = (values.of(value) for value in list(operation.operands)[:3])
        index = body._block.arguments[0]
        if first is None or last is None or not step:
            once = body.count({**values.known, index: None})
            return Count(0, math.inf if once.most else 0)
        trips = range(first, last, step)
        if not body.is_guarded or len(trips) > _MOST_POINTS:
            return body.count({**values.known, index: None}).times(len(trips), len(trips))
        return sum((body.count({**values.known, index: number}) for number in trips), Count())


class _Scalars:
    """Values of whole numbers, as far as they follow from those that are known."""

    def __init__(self, known: dict[Any, int | None]) -> None:
        self.known = dict(known)

    def of(self, value: Any) -> int | None:
        if value not in self.known:
            self.known[value] = self._compute(value)
        return self.known[value]

    def _compute(self, value: Any) -> int | None:
        operation = getattr(value.owner, "operation", value.owner)
        if not hasattr(operation, "operands"):
            return None  # a block's argument
        name = _name(operation)
        if name == "arith.constant":
            attribute = operation.attributes["value"]
            return int(attribute.value) if isinstance(attribute, (ir.IntegerAttr, ir.BoolAttr)) else None
        if not name.startswith("arith.") or hasattr(value.type, "shape"):
            return None
        operands = [self.of(operand) for operand in operation.operands]
        numbers = [operand for operand in operands if operand is not None]
        if len(numbers) < len(operands):
            return None
        short = name.removeprefix("arith.")
        predicate = int(operation.attributes["predicate"]) if short == "cmpi" else 0
        if short in _UNSIGNED or predicate >= _FIRST_UNSIGNED:
            numbers = [number % (1 << _width(o.type)) for number, o in zip(numbers, operation.operands, strict=True)]
        try:
            if short == "cmpi":
                return int(_COMPARE[predicate](*numbers))
            return _wrapped(_SCALAR[short](*numbers), value.type) if short in _SCALAR else None
        except (ZeroDivisionError, ValueError, OverflowError):
            return None


def _width(kind: Any) -> int:
    """The bits of a whole number; an index is as wide as the core's integers."""
    return int(kind.width) if isinstance(kind, ir.IntegerType) else 32


def _wrapped(number: int, kind: Any) -> int:
    """A whole number as its type holds it."""
    width = _width(kind)
    if width == 1:
        return number & 1
    half = 1 << (width - 1)
    return (number + half) % (2 * half) - half


class _Taint:
    """Which operands a value may depend on; memory is one value however it is sliced."""

    def __init__(self) -> None:
        self._of: dict[Any, set[int]] = {}
        self._root: dict[Any, Any] = {}
        self._has_changed = True

    def of(self, value: Any) -> set[int]:
        return self._of.get(self._root.get(value, value), set())

    def add(self, value: Any, more: set[int]) -> None:
        have = self._of.setdefault(self._root.get(value, value), set())
        self._has_changed = self._has_changed or not more <= have
        have |= more

    def spread(self, operation: Any) -> None:
        """Follows what flows where, until nothing new comes of it."""
        while self._has_changed:
            self._has_changed = False
            self._blocks(operation, set())

    def _blocks(self, operation: Any, context: set[int]) -> set[int]:
        """Goes through an operation's blocks, which run under a condition; returns what its terminators hand on."""
        handed: set[int] = set()
        for region in operation.regions:
            for block in region.blocks:
                for inner in block.operations:
                    handed |= self._operation(inner.operation, context)
        return handed

    def _operation(self, operation: Any, context: set[int]) -> set[int]:
        """Returns what a terminator hands on."""
        name = _name(operation)
        operands = list(operation.operands)
        flows = set(context).union(*(self.of(operand) for operand in operands))
        if name.startswith("tpu.memref_") or (name.startswith("memref.") and "cast" in name):
            self._root[operation.results[0]] = self._root.get(operands[0], operands[0])
            return set()
        if list(operation.regions):
            before = flows
            flows = flows | self._blocks(operation, flows)
            for region in operation.regions:
                for block in region.blocks:
                    # Round a loop: what it hands on comes in again.
                    for argument in block.arguments:
                        self.add(argument, flows | before)
        self._write(name, operands, flows)
        for result in operation.results:
            self.add(result, flows)
        return flows if name.endswith(("yield", "condition", "return")) else set()

    def _write(self, name: str, operands: list[Any], flows: set[int]) -> None:
        memory = [operand for operand in operands if _is_memory(operand)]
        if memory and ("store" in name or "dma" in name):
            # The last: of a copy, where to; of a store, the only one.
            self.add(memory[-1], flows)
