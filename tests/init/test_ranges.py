"""Tests of the ranges of whole numbers, from the function or from the given values; a missing range is reported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from init.dimensions import Tensor
from init.ranges import with_ranges

SIZES = {"T": 12, "V": 40, "D": 16}


def _taken_along(x: Any, ids: Any) -> Any:
    return jnp.take_along_axis(x, ids[:, None], axis=-1)[:, 0]


def _one_hot(x: Any, ids: Any) -> Any:
    return (jax.nn.one_hot(ids, x.shape[1]) * x).sum(axis=-1)


def _compared(x: Any, ids: Any) -> Any:
    return jnp.where(ids[:, None] == jnp.arange(x.shape[1])[None], x, 0).sum(axis=-1)


def _in_a_loop(x: Any, ids: Any) -> Any:
    return jax.lax.map(lambda one: jax.lax.dynamic_index_in_dim(x, one, 1).sum(), ids)


def _scattered(x: Any, ids: Any) -> Any:
    return jnp.zeros(x.shape[1]).at[ids].add(1.0)


def _scaled(x: Any, ids: Any) -> Any:
    return x * ids[:, None]


@pytest.mark.parametrize(
    ("function", "given", "said"),
    [
        (_taken_along, None, "0, V - 1"),
        (lambda x, ids: x.T[ids], None, "0, V - 1"),
        (_one_hot, None, "0, V - 1"),
        (_compared, None, "0, V - 1"),
        (_in_a_loop, None, "0, V - 1"),
        (_scattered, None, "0, V - 1"),
        (lambda x, ids: x[:, :30][:, ids], None, "0, 29"),
        (lambda x, ids: jax.lax.dynamic_slice(x, (0, ids[0]), (x.shape[0], 16)), None, "0, V - 16"),
        (_scaled, np.arange(12) - 3, "-3, 8"),
        (_scaled, np.arange(12) + 28, "0, V - 1"),
    ],
)
def test_the_range_is_told_by_the_function_or_by_the_values(
    function: Callable[..., Any], given: Any, said: str
) -> None:
    inputs = (Tensor("x", "float32", ("T", "V")), Tensor("ids", "int32", ("T",)))
    notices: list[str] = []
    x, ids = with_ranges(function, inputs, SIZES, [None, given], notices)
    assert (x.range, ids.range) == ("", said)
    assert not notices


def test_an_axis_that_two_dimensions_may_be_is_told() -> None:
    inputs = (Tensor("x", "float32", ("T", "V")), Tensor("ids", "int32", ("T",)))
    notices: list[str] = []
    _, ids = with_ranges(lambda x, ids: x[:, ids], inputs, {"T": 40, "V": 40}, [None, None], notices)
    assert ids.range == "0, T - 1"
    assert notices == ["'ids' indexes an axis that T or V may be: its range in spec.yaml says T"]


def test_what_nothing_says_is_told() -> None:
    inputs = (Tensor("x", "float32", ("T", "V")), Tensor("ids", "int32", ("T",)))
    notices: list[str] = []
    _, ids = with_ranges(_scaled, inputs, SIZES, [None, jax.ShapeDtypeStruct((12,), jnp.int32)], notices)
    assert ids.range == "0, 7"
    assert notices == ["the values of 'ids' are unknown, so they are drawn from [0, 7]: correct its range in spec.yaml"]
    known = (Tensor("x", "float32", ("T", "V")), Tensor("ids", "int32", ("T",), "1, 2"))
    assert with_ranges(_scaled, known, SIZES, [None, None], notices)[1].range == "1, 2"
