"""Tests of parts of a program's outputs: they equal those of the whole program, and the rest is not computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src import core
from jax.experimental import pallas as pl

from interpreter import part_rules, parts
from interpreter.regions import Region, of_axis, take, union, whole
from judge import places

ARRAYS = np.random.default_rng(7)


def _array(*shape: int) -> Any:
    return ARRAYS.standard_normal(shape).astype(np.float32)


def _softmax(x: Any) -> Any:
    return jax.nn.softmax(jnp.where(jnp.arange(x.shape[0])[:, None] >= jnp.arange(x.shape[1]), x, -jnp.inf), axis=1)


def _mapped(x: Any, y: Any) -> Any:
    return jax.lax.map(lambda row: jnp.tanh(row @ y) + jnp.arange(y.shape[1]), x)


def _carried(x: Any) -> Any:
    return jax.lax.scan(lambda total, row: (total + row, total * row), jnp.zeros(x.shape[1]), x)


PROGRAMS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "a product of matrices": (lambda x, y: x @ y, [_array(24, 16), _array(16, 40)]),
    "a batch of products": (lambda x, y: jnp.einsum("bihd,bjhd->bhij", x, y), [_array(2, 9, 3, 8), _array(2, 7, 3, 8)]),
    "a causal softmax": (_softmax, [_array(24, 24)]),
    "heads that are split": (lambda x: x.reshape(5, 4, 6, 3).transpose(2, 0, 1, 3), [_array(20, 18)]),
    "heads that are joined": (lambda x: (2 * x).reshape(20, 18), [_array(5, 4, 6, 3)]),
    "a shape that shares no axis": (lambda x: x.reshape(15, 8), [_array(10, 12)]),
    "two halves": (lambda x, y: jnp.concatenate([x, y], axis=1)[:, ::-1], [_array(6, 11), _array(6, 9)]),
    "a slice with strides": (lambda x: x[1:20:3, 2:], [_array(24, 12)]),
    "running sums": (lambda x: jnp.cumsum(x, axis=1) * jnp.max(x, axis=0), [_array(12, 9)]),
    "one of each row": (lambda x: jnp.take_along_axis(x, jnp.argmax(x, 1)[:, None], 1), [_array(30, 8)]),
    "turns that carry nothing": (_mapped, [_array(12, 5), _array(5, 20)]),
    "turns that carry a sum": (_carried, [_array(12, 10)]),
    "gradients": (jax.grad(lambda x: (_softmax(x) ** 2).sum()), [_array(20, 20)]),
    "no rule of its own": (lambda x: jnp.sort(x, axis=0) + x.mean(), [_array(16, 6)]),
}


def _drawn(shape: tuple[int, ...], generator: np.random.Generator) -> Region:
    return tuple(of_axis(np.sort(generator.choice(n, max(1, n // 3), replace=False)), n) for n in shape)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_part_is_what_the_whole_has_there(name: str) -> None:
    function, arguments = PROGRAMS[name]
    closed = jax.make_jaxpr(function)(*arguments)
    outputs = [np.asarray(one) for one in jax.tree_util.tree_leaves(function(*arguments))]
    generator = np.random.default_rng(3)
    for _ in range(3):
        asked = [_drawn(one.shape, generator) for one in outputs]
        for got, one, region in zip(parts.evaluate(closed, arguments, asked), outputs, asked, strict=True):
            wanted = take(one, whole(one.shape), region, one.shape)
            np.testing.assert_allclose(np.asarray(got), np.asarray(wanted), rtol=1e-5, atol=1e-5)


def test_a_part_of_a_product_needs_its_rows_and_columns_only() -> None:
    shapes = [jax.ShapeDtypeStruct((4096, 512), jnp.float32), jax.ShapeDtypeStruct((512, 8192), jnp.float32)]
    (equation,) = jax.make_jaxpr(jnp.matmul)(*shapes).jaxpr.eqns
    rows, columns = np.arange(5, 9), np.array([1, 7000])
    left, right = part_rules.rule_of(equation).needs(equation, [(rows, columns)])
    assert left is not None
    assert right is not None
    assert (left[0] is rows, left[1], right[0], right[1] is columns) == (True, None, None, True)


def test_a_union_has_both() -> None:
    one, other = (np.array([1, 2]), None), (np.array([2, 5]), np.array([0]))
    both = union(one, other, (6, 4))
    assert both is not None
    assert both[0] is not None
    assert (both[0].tolist(), both[1]) == ([1, 2, 5], None)
    assert union((np.array([0, 1]),), (np.array([2]),), (3,)) == (None,)


def test_places_have_both_ends_and_are_other_ones_for_another_program() -> None:
    for shape in ([8192, 8192], [2, 4096, 16, 128], [300], [3, 5]):
        for (group,) in places.groups_of([shape], "secret"):
            region = places.region_of(group, shape)
            for axis, (indices, size) in enumerate(zip(region, shape, strict=True)):
                is_long = axis == len(shape) - 1 or size >= 256
                assert indices is None or not is_long or {0, size - 1} <= set(indices.tolist())
            blocks = {str(places.block_of(group, shape, number)) for number in range(200)}
            assert len(blocks) == np.prod([len(axis) for axis in group])
    assert str(places.groups_of([[8192, 8192]], "a")) != str(places.groups_of([[8192, 8192]], "b"))


@pytest.mark.parametrize("reverse", [False, True])
def test_a_loop_with_kernels_in_it_is_unrolled(reverse: bool) -> None:
    def twice(x: Any) -> Any:
        def body(x_ref: Any, out_ref: Any) -> None:
            out_ref[...] = x_ref[...] * 2

        return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), interpret=True)(x)

    def program(x: Any, y: Any) -> Any:
        return jax.lax.scan(lambda c, row: (twice(c) + row * y, c - row), y, x, reverse=reverse)

    given = [_array(5, 8), _array(8)]
    closed = jax.make_jaxpr(program)(*given)
    flat = parts.flattened(closed)
    names = [equation.primitive.name for equation in flat.jaxpr.eqns]
    assert names.count("pallas_call") == len(given[0])
    assert "scan" not in names
    for got, right in zip(core.jaxpr_as_fun(flat)(*given), core.jaxpr_as_fun(closed)(*given), strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-6)
