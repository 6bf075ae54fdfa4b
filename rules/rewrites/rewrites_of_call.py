"""Rewrites of a kernel's call: the order of its grid, the semantics of its axes, and the buffers of its blocks.

Each function takes a source and gives all legal rewrites. A part that is not understood has no rewrites. Runs without
JAX.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator

from rewrites.rewrite_record import Rewrite, rewrite
from source.kernel_body import KernelBody
from source.pallas_source import (
    PALLAS,
    TPU,
    BlockSpec,
    KernelCall,
    find_calls,
    is_of_call,
    program_axes,
    program_axis,
    semantics_node,
    semantics_of,
    whole_number,
)
from source.source_text import Edit, Source

# The maximum number of orders that are tried for a grid with many axes.
_MAX_ORDERS = 24


def grid_orders(source: Source) -> Iterator[Rewrite]:
    """Changes the order of the grid's axes.

    Axes change places only within a run of neighbours that carry nothing from step to step. So a value that is carried
    along an axis meets the same steps before and after, and sums over an axis stay consecutive.
    """
    for call in find_calls(source):
        edits_of = _order_edits(source, call)
        if edits_of is None:
            continue
        free = _free_axes(source, call)
        names = _axis_names(call)
        for order in _orders(len(call.grid), free):
            if _revisits(call, order):
                continue
            words = ", ".join(names), ", ".join(names[axis] for axis in order)
            yield from rewrite(source, f"grid order {words[0]} -> {words[1]}", edits_of(order))


def semantics(source: Source) -> Iterator[Rewrite]:
    """Makes an ordered axis parallel, if no step of it needs another step; or the other way round."""
    for call in find_calls(source):
        words = semantics_of(source, call)
        if words is None:
            continue
        names, free = _axis_names(call), _free_axes(source, call)
        for axis, word in enumerate(words):
            other = "arbitrary" if word == "parallel" else "parallel"
            if other == "parallel" and axis not in free:
                continue
            changed = [*words[:axis], other, *words[axis + 1 :]]
            edits = _semantics_edits(source, call, changed)
            yield from rewrite(source, f"axis {names[axis]}: {word} -> {other}", edits)


def buffering(source: Source) -> Iterator[Rewrite]:
    """Changes the number of a block's buffers: one, which saves memory, or two; for a pipeline's inputs also three.

    One buffer is legal only if the block stays the same from step to step along the innermost axis, because no other
    block can be fetched while it is used.
    """
    for call in find_calls(source):
        if not call.grid:
            continue
        for i, spec in enumerate(call.in_specs):
            name = call.kernel.inputs[i] if call.kernel else f"input {i}"
            yield from _buffer_counts(source, call, spec, name, (1, 2, 3) if call.is_pipeline else (1, 2))
        for i, spec in enumerate(call.out_specs):
            name = call.kernel.outputs[i] if call.kernel else f"output {i}"
            yield from _buffer_counts(source, call, spec, name, (1, 2))


# The grid.


def _axis_names(call: KernelCall) -> list[str]:
    """Returns the names that index maps give the axes, or their numbers."""
    for spec in (*call.out_specs, *call.in_specs):
        if spec.index_map is not None:
            return [argument.arg for argument in spec.index_map.args.args[: len(call.grid)]]
    return [str(axis) for axis in range(len(call.grid))]


def _free_axes(source: Source, call: KernelCall) -> set[int]:
    """Returns the axes along which nothing is carried from step to step.

    These are the axes that the author says are parallel. They are also the axes that are an index of every output's
    block, if memory that lives longer than a step holds only sums that start again for each block of the axis.
    """
    words = semantics_of(source, call)
    if words is None:
        return set()
    said = {axis for axis, word in enumerate(words) if word == "parallel"}
    if call.kernel is None or call.keyword("input_output_aliases") is not None or call.prefetch:
        return said
    # Random numbers depend on the order of the steps, and copies and semaphores may wait for one another.
    names = (source.qualified(node) for node in ast.walk(call.kernel.function) if isinstance(node, ast.Attribute))
    if any(name.startswith(f"{TPU}.") for name in names) or ".prng_" in source.text:
        return said
    rank = len(call.grid)
    free = set(range(rank))
    for spec in call.out_specs:
        free &= spec.plain_axes(rank)
    sums = {sum_.ref: sum_ for sum_ in KernelBody(source, call, call.kernel).sums()}
    if any(name not in sums for name in call.kernel.scratch):
        return said
    return said | (free - {sum_.axis for sum_ in sums.values()})


def _orders(rank: int, free: set[int]) -> Iterator[tuple[int, ...]]:
    """Yields the orders that move axes only within runs of free ones, except for the given order."""
    runs: list[list[int]] = []
    for axis in range(rank):
        if axis in free and runs and runs[-1][-1] in free:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    orders = itertools.product(*(itertools.permutations(run) for run in runs))
    for order in itertools.islice(orders, 1, _MAX_ORDERS):
        yield tuple(itertools.chain.from_iterable(order))


def _revisits(call: KernelCall, order: tuple[int, ...]) -> bool:
    """Whether an output's block would be revisited: an axis that it does not use is outside of an axis that it uses."""
    for spec in call.out_specs:
        used = [axis in spec.axes(len(order)) for axis in order]
        if used != sorted(used, reverse=True):
            return True
    return False


