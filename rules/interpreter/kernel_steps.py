"""Some steps of a kernel's grid, run in Pallas' TPU interpreter: those that decide the requested part of its results.

These are the steps that write the requested blocks, in the order of the grid. If one of them reads memory that none of
these steps wrote, an earlier step may have left a value there. Then more steps are run: first the steps before it along
the last axis of the grid, and in the end all steps. So a kernel cannot tell that it is not run as a whole, because it
finds the same values in memory.

Steps along a parallel axis may run on different cores, so no step gets a value from another. Memory that one step
leaves holds NaN for the other.

A kernel that copies by itself, or that could detect the content of memory that nobody wrote, is run in two ways, which
must give the same results. In the first way, copies end when they are waited for, and memory that nobody wrote holds
very high whole numbers and NaN. In the second way, copies end where they are started, and such memory holds very low
whole numbers and an ordinary number.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import core, dispatch
from jax._src.pallas import core as pallas_core
from jax._src.pallas.mosaic.interpret import interpret_pallas_call as interpreter
from jax._src.pallas.mosaic.interpret import shared_memory
from jax._src.pallas.mosaic.interpret import utils as interpret_utils
from jax._src.state.types import AbstractRef

from interpreter import bounds, footprint, interpreted, part_rules, parts, races, writes
from interpreter.regions import Region, indices_of, whole
from programs import jaxprs, promises

Points = np.ndarray[Any, Any]


class _Unwritten(Exception):
    """A step reads memory that none of the steps that are run has written."""


@dataclasses.dataclass(frozen=True)
class _Plan:
    """The plan of a kernel's run: its grid, the steps, and the parts of its operands that the steps need."""

    grid: tuple[int, ...]
    points: Points
    operands: list[Region]
    parallel: list[int]  # axes of the grid


# The interpreter's cost of an access to memory, and of one multiplication in a matrix product. The unit is an operation
# on one element.
_ACCESS, _MULTIPLICATION = float(1 << 20), 1 / 16


def cost_of(jaxpr: core.Jaxpr) -> float:
    """Returns the approximate cost of a kernel's step in the interpreter, in operations on elements.

    math.inf: the length of a loop is not known. In a program around kernels, the kernels themselves cost nothing.
    """
    return sum(map(_cost_of_equation, jaxpr.eqns))


def _cost_of_equation(equation: core.JaxprEqn) -> float:
    name, params = equation.primitive.name, equation.params
    if name == "pallas_call":
        return 0
    inner = [cost_of(body) for body in core.jaxprs_in_params(params)]
    if name == "while":
        return math.inf
    if name == "cond":
        return max(inner)
    if inner:
        return sum(inner) * (params["length"] if name == "scan" else 1)
    size = sum(math.prod(getattr(v.aval, "shape", ())) for v in equation.outvars)
    if any(isinstance(v.aval, AbstractRef) for v in equation.invars):
        return _ACCESS + size
    if name == "dot_general":
        left = equation.invars[0].aval
        return size * math.prod(left.shape[axis] for axis in params["dimension_numbers"][0][0]) * _MULTIPLICATION
    return size


class Enough(Exception):
    """The requested steps would cost more than the limit."""


