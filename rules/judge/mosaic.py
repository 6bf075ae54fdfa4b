"""The work of a Mosaic kernel, counted from its body.

The module counts floating-point operations, copies, dots, sums and constants, and finds the operands that each result
depends on. It walks the grid, so the count is exact if the body's control flow depends only on the grid's indices and
on constants. Work that depends on memory is counted as a least and a most. No body is run.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jax._src.lib.mlir import ir

from programs import program

_PREFIX = "stable_mosaic."
_DYNAMIC = -(1 << 63)
# The maximum number of grid points that are walked if they do different work. Larger grids are sampled, and the count
# is scaled.
_MOST_POINTS = 1 << 17
# The maximum number of blocks that are walked for a count. The work of a kernel with more blocks is not known.
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
# Operations that treat the sign bit like the other bits.
_UNSIGNED = frozenset({"divui", "extui", "maxui", "minui", "remui", "shrui"})


@dataclass(frozen=True)
class Count:
    """A count, as a least and a most. `most` is math.inf if no limit is known."""

    least: float = 0
    most: float = 0

    def __add__(self, other: Count) -> Count:
        return Count(self.least + other.least, self.most + other.most)

    def times(self, least: float, most: float) -> Count:
        """Returns the count of work that is repeated, at least `least` times and at most `most` times."""
        return Count(self.least * least if least else 0, self.most * most if self.most and most else 0)

    def or_else(self, other: Count) -> Count:
        """Returns the count if either this work or the other work is done."""
        return Count(min(self.least, other.least), max(self.most, other.most))


@dataclass(frozen=True)
class Dot:
    """The element types of a dot's operands and of its result, and the precision that it asks for."""

    operands: tuple[str, ...]
    result: str
    precision: str


@dataclass
class Work:
    """The work of a kernel or of a whole program."""

    flops: Count = Count()
    copied: Count = Count()  # elements, by copies (DMAs) that are started
    awaited: Count = Count()  # elements of copies that are waited for
    signalled: Count = Count()  # numbers that are added to semaphores
    taken: Count = Count()  # numbers that waits take off semaphores
    is_sampled: bool = False  # whether only some points of a large grid were counted, and scaled
    dots: set[Dot] = field(default_factory=set)
    sums: set[str] = field(default_factory=set)  # element types that are summed over an axis
    constant_bytes: int = 0  # of arrays of different values
    calls: dict[str, int] = field(default_factory=dict)  # how often each operation is in the text

    def note(self, name: str) -> None:
        """Counts one more operation of this name."""
        self.calls[name] = self.calls.get(name, 0) + 1


def element_type(kind: Any) -> str:
    """Returns the element type of a vector, tensor or memory reference, or the type itself."""
    return str(kind.element_type) if hasattr(kind, "element_type") else str(kind)


def size(kind: Any) -> int:
    """Returns the number of elements; 1 for a scalar."""
    return math.prod(kind.shape) if hasattr(kind, "shape") else 1


def array_bytes(attribute: Any) -> int:
    """Returns the bytes of a constant that is an array of different values, else 0."""
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
        self._definitions = _Definitions()
        self._is_sampled = False

    @functools.cached_property
    def work(self) -> Work:
        """The kernel's work, over its whole grid."""
        work = Work()
        for function in self._functions:
            for operation in program.walk(function):
                _look_at(operation, work)
        work.flops = self._count(_static_flops)
        work.copied = self._count(_copied)
        work.awaited = self._count(_awaited)
        work.signalled = self._count(_signalled)
        work.taken = self._count(_taken)
        work.is_sampled = self._is_sampled
        return work

    def dependencies(self, results: int) -> list[set[int]]:
        """Returns, for each result, the numbers of the operands (without dynamic grid bounds) that it depends on."""
        taint = _Taint()
        arguments = list(self._entry.arguments)[len(self.grid) :]
        inputs = arguments[: len(arguments) - self._scratch - results]
        outputs = arguments[len(inputs) : len(inputs) + results]
        for number, value in enumerate(inputs):
            taint.add(value, {number})
        taint.spread(self._main)
        return [taint.of(value) for value in outputs]

    def _count(self, measure: Measure) -> Count:
        budget = _Budget()
        counter = _Counter(self._entry, measure, self._definitions, budget)
        if not counter.is_worth:
            return Count()
        bounds = [bound for bound in self.grid if bound is not None]
        if len(bounds) < len(self.grid):
            # A bound that is known only at run time may be zero or any number.
            return Count(0, math.inf)
        arguments = [self._definitions.number(value) for value in list(self._entry.arguments)[: len(self.grid)]]
        try:
            count = counter.over(dict(zip(arguments, bounds, strict=True)))
        except _TooMuch:
            return Count(0, math.inf)
        self._is_sampled |= budget.is_sampled
        return count


