"""The work of a StableHLO program outside its kernels, and the inputs that its outputs depend on."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from jax._src.lib.mlir import ir

from judge import mosaic
from judge.mosaic import Count, Dot, Work
from programs import program

# Operations that cost one operation for each element of their result.
_ELEMENTWISE = frozenset(
    """
    add and atan2 cbrt clamp compare cosine count_leading_zeros divide exponential exponential_minus_one log
    log_plus_one logistic maximum minimum multiply negate not or popcnt power remainder rsqrt select shift_left
    shift_right_arithmetic shift_right_logical sine sqrt subtract tan tanh xor
    """.split()
)


# Operations that only move values, or change their form. Any other operation that is not counted may cost anything.
_FREE = frozenset(
    """
    abs after_all bitcast_convert broadcast_in_dim ceil complex concatenate constant convert create_token custom_call
    dynamic_broadcast_in_dim dynamic_gather dynamic_iota dynamic_pad dynamic_reshape dynamic_slice dynamic_update_slice
    floor gather get_dimension_size get_tuple_element imag iota is_finite optimization_barrier pad real
    reduce_precision reshape return reverse rng_bit_generator round_nearest_afz round_nearest_even sign slice
    transpose tuple
    """.split()
)
# The cost of an operation on complex numbers: as much as multiplying their parts.
_COMPLEX = 4


@dataclass
class Surroundings:
    """A whole program; its counts of work leave out its kernels."""

    work: Work = field(default_factory=Work)
    targets: dict[str, int] = field(default_factory=dict)  # of custom calls, and how many
    kernels: list[mosaic.Kernel] = field(default_factory=list)
    # The kernels' work. `surely_inside`: the least work over all branches of the program around the kernels, if each
    # kernel that runs does the most that it can do.
    inside: Count = field(default_factory=Count)
    surely_inside: float = 0
    depends: list[set[int]] = field(default_factory=list)  # for each output, the numbers of inputs
    kernel_outputs: list[bool] = field(default_factory=list)  # whether an output depends on a kernel at all


class _Reader:
    def __init__(self, functions: dict[str, Any], out: Surroundings) -> None:
        self._functions = functions
        self._out = out
        self._kernels: dict[Any, mosaic.Kernel] = {}

    # The operations.

    def look(self, operation: Any) -> None:
        """Notes every operation below, once each."""
        for inner in program.walk(operation):
            name = inner.name.removeprefix("stablehlo.")
            work = self._out.work
            if name == "custom_call":
                target = ir.StringAttr(inner.attributes["call_target_name"]).value
                self._out.targets[target] = self._out.targets.get(target, 0) + 1
                if target == program.CUSTOM_CALL:
                    self._kernels[inner] = mosaic.Kernel(program.kernel_body(inner))
                    self._out.kernels.append(self._kernels[inner])
                    continue
            work.note(name)
            if name == "constant":
                work.constant_bytes += mosaic.array_bytes(inner.attributes["value"])
            elif name in ("dot_general", "convolution"):
                operands = tuple(mosaic.element_type(value.type) for value in inner.operands)
                work.dots.add(Dot(operands, mosaic.element_type(inner.results[0].type), "default"))
            elif name == "reduce" and any(i.operation.name == "stablehlo.add" for i in inner.regions[0].blocks[0]):
                work.sums.add(mosaic.element_type(inner.results[0].type))

    # The costs.

    def cost(self, block: Any, of: Callable[[Any], Count], costs: dict[str, Count] | None = None) -> Count:
        """Returns the work of a block that runs once. `of`: an operation's work; `costs`: that of known functions."""
        costs = {} if costs is None else costs
        total = Count()
        for inner in block.operations:
            total += self._cost_of(inner.operation, of, costs)
        return total

    def _cost_of(self, operation: Any, of: Callable[[Any], Count], costs: dict[str, Count]) -> Count:
        name = operation.name.removeprefix("stablehlo.")
        if operation.name == "func.call":
            callee = ir.FlatSymbolRefAttr(operation.attributes["callee"]).value
            if callee not in costs:
                costs[callee] = self.cost(self._functions[callee].regions[0].blocks[0], of, costs)
            return costs[callee]
        if name == "while":
            body = self.cost(operation.regions[1].blocks[0], of, costs)
            trips = _trips(operation)
            return body.times(trips or 0, math.inf if trips is None else trips)
        if name in ("case", "if"):
            branches = [self.cost(region.blocks[0], of, costs) for region in operation.regions]
            total = branches[0]
            for branch in branches[1:]:
                total = total.or_else(branch)
            return total
        return of(operation)

    def outside(self, operation: Any) -> Count:
        """Returns the work of an operation that is not a kernel."""
        flops = _static_flops(operation, operation.name.removeprefix("stablehlo."))
        return Count(0 if math.isinf(flops) else flops, flops)

    def inside(self, operation: Any) -> Count:
        """Returns the work of a kernel."""
        return self._kernels[operation].work.flops if operation in self._kernels else Count()

    def most_inside(self, operation: Any) -> Count:
        """Returns the work of a kernel that does its most."""
        most = self.inside(operation).most
        return Count(most, most)

    # The dependencies.

    def dependencies(self, function: Any, arguments: list[set[int]]) -> list[set[int]]:
        """Returns the inputs that a function's results depend on; a kernel counts as input -1 of its results."""
        block = function.regions[0].blocks[0]
        known = dict(zip(block.arguments, arguments, strict=True))
        return self._block(block, known)

    def _block(self, block: Any, known: dict[Any, set[int]]) -> list[set[int]]:
        for inner in block.operations:
            operation = inner.operation
            flows = [known.get(value, set()) for value in operation.operands]
            if operation.name in ("func.return", "stablehlo.return"):
                return flows
            for result, depends in zip(operation.results, self._results(operation, flows, known), strict=True):
                known[result] = depends
        return []

    def _results(self, operation: Any, flows: list[set[int]], known: dict[Any, set[int]]) -> list[set[int]]:
        count = len(operation.results)
        if operation in self._kernels:
            kernel = self._kernels[operation]
            dynamic = sum(bound is None for bound in kernel.grid)
            grid = set[int]().union(*flows[:dynamic])
            of_results = kernel.dependencies(count)
            return [grid.union({-1}, *(flows[dynamic + n] for n in numbers)) for numbers in of_results]
        if operation.name == "func.call":
            callee = ir.FlatSymbolRefAttr(operation.attributes["callee"]).value
            return self.dependencies(self._functions[callee], flows)
        everything = set[int]().union(*flows)
        for region in operation.regions:
            for block in region.blocks:
                # A loop hands values on, so every value in it, also one from outside, may flow into any other.
                inner = {**known, **dict.fromkeys(block.arguments, everything)}
                everything = everything.union(*self._block(block, inner))
        return [everything] * count