def _order_edits(source: Source, call: KernelCall) -> Callable[[tuple[int, ...]], list[Edit]] | None:
    """Returns the function that makes an order's edits; None: not every use of the order of axes is seen."""
    rank = len(call.grid)
    words = semantics_of(source, call)
    if rank < 2 or words is None or call.kernel is None or not isinstance(call.grid_node, ast.Tuple):
        return None
    if call.keyword("input_output_aliases") is not None:
        return None
    inside = [node for node in program_axes(source, source.tree) if source.is_inside(node, call.kernel.function)]
    others = {c.kernel.function for c in find_calls(source) if c.kernel is not None and c is not call}
    outside = [node for node in program_axes(source, source.tree) if node not in inside]
    if any(program_axis(source, node) not in range(rank) for node in inside):
        return None
    if any(not any(source.is_inside(node, function) for function in others) for node in outside):
        return None
    maps = {spec.index_map for spec in (*call.in_specs, *call.out_specs) if spec.index_map is not None}
    if not all(is_of_call(source, node, call) for node in [*maps, call.structure]):
        return None

    def edits(order: tuple[int, ...]) -> list[Edit]:
        assert isinstance(call.grid_node, ast.Tuple)
        out = _permuted(source, call.grid_node.elts, order)
        for index_map in maps:
            out += _permuted(source, index_map.args.args[:rank], order)
        for node in inside:
            axis = program_axis(source, node)
            number = node.args[0] if node.args else node.keywords[0].value
            assert axis is not None
            out.append(source.replacing(number, str(order.index(axis))))
        words = semantics_node(source, call)
        return out + (_permuted(source, words.elts, order) if words is not None else [])

    return edits


def _permuted(source: Source, nodes: list[ast.expr] | list[ast.arg], order: tuple[int, ...]) -> list[Edit]:
    return [source.replacing(nodes[i], source.code(nodes[axis])) for i, axis in enumerate(order) if i != axis]


def _semantics_edits(source: Source, call: KernelCall, words: list[str]) -> list[Edit]:
    text = "(" + ", ".join(f'"{word}"' for word in words) + ("," if len(words) == 1 else "") + ")"
    node = semantics_node(source, call)
    if node is not None:
        return [
            source.replacing(part, f'"{word}"')
            for part, word in zip(node.elts, words, strict=True)
            if isinstance(part, ast.Constant) and part.value != word
        ]
    parameters = call.keyword("compiler_params")
    if isinstance(parameters, ast.Call):
        if not parameters.keywords:
            return []
        return [source.appending(parameters, f"dimension_semantics={text}")]
    tpu = source.spelled(TPU)
    if tpu is None or parameters is not None:
        return []
    return [source.appending(call.call, f"compiler_params={tpu}.CompilerParams(dimension_semantics={text})")]


# Buffers.


def _buffer_counts(
    source: Source, call: KernelCall, spec: BlockSpec, name: str, counts: tuple[int, ...]
) -> Iterator[Rewrite]:
    pallas = source.spelled(PALLAS)
    # A block without a shape cannot be buffered.
    is_alone = [other.call for other in (*call.in_specs, *call.out_specs)].count(spec.call) == 1
    if pallas is None or spec.shape is None or not is_alone or not is_of_call(source, spec.call, call):
        return
    if any(keyword.arg == "memory_space" for keyword in spec.call.keywords):
        return
    given = [keyword.value for keyword in spec.call.keywords if keyword.arg == "pipeline_mode"]
    now = _buffer_count(source, given[0]) if given else 2
    stays = len(call.grid) - 1 not in spec.axes(len(call.grid))
    for count in counts:
        if now is None or count == now or (count == 1 and not stays):
            continue
        text = f"{pallas}.Buffered({count})"
        edit = source.replacing(given[0], text) if given else source.appending(spec.call, f"pipeline_mode={text}")
        yield from rewrite(source, f"{name}: {now} -> {count} buffers", [edit])


def _buffer_count(source: Source, node: ast.expr) -> int | None:
    """Returns the number in `pl.Buffered(2)`; None: the expression is another one."""
    if not isinstance(node, ast.Call) or source.qualified(node.func) != f"{PALLAS}.Buffered" or node.keywords:
        return None
    return whole_number(node.args[0]) if len(node.args) == 1 else None