def _points(bounds: list[int]) -> tuple[Iterator[tuple[int, ...]], float]:
    """Returns the grid's points, or a sample of them, and how many points each stands for."""
    total = math.prod(bounds)
    if total <= _MOST_POINTS:
        return itertools.product(*map(range, bounds)), 1
    flat = np.random.Generator(np.random.Philox(key=total)).integers(0, total, _MOST_POINTS)
    drawn = zip(*(axis.tolist() for axis in np.unravel_index(flat, bounds)), strict=True)
    return drawn, total / _MOST_POINTS


def _name(operation: Any) -> str:
    return str(operation.name).removeprefix(_PREFIX)


def _look_at(operation: Any, work: Work) -> None:
    """Notes an operation's kind, whether or not the operation runs."""
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
    """Counts the floating-point operations of one execution of an operation without regions."""
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
    """Counts the elements that a copy takes; its first operand is the source."""
    return _known_size(operation.operands[0].type) if name == "tpu.enqueue_dma" else 0


def _awaited(operation: Any, name: str) -> float:
    """Counts the elements that are waited for: those of the target, the last operand that is not a semaphore.

    Returns infinity if the count is known only at run time. The interpreter checks whether it is enough.
    """
    if not name.startswith("tpu.wait_dma"):
        return 0
    memory = [operand.type for operand in operation.operands if _is_memory(operand)]
    if not memory:
        return 0
    return _known_size(memory[-1]) or math.inf


def _signalled(operation: Any, name: str) -> int:
    """Returns the number that is added to a semaphore; 0 if the number is known only at run time."""
    return _whole_constant(operation.operands[1]) or 0 if name == "tpu.sem_signal" else 0


def _taken(operation: Any, name: str) -> float:
    """Returns the number that is taken off a semaphore; infinity if the number is known only at run time."""
    if name != "tpu.sem_wait":
        return 0
    amount = _whole_constant(operation.operands[1])
    return math.inf if amount is None else amount


def _whole_constant(value: Any) -> int | None:
    operation = getattr(value.owner, "operation", value.owner)
    if getattr(operation, "name", "") == "" or _name(operation) != "arith.constant":
        return None
    return int(operation.attributes["value"].value)


def _known_size(kind: Any) -> int:
    """Returns the number of elements; 0 if the number is known only at run time."""
    return max(0, size(kind)) if all(extent >= 0 for extent in getattr(kind, "shape", ())) else 0


def _is_memory(value: Any) -> bool:
    text = str(value.type)
    return text.startswith("memref") and "sema" not in text


def _contracted(operation: Any, name: str, left: Any) -> int:
    """Returns the product of the extents that a dot sums over."""
    if name == "tpu.matmul":
        text = str(operation.attributes["dimension_numbers"])
        axes = [int(axis) for axis in text.split("<[", 1)[1].split("]", 1)[0].split(",") if axis.strip()]
        return math.prod(left.shape[axis] for axis in axes)
    # A vector.contract sums over the extents that both operands have and the result does not.
    both = size(left) * size(operation.operands[1].type)
    return max(1, round(math.sqrt(both / max(1, size(operation.results[0].type)))))


class _TooMuch(Exception):
    """Counting takes too long."""


