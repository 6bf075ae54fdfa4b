"""Tests of blocks of outputs: which steps may write them, and when."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from conftest import SMALL  # noqa: F401 - finds the steps
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from interpreter.footprint import Beyond, Blocks, Overlap, check_order, footprints

SHAPE = (64, 256)
Index = Callable[..., tuple[Any, ...]]


def of_grid(grid: tuple[int, ...], index: Index, semantics: tuple[str, ...] | None = None) -> Callable[[Any], Any]:
    """Returns a kernel that copies a block of eight rows and 128 columns at each point."""

    def kernel(x_ref: Any, out_ref: Any) -> None:
        out_ref[...] = x_ref[...]

    def call(x: Any) -> Any:
        spec = pl.BlockSpec((8, 128), index)
        options = pltpu.CompilerParams(dimension_semantics=semantics)
        return pl.pallas_call(kernel, out_shape=x, grid=grid, in_specs=[spec], out_specs=spec, compiler_params=options)(
            x
        )

    return call


def check(function: Callable[[Any], Any], shape: tuple[int, ...] = SHAPE) -> None:
    """Checks the order of the function's kernels. Raises an error for a finding."""
    check_order(jax.make_jaxpr(function)(jax.ShapeDtypeStruct(shape, jnp.float32)).jaxpr)


@pytest.mark.parametrize(
    ("grid", "index", "semantics"),
    [
        ((8, 2), lambda i, j: (i, j), ("parallel", "parallel")),
        ((8, 2, 4), lambda i, j, k: (i, j), ("parallel", "parallel", "arbitrary")),
        # The second index goes forward and back again, and stays at each turn.
        ((8, 2), lambda i, j: (i, jnp.where(i % 2 == 0, j, 1 - j)), None),
        ((), lambda: (0, 0), None),
    ],
)
def test_blocks_that_are_written_in_one_go_are_let_be(grid: Any, index: Index, semantics: Any) -> None:
    check(of_grid(grid, index, semantics))


@pytest.mark.parametrize("grid", [(4, 8, 2), (2, 16, 1)])
def test_a_block_that_was_left_is_not_come_back_to(grid: tuple[int, ...]) -> None:
    with pytest.raises(Overlap, match=r"block \(0, 0\) of an output is left and written again"):
        check(of_grid(grid, lambda k, i, j: (i, j)))


@pytest.mark.parametrize("kind", ["parallel", "core_parallel"])
def test_parallel_steps_do_not_write_the_same_block(kind: str) -> None:
    with pytest.raises(Overlap, match="written by steps that are said to be parallel"):
        check(of_grid((8, 2, 4), lambda i, j, k: (i, j), ("parallel", "arbitrary", kind)))


@pytest.mark.parametrize(
    ("semantics", "is_wrong"), [(("arbitrary", "parallel"), True), (("parallel", "arbitrary"), False)]
)
def test_what_vmap_adds_is_before_what_was_said(semantics: tuple[str, ...], is_wrong: bool) -> None:
    mapped = jax.vmap(of_grid((8, 4), lambda i, k: (i, 0), semantics))
    if is_wrong:
        with pytest.raises(Overlap):
            check(mapped, (3, *SHAPE))
    else:
        check(mapped, (3, *SHAPE))


# A grid with too many points to visit all, but with few points along the axes that each index of a map depends on.
LONG = (64, 512, 512)


def shares(grid: tuple[int, ...], *maps: Index) -> list[float]:
    """Returns the shares of an array that a kernel reads, by its inputs: one for each map, in blocks of 8 rows."""

    def call(x: Any) -> Any:
        def kernel(*refs: Any) -> None:
            refs[-1][...] = refs[0][...]

        specs = [pl.BlockSpec((8, 128), one) for one in maps]
        out = jax.ShapeDtypeStruct((8 * grid[0], 128), jnp.float32)
        out_spec = pl.BlockSpec((8, 128), lambda i, *_: (i, 0))
        return pl.pallas_call(kernel, out_shape=out, grid=grid, in_specs=specs, out_specs=out_spec)(*[x] * len(maps))

    traced = jax.make_jaxpr(call)(jax.ShapeDtypeStruct((8 * 512, 128 * 64), jnp.float32))
    found = footprints(traced.jaxpr)
    return [found[f"/pallas_call {number}"] for number in range(len(maps))]


