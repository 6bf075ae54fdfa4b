"""Tests of programs that run operation by operation: their results equal compiled ones, and kernels are handed over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import SMALL  # noqa: F401 - finds the steps
from jax.experimental import pallas as pl

from judge import outer

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def twice(x: Any) -> Any:
    def kernel(x_ref: Any, out_ref: Any) -> None:
        out_ref[...] = x_ref[...] * 2

    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), interpret=True)(x)


def in_scan(x: Any, reverse: bool = False) -> Any:
    return jax.lax.scan(lambda carry, row: (carry + twice(row), carry - row), x[0], x, reverse=reverse)


def in_no_turn(x: Any) -> Any:
    return jax.lax.scan(lambda carry, row: (twice(carry), row), x, x[:0])


def in_while(x: Any) -> Any:
    return jax.lax.while_loop(lambda y: y.sum() < 1000, twice, x)


def in_counted_loop(x: Any) -> Any:
    return jax.lax.fori_loop(0, x[0, 1].astype(jnp.int32) + 2, lambda i, y: twice(y) + i, x)


def in_branch(x: Any) -> Any:
    return jax.lax.switch(x[2, 3].astype(jnp.int32), [lambda y: y, lambda y: y + 1, twice], x)


def in_jit(x: Any) -> Any:
    return jax.jit(lambda y, z: (z, twice(y)))(x, x + 1)


def in_checkpoint(x: Any) -> Any:
    return jax.checkpoint(twice)(jnp.sort(x))


def in_own_derivative(x: Any) -> Any:
    function = jax.custom_vjp(twice)
    function.defvjp(lambda y: (twice(y), y), lambda saved, given: (given,))
    return function(x)


@pytest.mark.parametrize(
    ("function", "kernels"),
    [
        (in_scan, 3),
        (lambda x: in_scan(x, reverse=True), 3),
        (in_no_turn, 0),
        (in_while, 4),
        (in_counted_loop, 3),
        (in_branch, 1),
        (in_jit, 1),
        (in_checkpoint, 1),
        (in_own_derivative, 1),
    ],
)
def test_every_kernel_is_handed_over(function: Callable[..., Any], kernels: int) -> None:
    seen = []

    def run_kernel(equation: Any, operands: list[Any]) -> list[Any]:
        seen.append(equation.primitive.name)
        return [2 * operand for operand in operands]

    got = outer.evaluate(jax.make_jaxpr(function)(X), [jnp.asarray(X)], run_kernel)
    expected = jax.tree_util.tree_leaves(jax.jit(function)(X))
    assert seen == ["pallas_call"] * kernels
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_array_equal(a, b)
        assert jnp.asarray(a).dtype == b.dtype


def test_what_is_not_known_to_hold_a_kernel_is_said() -> None:
    def solved(x: Any) -> Any:
        return jax.lax.custom_linear_solve(lambda y: 2 * y, x, lambda matvec, y: twice(y))

    with pytest.raises(NotImplementedError, match="a kernel inside of 'custom_linear_solve'"):
        outer.evaluate(jax.make_jaxpr(solved)(X), [jnp.asarray(X)], lambda equation, operands: operands)