@dataclass
class _Budget:
    left: int = _MOST_BLOCKS
    is_sampled: bool = False

    def spend(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise _TooMuch


# A function that counts one execution of an operation without regions. It gets the operation and its name.
Measure = Callable[[Any, str], float]


@dataclass(frozen=True)
class _Control:
    """An operation whose regions have work in them: its operands, and its loop's index, by their numbers."""

    name: str
    operands: list[int]
    index: int | None
    counters: list[_Counter]


class _Counter:
    """Counts the work of a block for given values of the grid's indices."""

    is_worth: bool  # whether there is work in the block

    def __init__(self, block: Any, measure: Measure, definitions: _Definitions, budget: _Budget) -> None:
        self._budget = budget
        self._definitions = definitions
        self._plain: float = 0
        self._controls: list[_Control] = []
        for inner in block.operations:
            operation = inner.operation
            name = _name(operation)
            regions = list(operation.regions)
            if not regions:
                self._plain += measure(operation, name)
                continue
            counters = [_Counter(b, measure, definitions, budget) for region in regions for b in region.blocks]
            if any(counter.is_worth for counter in counters):
                operands = [definitions.number(value) for value in operation.operands]
                index = definitions.number(regions[0].blocks[0].arguments[0]) if name == "scf.for" else None
                self._controls.append(_Control(name, operands, index, counters))
        self.is_guarded = bool(self._controls)
        self.is_worth = self._plain > 0 or self.is_guarded

    def over(self, grid: dict[int, int]) -> Count:
        """Counts the work of all of a grid's points; `grid` has the number of each index, and its bound."""
        steps = math.prod(grid.values())
        total = Count(self._plain, self._plain).times(steps, steps)
        for control in self._controls:
            # Points that differ only in indices that the control does not need do the same work.
            used = [index for index in grid if index in self._needed(control)]
            bounds = [grid[index] for index in used]
            points, share = _points(bounds)
            self._budget.is_sampled |= share != 1
            share *= steps // max(1, math.prod(bounds))
            for point in points:
                self._budget.spend()
                values = _Scalars(self._definitions, dict(zip(used, point, strict=True)))
                total += self._control(control, values).times(share, share)
        return total

    def _needed(self, control: _Control) -> set[int]:
        """Returns the numbers of all values that an operation's control flow depends on."""
        needed = self._definitions.sources(control.operands)
        inner = (counter._needed(each) for counter in control.counters for each in counter._controls)
        return needed.union(*inner)

    def count(self, known: dict[int, int | None]) -> Count:
        """Counts the block's work. `known`: the values of the enclosing blocks, by number; None: not known."""
        total = Count(self._plain, self._plain)
        if not self._controls:
            return total
        self._budget.spend()
        values = _Scalars(self._definitions, known)
        for control in self._controls:
            total += self._control(control, values)
        return total

    def _control(self, control: _Control, values: _Scalars) -> Count:
        counters = control.counters
        if control.name == "scf.if":
            condition = values.of(control.operands[0])
            if condition is not None:
                chosen = 0 if condition else 1
                return counters[chosen].count(values.known) if chosen < len(counters) else Count()
            branches = [counter.count(values.known) for counter in counters]
            branches += [Count()] * (2 - len(branches))
            return branches[0].or_else(branches[1])
        if control.name == "scf.for":
            return self._loop(control, values)
        once = sum((counter.count(values.known) for counter in counters), Count())
        if control.name == "scf.while":
            return Count(0, math.inf if once.most else 0)
        # This covers tpu.region, and any other operation that runs its blocks once.
        return once

    def _loop(self, control: _Control, values: _Scalars) -> Count:
        body, index = control.counters[0], control.index
        assert index is not None
        first, last, step = (values.of(number) for number in control.operands[:3])
        if first is None or last is None or not step:
            once = body.count({**values.known, index: None})
            return Count(0, math.inf if once.most else 0)
        trips = range(first, last, step)
        if not body.is_guarded or len(trips) > _MOST_POINTS:
            return body.count({**values.known, index: None}).times(len(trips), len(trips))
        return sum((body.count({**values.known, index: number}) for number in trips), Count())


@dataclass(frozen=True)
class _Definition:
    """The computation of a whole number, as a function of other values; None: not known."""

    function: Callable[..., int] | None = None
    operands: tuple[int, ...] = ()


class _Definitions:
    """Values by number, and the definition of each. They are read once, however often a grid is walked."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._made: list[_Definition] = []

    def __getitem__(self, number: int) -> _Definition:
        return self._made[number]

    def number(self, value: Any) -> int:
        """Returns the number of a value. The values that it is made of get numbers, too."""
        if value not in self._numbers:
            definition = self._define(value)
            self._numbers[value] = len(self._made)
            self._made.append(definition)
        return self._numbers[value]

    def sources(self, numbers: Iterable[int]) -> set[int]:
        """Returns these values, and all that they are made of."""
        found: set[int] = set()
        left = list(numbers)
        while left:
            number = left.pop()
            if number not in found:
                found.add(number)
                left += self._made[number].operands
        return found

    def _define(self, value: Any) -> _Definition:
        operation = getattr(value.owner, "operation", value.owner)
        if not hasattr(operation, "operands"):
            return _Definition()  # a block's argument
        name = _name(operation)
        if name == "arith.constant":
            attribute = operation.attributes["value"]
            if not isinstance(attribute, (ir.IntegerAttr, ir.BoolAttr)):
                return _Definition()
            constant = int(attribute.value)
            return _Definition(lambda: constant)
        if not name.startswith("arith.") or hasattr(value.type, "shape"):
            return _Definition()
        function = _function_of(operation, name.removeprefix("arith."), value.type)
        if function is None:
            return _Definition()
        return _Definition(function, tuple([self.number(operand) for operand in operation.operands]))


def _function_of(operation: Any, short: str, kind: Any) -> Callable[..., int] | None:
    """Returns the function of whole numbers that an operation of dialect arith computes; None: not known."""
    predicate = int(operation.attributes["predicate"]) if short == "cmpi" else 0
    if short != "cmpi" and short not in _SCALAR:
        return None
    plain = _COMPARE[predicate] if short == "cmpi" else _SCALAR[short]
    width = _width(kind)
    if short not in _UNSIGNED and predicate < _FIRST_UNSIGNED:
        return lambda *numbers: _wrapped(plain(*numbers), width)
    sizes = [1 << _width(operand.type) for operand in operation.operands]
    return lambda *numbers: _wrapped(plain(*(n % size for n, size in zip(numbers, sizes, strict=True))), width)


class _Scalars:
    """The whole numbers that are known, and those that follow from them."""

    def __init__(self, definitions: _Definitions, known: dict[int, int | None]) -> None:
        self._definitions = definitions
        self.known = dict(known)

    def of(self, number: int) -> int | None:
        if number not in self.known:
            self.known[number] = self._compute(self._definitions[number])
        return self.known[number]

    def _compute(self, definition: _Definition) -> int | None:
        if definition.function is None:
            return None
        numbers = [self.of(operand) for operand in definition.operands]
        if None in numbers:
            return None
        try:
            return definition.function(*numbers)
        except (ZeroDivisionError, ValueError, OverflowError):
            return None


def _width(kind: Any) -> int:
    """Returns the bits of a whole number; an index is as wide as the core's integers."""
    return int(kind.width) if isinstance(kind, ir.IntegerType) else 32


def _wrapped(number: int, width: int) -> int:
    """Returns a whole number as a type of `width` bits holds it."""
    if width == 1:
        return number & 1
    half = 1 << (width - 1)
    return (number + half) % (2 * half) - half


class _Taint:
    """The operands that each value may depend on; memory is one value however it is sliced."""

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
        """Follows the flow of values until nothing changes."""
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
        """Goes through an operation; returns what a terminator hands on."""
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
                    # The values that a loop hands on come in again as the block's arguments.
                    for argument in block.arguments:
                        self.add(argument, flows | before)
        self._write(name, operands, flows)
        for result in operation.results:
            self.add(result, flows)
        return flows if name.endswith(("yield", "condition", "return")) else set()

    def _write(self, name: str, operands: list[Any], flows: set[int]) -> None:
        memory = [operand for operand in operands if _is_memory(operand)]
        if memory and ("store" in name or "dma" in name):
            # The last memory is a copy's target, or a store's only memory.
            self.add(memory[-1], flows)