def test_which_blocks_are_touched_is_seen_of_long_grids() -> None:
    assert shares(LONG, lambda h, i, j: (j, h)) == [1]
    assert shares(LONG, lambda h, i, j: (jnp.minimum(i, j), h // 4)) == [1 / 4]
    assert shares(LONG, lambda h, i, j: (jnp.minimum(j, 255), h)) == [1 / 2]
    # One input reads half of an array, and another reads a different quarter. Both get the share of both parts.
    halves = (lambda h, i, j: (j // 2, h)), (lambda h, i, j: (256 + j // 2, h // 2))
    assert shares(LONG, *halves) == [3 / 4, 3 / 4]


def test_what_depends_on_memory_is_not_seen_and_all_else_is() -> None:
    def call(table: Any, x: Any) -> Any:
        def kernel(_: Any, x_ref: Any, y_ref: Any, out_ref: Any) -> None:
            out_ref[...] = x_ref[...] + y_ref[...]

        spec = pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(8, 2),
            in_specs=[
                pl.BlockSpec((8, 128), lambda i, j, table: (table[i], j)),
                pl.BlockSpec((8, 128), lambda i, j, table: (i // 2, j)),
            ],
            out_specs=pl.BlockSpec((8, 128), lambda i, j, table: (i // 2, j)),
        )
        return pl.pallas_call(kernel, out_shape=x, grid_spec=spec)(table, x, x * 2)

    traced = jax.make_jaxpr(call)(jax.ShapeDtypeStruct((8,), jnp.int32), jax.ShapeDtypeStruct(SHAPE, jnp.float32))
    assert footprints(traced.jaxpr) == {"/pallas_call 1": 1 / 2, "/pallas_call 2": 1 / 2}
    with pytest.raises(Overlap, match=r"block \(0, 0\) of an output is left and written again"):
        check_order(traced.jaxpr)


@pytest.mark.parametrize(
    ("index", "semantics", "what"),
    [
        (lambda h, i, j: (i, h), ("parallel", "parallel", "arbitrary"), ""),
        (lambda h, i, j: (i, h), ("parallel", "parallel", "parallel"), "said to be parallel"),
        (lambda h, i, j: (i // 2, h), ("parallel", "arbitrary", "arbitrary"), ""),
        (lambda h, i, j: (i // 2, h), ("parallel", "parallel", "arbitrary"), "said to be parallel"),
        (lambda h, i, j: (i % 256, h), None, r"block \(0, 0\) of an output is left and written again"),
        (lambda h, i, j: (j, h), None, r"block \(0, 0\) of an output is left and written again"),
    ],
)
def test_the_order_of_writes_is_seen_of_long_grids(index: Index, semantics: Any, what: str) -> None:
    function, shape = of_grid(LONG, index, semantics), (8 * 512, 128 * 64)
    if not what:
        check(function, shape)
    else:
        with pytest.raises(Overlap, match=what):
            check(function, shape)


def test_an_output_that_nobody_reads_is_memory_to_work_in() -> None:
    def call(x: Any, is_read: bool) -> Any:
        def kernel(x_ref: Any, out_ref: Any, work_ref: Any) -> None:
            work_ref[...] = 2 * x_ref[...]
            out_ref[...] = work_ref[...]

        spec = pl.BlockSpec((8, 128), lambda i, j: (i, j))
        out, work = pl.pallas_call(
            kernel,
            out_shape=(x, jax.ShapeDtypeStruct((16, 128), x.dtype)),
            grid=(8, 2),
            in_specs=[spec],
            out_specs=(spec, pl.BlockSpec((8, 128), lambda i, j: (0, 0))),
            compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel")),
        )(x)
        return (out, work) if is_read else out

    check(lambda x: call(x, False))
    with pytest.raises(Overlap, match="said to be parallel"):
        check(lambda x: call(x, True))


def _blocks(body: Any, x: Any, grid: tuple[int, ...], read: Any, written: Any, **more: Any) -> Blocks:
    """Returns the blocks of a kernel with one input and one output."""
    call = pl.pallas_call(body, out_shape=x, grid=grid, in_specs=[read], out_specs=written, **more)
    (kernel,) = jax.make_jaxpr(call)(x).jaxpr.eqns
    return Blocks(kernel.params, grid, [])


def _copies(x_ref: Any, out_ref: Any) -> None:
    out_ref[...] = x_ref[...]


def _rows(index: Index, sizes: Any = (8, 128)) -> Any:
    return pl.BlockSpec(sizes, index)


ARRAY = jax.ShapeDtypeStruct((64, 128), jnp.float32)
ALIASED = {"input_output_aliases": {0: 0}}
PARALLEL = {"compiler_params": pltpu.CompilerParams(dimension_semantics=("parallel", "arbitrary"))}
ELEMENTS = (pl.Element(16), pl.Element(128))


@pytest.mark.parametrize(
    ("grid", "read", "written", "more"),
    [
        ((8,), _rows(lambda i: (i, 0)), _rows(lambda i: (i, 0)), {}),
        # The kernel works in place, even if a block stays for some steps, or is read before it is written.
        ((8, 2), _rows(lambda i, k: (i, 0)), _rows(lambda i, k: (i, 0)), ALIASED),
        ((7,), _rows(lambda i: (i + 1, 0)), _rows(lambda i: (i, 0)), ALIASED),
        ((8, 2), _rows(lambda i, k: (i, 0)), _rows(lambda i, k: (i, 0)), PARALLEL),
        ((4,), _rows(lambda i: (16 * i, 0), ELEMENTS), _rows(lambda i: (16 * i, 0), ELEMENTS), {}),
    ],
)
def test_steps_that_are_in_order_are_let_be(grid: Any, read: Any, written: Any, more: Any) -> None:
    blocks = _blocks(_copies, ARRAY, grid, read, written, **more)
    blocks.check_ends()
    blocks.check_order([True])


@pytest.mark.parametrize(
    ("grid", "read", "written", "more", "said"),
    [
        ((8,), _rows(lambda i: (7 - i, 0)), _rows(lambda i: (i, 0)), ALIASED, "reads what an earlier step has written"),
        ((4,), _rows(lambda i: (7 - i, 0)), _rows(lambda i: (i, 0), (16, 128)), ALIASED, "reads what an earlier"),
        ((8,), _rows(lambda i: (i, 0)), pl.BlockSpec(memory_space=pl.ANY), ALIASED, "to which it copies by itself"),
        ((2, 8), _rows(lambda k, i: (i, 0)), _rows(lambda k, i: (i, 0)), {}, "left and written again"),
        ((2, 4), _rows(lambda k, i: (i, 0)), _rows(lambda k, i: (16 * i, 0), ELEMENTS), {}, "left and written again"),
        ((2, 8), _rows(lambda p, i: (i, 0)), _rows(lambda p, i: (0, 0)), PARALLEL, "differ in the parallel axis 0"),
        ((7,), _rows(lambda i: (i, 0)), _rows(lambda i: (8 * i, 0), ELEMENTS), {}, "two blocks of output 0 overlap"),
    ],
)
def test_what_a_step_reads_or_writes_out_of_order_is_told(
    grid: Any, read: Any, written: Any, more: Any, said: str
) -> None:
    def writes_nothing(x_ref: Any, out_ref: Any) -> None:
        del x_ref, out_ref

    blocks = _blocks(writes_nothing, ARRAY, grid, read, written, **more)
    with pytest.raises(Overlap, match=said):
        blocks.check_order([True])
    if not more:
        # An output that nobody reads is working memory, so the order of its blocks does not matter.
        blocks.check_order([False])


SINGLE = pl.Buffered(1)


@pytest.mark.parametrize(
    ("distance", "more", "said"),
    [
        (4, {}, ""),
        (3, {}, "reads what an earlier step has written"),
        (3, {"read": SINGLE}, ""),
        (3, {"written": SINGLE}, ""),
        (2, {"read": SINGLE}, "moved on by 2 blocks, and then the input by 1"),
        (2, {"read": SINGLE, "written": SINGLE}, ""),
        (1, {"read": SINGLE, "written": SINGLE}, "reads what an earlier step"),
        (4, {"semantics": ("parallel",)}, "no axis is parallel"),
    ],
)
def test_what_was_written_long_before_may_be_read(distance: int, more: dict[str, Any], said: str) -> None:
    """Lets a step read the block written `distance` steps before. Two buffers are free a step later than one."""
    count = 16
    spec = {
        name: pl.BlockSpec((8, 128), index, pipeline_mode=more.get(name))
        for name, index in (
            ("read", lambda i: (jnp.where(i < distance, count + i, i - distance), 0)),
            ("written", lambda i: (i, 0)),
        )
    }
    options = pltpu.CompilerParams(dimension_semantics=more.get("semantics"))
    array = jax.ShapeDtypeStruct((8 * (count + distance), 128), jnp.float32)
    blocks = _blocks(_copies, array, (count,), spec["read"], spec["written"], compiler_params=options, **ALIASED)
    with pytest.raises(Overlap, match=said) if said else contextlib.nullcontext():
        blocks.check_order([True])
    assert blocks.reads_what_it_wrote


def test_a_block_beyond_the_end_is_told_with_its_step() -> None:
    blocks = _blocks(_copies, ARRAY, (9,), _rows(lambda i: (i, 0)), _rows(lambda i: (jnp.minimum(i, 7), 0)))
    with pytest.raises(Beyond, match=r"input 0 begins at \[64, 0\], beyond .* \[64, 128\], at step \[8\] of the grid"):
        blocks.check_ends()