class SomeSteps:
    """Runs kernels for the requested regions of their results.

    An evaluation that meets `More` has to begin again: the kernel needs more of its operands. `steps` and `all_steps`
    count the steps that were run, and all steps. `seed` determines the content of memory that nobody wrote.
    `is_second_way` selects the way for kernels that are run in two ways. `cost` is the cost of the steps that were run,
    as in `cost_of`. If it would exceed `most`, `Enough` is raised.
    """

    def __init__(self, seed: int = 0) -> None:
        self.cost = 0.0
        self.most = math.inf
        self.steps = 0
        self.all_steps = 0
        self.is_second_way = False
        self._seed = seed
        self._widths: dict[int, int] = {}  # by equation: how many first axes of a wanted step an earlier step shares
        self._plans: dict[int, _Plan] = {}
        # Each entry keeps its equation alive, so that the equation's id stays its own.
        self._compiled: dict[tuple[int, bool], Callable[..., Any]] = {}
        self._watch = _Watch()
        self._promises = promises.Watch()

    def needs(self, equation: Any, regions: list[Region | None], value: Callable[[Any], Any]) -> list[Region | None]:
        """Returns the blocks of the operands that the steps read; an operand that is not read in blocks is whole."""
        if _uses_what_it_replaces(equation.params["jaxpr"]):
            raise NotImplementedError("a kernel uses a value that one of its stores replaces")
        mapping = equation.params["grid_mapping"]
        dynamic, scalars = mapping.num_dynamic_grid_bounds, mapping.num_index_operands
        given = [np.asarray(value(atom)) for atom in equation.invars[: dynamic + scalars]]
        grid = footprint.grid_of(mapping, given[:dynamic])
        blocks = footprint.Blocks(equation.params, grid, given[dynamic:])
        blocks.check_ends()
        blocks.check_order([region is not None for region in regions])
        if blocks.reads_what_it_wrote:
            # All steps have to run, because an array does not count as memory that nobody wrote. So a missing write
            # would not be noticed.
            self._widths[id(equation)] = 0
        parallel = footprint.parallel_axes(equation.params)
        points = self._points(equation, blocks, regions, parallel)
        aliased = {number for number, _ in equation.params["input_output_aliases"]}
        out = [whole(atom.aval.shape) for atom in equation.invars]
        for number, block in enumerate(list(mapping.block_mappings)[: mapping.num_inputs], scalars):
            if not block.has_trivial_window() and number not in aliased:
                out[dynamic + number] = blocks.region(block, points)
        self._plans[id(equation)] = _Plan(grid, points, out, parallel)
        return list(out)

    def run(self, equation: Any, regions: list[Region | None], operands: list[Any]) -> Sequence[Any]:
        """Returns the results' regions. Raises `More`, `Left`, and promises.Broken."""
        plan = self._plans[id(equation)]
        arrays = [_spread(*each) for each in zip(operands, plan.operands, equation.invars, strict=True)]
        dynamic = equation.params["grid_mapping"].num_dynamic_grid_bounds
        try:
            results = self._interpret(equation, plan, arrays[dynamic:])
        except _Unwritten:
            self._widths[id(equation)] = self._widths.get(id(equation), len(plan.grid)) - 1
            raise More from None
        self.steps += len(plan.points)
        self.all_steps += int(np.prod(plan.grid, dtype=np.int64))
        return part_rules.taken(results, equation, regions)

    def _points(
        self, equation: Any, blocks: footprint.Blocks, regions: list[Region | None], parallel: Sequence[int]
    ) -> Points:
        """Returns the steps to be run, in the grid's order: a row per step."""
        mapping = equation.params["grid_mapping"]
        outputs = list(mapping.block_mappings)[mapping.num_inputs :]
        wanted = np.zeros(len(blocks.points), bool)
        for block, region in zip(outputs, regions, strict=True):
            if region is not None:
                wanted |= True if block.has_trivial_window() else blocks.touching(block, region)
        width = self._widths.get(id(equation), blocks.points.shape[1])
        return blocks.points[_and_those_before(blocks.points, wanted, width, parallel)]

    def _filled(self, is_second: bool) -> contextlib.AbstractContextManager[None]:
        """The context in which kernels are traced and run: it decides the content of memory that nobody wrote."""

        def whole(dtype: Any) -> int:
            low, high = int(jnp.iinfo(dtype).min), int(jnp.iinfo(dtype).max)
            off = 1 + self._seed % max(1, high // 4)
            return low + off if is_second else high - off

        # A number that all types can hold, so that it is recognised later.
        number = (1.25 + self._seed % 3 / 4) * 2 ** (self._seed // 3 % 4) * (-1) ** (self._seed // 12 % 2)
        return interpreted.filled(number if is_second else None, whole, is_second)

    def _interpret(self, equation: Any, plan: _Plan, arrays: list[Any]) -> list[Any]:
        self.cost += len(plan.points) * cost_of(equation.params["jaxpr"])
        if self.cost > self.most:
            raise Enough
        is_second = self.is_second_way and _has_two_ways(equation)
        key = id(equation), is_second
        if key not in self._compiled:
            some = functools.partial(_some_steps, equation, plan.grid, self._promises, self._watch.step, is_second)
            self._compiled[key] = jax.jit(some)
        # If all steps before are run, memory that none of them wrote may hold anything, as on a TPU.
        self._watch.is_lenient = self._widths.get(id(equation), len(plan.grid)) == 0
        self._watch.begin(equation, plan)
        try:
            with self._watch.on(), interpreted.forgetting_blocks(equation, _forget), self._filled(is_second):
                results = list(jax.block_until_ready(self._compiled[key](jnp.asarray(plan.points), *arrays)))
        except Exception:
            interpreter.reset_tpu_interpret_mode_state()
            # The failed run's tokens would fail the next run.
            dispatch.runtime_tokens.clear()
            if self._watch.found:
                raise _Unwritten from None
            raise
        self._promises.check()
        if self._watch.left:
            raise Left(self._watch.left)
        return results


class Left(Exception):
    """A semaphore is not back at 0, or a copy is left that nobody waits for."""


class More(Exception):
    """A kernel has to be run for more steps than were planned."""


def evaluate(
    closed: core.ClosedJaxpr, arguments: Sequence[Any], regions: Sequence[Region], kernels: SomeSteps
) -> list[Any]:
    """Returns the outputs' values at regions, as `parts.evaluate` does; each kernel runs only the steps it needs."""
    # Flattened before the loop, because kernels are identified by their equation objects, which a second flattening
    # would replace.
    flat = parts.flattened(closed)
    while True:
        try:
            return parts.evaluate(flat, arguments, regions, kernels)
        except More:
            continue


def _spread(value: Any, region: Region, atom: Any) -> Any:
    """Returns an operand in an array of its whole shape, with zeros where no step reads."""
    if all(axis is None for axis in region):
        return value
    array = np.zeros(atom.aval.shape, atom.aval.dtype)
    array[np.ix_(*(indices_of(axis, n) for axis, n in zip(region, array.shape, strict=True)))] = np.asarray(value)
    return jnp.asarray(array)


def _and_those_before(
    points: Points, wanted: np.ndarray[Any, Any], width: int, parallel: Sequence[int]
) -> np.ndarray[Any, Any]:
    """Returns which points are wanted, or come before a wanted one with the same first axes and parallel axes."""
    if width >= points.shape[1] or not wanted.any():
        return wanted
    shared = sorted({*range(width), *parallel})
    group = np.zeros(len(points), int)
    if shared:
        group = np.unique(points[:, shared], axis=0, return_inverse=True)[1].reshape(-1)
    last = np.full(int(group.max()) + 1, -1)
    np.maximum.at(last, group[wanted], np.nonzero(wanted)[0])
    return np.arange(len(points)) <= last[group]


# The interpreter runs every step of a grid. The functions below give it a grid that has only the chosen steps.


def _some_steps(
    equation: Any,
    grid: tuple[int, ...],
    watch: promises.Watch,
    step: Callable[..., Any],
    is_second: bool,
    points: Any,
    *arrays: Any,
) -> Any:
    """Runs the chosen steps of a kernel, one after another, on one core; `step` is called before each.

    `is_second`: copies end where they are started.
    """
    params = interpreted.parameters(equation, watch)
    mapping = params["grid_mapping"]
    axes = [axis for axis in range(len(grid)) if axis not in mapping.vmapped_dims]

    def environment(point: Any, _: Any) -> Any:
        return tuple(pallas_core.GridAxis(point[axis], grid[axis]) for axis in axes)

    def point_of(index: Any, _: Any) -> Any:
        return tuple(points[index[0], axis] for axis in range(len(grid)))

    params["grid_mapping"] = mapping.replace(grid=(points.shape[0],), local_grid_env=environment)
    if params["compiler_params"] is not None:
        params["compiler_params"] = dataclasses.replace(params["compiler_params"], dimension_semantics=None)
    with mock.patch.object(interpreter, "_get_grid_point", point_of):
        mode = "eager" if is_second else "on_wait"
        how = interpreted.settings(grid_point_recorder=step, dma_execution_mode=mode)
        return interpreter.interpret_pallas_call(*arrays, **params, interpret_params=how)


def _has_two_ways(equation: Any) -> bool:
    """Whether a kernel copies by itself, or could detect the content of memory that nobody wrote."""
    return jaxprs.copies_by_itself(equation.params["jaxpr"]) or interpreted.can_tell(equation)


class _Buffer(shared_memory.Buffer):
    """Memory that knows which of its elements were written, if it was made without any."""

    def __init__(self, content: Any, ref_count: int = 1, logical_shape: Any = None) -> None:
        super().__init__(content, ref_count, logical_shape)
        self.written = np.zeros(content.shape, bool) if _is_fresh(content) else None

    def is_unwritten(self, ranges: Any) -> bool:
        """Whether an element in a range was never written."""
        place = self.place(ranges)
        return self.written is not None and place is not None and not self.written[place].all()

    def place(self, ranges: Any) -> Any:
        """Returns the part of a range within the buffer; None: the range is outside."""
        return interpret_utils.clip_range_to_shape(self._normalize_range(ranges), self.shape)

    def _set_within_logical_shape(self, rnge: Any, value: Any) -> None:
        super()._set_within_logical_shape(rnge, value)
        place = interpret_utils.clip_range_to_shape(rnge, self.logical_shape)
        if self.written is not None and place is not None:
            self.written[place] = True


def _is_fresh(content: Any) -> bool:
    """Whether an array is the interpreter's memory that nobody wrote: all of it has the value of such memory."""
    if not content.size:
        return False
    value = interpret_utils.get_uninitialized_value(content.dtype, "nan")
    is_nan = bool(value != value)  # noqa: PLR0124 - only what is not a number differs from itself
    first = content.flat[0]
    if not (np.isnan(first) if is_nan else first == value):
        return False
    return bool((np.isnan(content) if is_nan else content == value).all())


def _forget(buffer: _Buffer) -> None:
    """Makes memory count as never written."""
    interpreted.forget(buffer)
    if buffer.written is not None:
        buffer.written[...] = False


class _Watch:
    """Finds out whether a kernel needs a step that was not run. If so, the run ends there, and `found` is true.

    Such a kernel reads memory that nobody wrote, or waits for a copy that nobody has started. (No other core could
    start the copy.) After steps that are not run, memory counts as not written and copies as not started, because these
    steps may have left something else.

    `left`: the message about a semaphore that is not at 0, or a copy that is under way, after the last step of the
    grid, or of an index of the parallel axes. Earlier steps that were not run can only have left more.
    """

    def __init__(self) -> None:
        self.found = False
        self.left = ""
        self.is_lenient = False
        self._thread = threading.local()
        self._plan: _Plan | None = None
        self._last: tuple[tuple[int, ...], int] | None = None
        self._kept: frozenset[int] = frozenset()
        self._scalars: frozenset[int] = frozenset()
        plain = interpreter.get

        @functools.wraps(plain)
        def get(*arguments: Any, source_info: Any = None, **named: Any) -> Any:
            # Copies of blocks have no line of the kernel as their source, and they may copy unwritten memory.
            self._thread.is_copy = source_info is None
            try:
                return plain(*arguments, source_info=source_info, **named)
            finally:
                self._thread.is_copy = False

        get.__wrapped__ = plain.__wrapped__
        self._get = get

    def begin(self, equation: Any, plan: _Plan) -> None:
        """Prepares for a run of a kernel."""
        self.found, self.left, self._plan, self._last = False, "", plan, None
        # The blocks of inputs are never forgotten, because they are read again wherever they change.
        made = list(enumerate(bounds.memories(equation), bounds.FIRST))
        self._kept = frozenset(number for number, (kind, _) in made if kind is bounds.Kind.INPUT_BLOCK)
        scalars = writes.written_scalars(equation.params)
        self._scalars = frozenset(
            number for number, (kind, place) in made if kind is bounds.Kind.SCALAR and place in scalars
        )

    def step(self, token: Any, point: Any, _: Any) -> Any:
        """Prepares memory for a step. The interpreter calls this before each step of the kernel."""
        assert self._plan is not None
        grid, place = self._plan.grid, tuple(map(int, point))
        # Steps with the same indices of the parallel axes belong to one core.
        core = tuple(place[axis] for axis in self._plan.parallel)
        inner = [axis for axis in range(len(grid)) if axis not in self._plan.parallel]
        sizes = tuple(grid[axis] for axis in inner)
        number = int(np.ravel_multi_index(tuple(place[axis] for axis in inner), sizes)) if inner else 0
        if self._last is not None and self._last[0] != core:
            self._end(races.PASSED_ON)
        if self._last is None and number != 0:
            self._forget(is_another_core=False)
        elif self._last is not None and self._last != (core, number - 1):
            self._forget(is_another_core=self._last[0] != core)
        self._last = core, number
        return token

    def _end(self, said: str) -> None:
        """Notes semaphores and copies that are left after the last step of a core, or of a parallel index."""
        assert self._plan is not None
        inner = [size for axis, size in enumerate(self._plan.grid) if axis not in self._plan.parallel]
        if self._last is None or self._last[1] + 1 != math.prod(inner):
            return
        memory = interpreter._get_shared_memory()
        semaphores = [*memory.sem.values(), *memory.fixed_id_sem.values()]
        if not self.left and any(any(one.count_by_core) or any(one.tasks) for one in semaphores):
            self.left = said

    def _forget(self, is_another_core: bool) -> None:
        """Forgets the state that earlier steps have left: copies under way end, and memory counts as not written."""
        memory = interpreter._get_shared_memory()
        for semaphore in memory.sem.values():
            for tasks in semaphore.tasks:
                while tasks:
                    tasks.pop()()
            semaphore.count_by_core[:] = 0
        for (space, number, *_), buffer in memory.mem.items():
            is_shared = space in ("any", "hbm") or number in self._kept
            if isinstance(buffer, _Buffer) and number in self._scalars:
                # Steps that were not run may have written there, so the buffer counts as not written.
                buffer.written = np.zeros(buffer.shape, bool)
            if isinstance(buffer, _Buffer) and buffer.written is not None and not is_shared:
                buffer.written[...] = False
                if is_another_core:
                    interpreted.forget(buffer)

    @contextlib.contextmanager
    def on(self) -> Iterator[None]:
        """The context in which kernels are traced and run."""
        memory = shared_memory.SharedMemory
        semaphore = shared_memory.Semaphore
        plain_read, plain_swap, plain_wait = memory.get_buffer_content, memory.swap_buffer_content, semaphore.wait
        plain_validate = interpreter._validate
        plain_padded, padded_shape = interpreter._get_with_padding, interpreter._get_padded_shape

        def padded(value: Any, kind: Any) -> Any:
            # Without padding there is no copy, because the copy of a table of gigabytes would be too large.
            return value if padded_shape(value.shape, value.dtype) == value.shape else plain_padded(value, kind)

        def read(this: Any, key: Any, rnge: Any, *arguments: Any, **named: Any) -> Any:
            buffer = this.mem[key]
            is_copy = getattr(self._thread, "is_copy", False)
            if not self.is_lenient and not is_copy and isinstance(buffer, _Buffer) and buffer.is_unwritten(rnge):
                self.found = True
                raise _Unwritten
            return plain_read(this, key, rnge, *arguments, **named)

        def swap(this: Any, key: Any, rnge: Any, value: Any, mask: Any, *arguments: Any, **named: Any) -> Any:
            buffer = this.mem[key]
            place = buffer.place(rnge)
            before = None if mask is None or buffer.written is None or place is None else buffer.written[place].copy()
            result = plain_swap(this, key, rnge, value, mask, *arguments, **named)
            if before is not None:
                # Elements that a mask keeps out are not written.
                buffer.written[place] = before | np.asarray(mask)[tuple(map(slice, before.shape))]
            return result

        def wait(this: Any, value: Any, core_index: Any, **named: Any) -> Any:
            tasks, number = this.tasks[int(core_index)], int(core_index)
            while this.count_by_core[number] < value and tasks:
                tasks.pop()()
            if this.count_by_core[number] < value:
                if self.is_lenient:
                    raise NotImplementedError("a kernel waits for a copy or a signal that nobody sends")
                self.found = True
                raise _Unwritten
            return plain_wait(this, value, core_index, **named)

        def validate(*arguments: Any) -> Any:
            self._end(races.LEFT)
            return plain_validate(*arguments)

        with (
            mock.patch.object(semaphore, "wait", wait),
            mock.patch.object(shared_memory, "Buffer", _Buffer),
            mock.patch.object(memory, "get_buffer_content", read),
            mock.patch.object(memory, "swap_buffer_content", swap),
            mock.patch.object(interpreter, "get", self._get),
            mock.patch.object(interpreter, "_get_with_padding", padded),
            mock.patch.object(interpreter, "_validate", validate),
            # The interpreter prints a line about what is left, which nobody reads in a sandbox.
            contextlib.redirect_stdout(None),
        ):
            yield


def _uses_what_it_replaces(jaxpr: core.Jaxpr) -> bool:
    """Whether a store's result is used. It is the memory's old content, and the watch does not see that read."""
    used = {atom for equation in jaxpr.eqns for atom in equation.invars if not isinstance(atom, core.Literal)}
    used |= {atom for atom in jaxpr.outvars if not isinstance(atom, core.Literal)}
    return any(
        ("swap" in equation.primitive.name and not used.isdisjoint(equation.outvars))
        or any(map(_uses_what_it_replaces, core.jaxprs_in_params(equation.params)))
        for equation in jaxpr.eqns
    )