def _static_flops(operation: Any, name: str) -> float:
    if name == "dot_general":
        left = operation.operands[0].type
        numbers = str(operation.attributes["dot_dimension_numbers"])
        text = numbers.split("lhs_contracting_dimensions = [", 1)
        axes = [int(axis) for axis in text[1].split("]", 1)[0].split(",") if axis.strip()] if len(text) == 2 else []
        return 2 * mosaic.size(operation.results[0].type) * math.prod(left.shape[axis] for axis in axes)
    if name == "convolution":
        # Each element of the output is a sum over at most all elements of the convolution's kernel.
        return 2 * mosaic.size(operation.results[0].type) * mosaic.size(operation.operands[1].type)
    if not list(operation.results) or name in _FREE:
        return 0
    element = mosaic.element_type(operation.results[0].type)
    is_whole = element not in mosaic.FLOAT_BITS and not element.startswith("complex")
    is_counter = mosaic.size(operation.results[0].type) == 1 and name in _ELEMENTWISE
    is_logic = element == "i1" and name not in ("compare", "select")
    if is_logic or (is_whole and is_counter):
        return 0
    each = _COMPLEX if element.startswith("complex") else 1
    if name in ("reduce", "sort"):
        return each * mosaic.size(operation.operands[0].type)
    if name == "scatter":
        # Updates that are not combined with the old values are only moved.
        combining = list(operation.regions[0].blocks[0].operations)
        return each * mosaic.size(operation.operands[-1].type) if len(combining) > 1 else 0
    if name == "reduce_window":
        window = math.prod(operation.attributes["window_dimensions"])
        return each * mosaic.size(operation.results[0].type) * window
    # No operation on whole numbers takes more than one operation per element.
    is_known = is_whole or name in _ELEMENTWISE
    return each * mosaic.size(operation.results[0].type) if is_known else math.inf


def _trips(loop: Any) -> int | None:
    """Returns how often a loop runs, if it counts by one between constants, as JAX writes it; None: not known."""
    condition = loop.regions[0].blocks[0]
    compare = next((i.operation for i in condition.operations if i.operation.name == "stablehlo.compare"), None)
    if (
        compare is None
        or len(list(condition.operations)) > 3
        or "LT" not in str(compare.attributes["comparison_direction"])
    ):
        return None
    index, limit = compare.operands
    last = _constant(limit)
    if last is None or index not in list(condition.arguments):
        return None
    number = list(condition.arguments).index(index)
    first = _constant(loop.operands[number])
    step = list(loop.regions[1].blocks[0].operations)[-1].operation.operands[number]
    counter = loop.regions[1].blocks[0].arguments[number]
    if first is None or not _is_next(step, counter):
        return None
    return max(0, last - first)


def _is_next(value: Any, counter: Any) -> bool:
    """Whether a value is the counter plus one."""
    operation = getattr(value.owner, "operation", value.owner)
    if getattr(operation, "name", "") != "stablehlo.add":
        return False
    left, right = operation.operands
    return (left == counter and _constant(right) == 1) or (right == counter and _constant(left) == 1)


def _constant(value: Any) -> int | None:
    operation = getattr(value.owner, "operation", value.owner)
    if getattr(operation, "name", "") != "stablehlo.constant":
        return None
    attribute = operation.attributes["value"]
    is_whole = attribute.is_splat and isinstance(attribute.type.element_type, ir.IntegerType)
    return int(attribute.get_splat_value().value) if is_whole else None


def survey(module: Any) -> Surroundings:
    """Returns what a program's module does; its MLIR context must be current."""
    functions = {
        ir.StringAttr(op.operation.attributes["sym_name"]).value: op.operation for op in module.body.operations
    }
    out = Surroundings()
    reader = _Reader(functions, out)
    reader.look(module.operation)
    main = functions["main"]
    body = main.regions[0].blocks[0]
    out.work.flops = reader.cost(body, reader.outside)
    out.inside = reader.cost(body, reader.inside)
    out.surely_inside = reader.cost(body, reader.most_inside).least
    inputs = len(body.arguments)
    depends = reader.dependencies(main, [{number} for number in range(inputs)])
    out.depends = [numbers - {-1} for numbers in depends]
    out.kernel_outputs = [-1 in numbers for numbers in depends]
    return out
