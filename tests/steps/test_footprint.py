"""Blocks of outputs: who may write them, and when."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from conftest import SMALL  # noqa: F401 - where the steps are
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from footprint import Overlap, check_order

SHAPE = (64, 256)
Index = Callable[..., tuple[Any, ...]]


def of_grid(grid: tuple[int, ...], index: Index, semantics: tuple[str, ...] | None = None) -> Callable[[Any], Any]:
    """A kernel that copies a block of eight rows and 128 columns at each point."""

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
    """Raises what the order of the function's kernels provokes."""
    check_order(jax.make_jaxpr(function)(jax.ShapeDtypeStruct(shape, jnp.float32)).jaxpr)


@pytest.mark.parametrize(
    ("grid", "index", "semantics"),
    [
        ((8, 2), lambda i, j: (i, j), ("parallel", "parallel")),
        ((8, 2, 4), lambda i, j, k: (i, j), ("parallel", "parallel", "arbitrary")),
        # There and back again: the block at the turn stays.
        ((8, 2), lambda i, j: (i, jnp.where(i % 2 == 0, j, 1 - j)), None),
        ((), lambda: (0, 0), None),
    ],
)
def test_blocks_that_are_written_in_one_go_are_let_be(grid: Any, index: Index, semantics: Any) -> None:
    check(of_grid(grid, index, semantics))


@pytest.mark.parametrize("grid", [(4, 8, 2), (2, 16, 1)])
def test_a_block_that_was_left_is_not_come_back_to(grid: tuple[int, ...]) -> None:
    with pytest.raises(Overlap, match=r"block \(0, 0\) of an output is left and come back to"):
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
