"""Tests of skeletons: which parts of a kernel change with its sizes, and which changes make a different kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from conftest import SMALL  # noqa: F401 - finds the steps
from jax.experimental import pallas as pl
from jax.experimental.pallas.ops.tpu.flash_attention import flash_attention

from judge.skeleton import Skeleton, uncovered
from programs import program, wire

Function = Callable[..., Any]
Sizes = tuple[int, ...]
CHECKED = ((128, 256), (256, 384))


def kernel_of(
    body: Function = lambda x: x * 2.0, index: Function = lambda i: (i, 0), block: int = 64, scale: float = 1.0
) -> Function:
    """Returns a kernel over blocks of rows."""

    def kernel(x_ref: Any, out_ref: Any) -> None:
        out_ref[...] = body(x_ref[...]) * scale

    def call(x: Any) -> Any:
        spec = pl.BlockSpec((block, x.shape[1]), index)
        grid = (x.shape[0] // block,)
        return pl.pallas_call(kernel, out_shape=x, grid=grid, in_specs=[spec], out_specs=spec)(x)

    return call


def unseen(checked: Function, timed: Function, sizes: Sizes = (1024, 2048), seen: tuple[Sizes, ...] = CHECKED) -> Any:
    """Returns the part of `timed` that no check of `checked` has covered."""

    def traced(function: Function, shape: Sizes) -> tuple[Skeleton, dict[str, Any]]:
        program.configure_jax()
        closed = jax.make_jaxpr(function)(jax.ShapeDtypeStruct(shape, jnp.float32))
        return Skeleton(wire.pack(closed)), {"inputs": [{"shape": list(shape)}]}

    skeletons, signatures = zip(*(traced(checked, shape) for shape in seen), strict=True)
    of_timed, signature = traced(timed, sizes)
    return uncovered(of_timed, list(skeletons), signature, list(signatures))


def test_sizes_are_no_difference() -> None:
    assert unseen(kernel_of(), kernel_of(block=512)) is None


def test_what_a_profiler_is_told_is_no_difference() -> None:
    def kernel(x_ref: Any, out_ref: Any) -> None:
        out_ref[...] = x_ref[...] * 2.0

    def call(x: Any) -> Any:
        size = str(x.shape[0])
        return pl.pallas_call(kernel, out_shape=x, name=f"twice_{size}", metadata={"rows": size})(x)

    assert unseen(call, call) is None


def test_operands_are_told_apart() -> None:
    def of_two(body: Function) -> Function:
        def kernel(x_ref: Any, y_ref: Any, out_ref: Any) -> None:
            out_ref[...] = body(x_ref[...], y_ref[...])

        return lambda x: pl.pallas_call(kernel, out_shape=x)(x, x)

    right, wrong = of_two(lambda x, y: x * y + y), of_two(lambda x, y: x * x + y)
    assert unseen(right, right) is None
    assert unseen(right, wrong) == (
        "'mul' in a kernel has operands of other number, dtypes, ranks or origins than in every checked case"
    )


@pytest.mark.parametrize(
    ("timed", "what"),
    [
        (kernel_of(lambda x: jnp.sin(x) * 2.0), "'sin' in a kernel is an operation that no checked case has"),
        (
            kernel_of(index=lambda i: (0, 0)),
            "'pallas_call' outside of kernels has other parameters (grid_mapping) than in every checked case",
        ),
        (kernel_of(scale=0.5), "'mul' has another constant than in every checked case"),
        (lambda x: kernel_of()(x) + 0.0, "'add' outside of kernels is an operation that no checked case has"),
    ],
)
def test_what_no_check_has_seen_is_named(timed: Function, what: str) -> None:
    assert unseen(kernel_of(), timed) == what


def test_where_an_operation_stands_is_told() -> None:
    def twice(x: Any) -> Any:
        return jax.lax.fori_loop(0, 3, lambda _, y: y * 2.0, x)

    assert unseen(kernel_of(lambda x: x * 2.0), kernel_of(twice)).startswith(
        "'scan' in a kernel is an operation that no"
    )
    inside = kernel_of(lambda x: jax.lax.fori_loop(0, 3, lambda _, y: y + x, x) * 2.0)
    assert unseen(inside, kernel_of(lambda x: jax.lax.fori_loop(0, 3, lambda _, y: y + x + jnp.sin(y), x) * 2.0)) == (
        "'sin' in a kernel, in its 'scan' is an operation that no checked case has"
    )


def test_what_all_checks_have_seen_is_missed() -> None:
    softmax = kernel_of(lambda x: jnp.exp(x) * 2.0)
    assert unseen(softmax, kernel_of()) == "'exp' is missing, which every checked case has"


def test_an_operand_that_checks_touch_whole_is_touched_whole() -> None:
    def every(step: int) -> Function:
        return kernel_of(index=lambda i: (i // step, 0))

    assert unseen(every(1), every(1)) is None
    what = "a kernel touches 25 % of an operand's blocks, but all of them in every checked case"
    assert unseen(every(1), every(4)) == what
    assert unseen(every(2), every(4)) is None


def test_a_number_may_hang_on_a_size_that_the_checks_share() -> None:
    def mean(x: Any) -> Any:
        return kernel_of(scale=1 / x.shape[1])(x)

    assert unseen(mean, mean, seen=((128, 256), (256, 256))) is None
    assert unseen(mean, mean) is None


def test_a_real_kernel_is_the_same_at_any_size() -> None:
    def attention(x: Any) -> Any:
        q = jnp.broadcast_to(x[None, None], (1, 2, *x.shape))
        return flash_attention(q, q, q, causal=True, sm_scale=0.1)

    assert unseen(attention, attention, (1024, 128), ((256, 128), (384, 128))) is None
