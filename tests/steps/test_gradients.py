"""Tests of gradients at some places: they equal those of the whole function, whatever the number of pieces."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from interpreter import gradients
from interpreter.regions import Region, take, whole
from steps import expect

_ROWS = np.array([0, 1, 2, 30, 31])


def _attention(q: Any, k: Any, v: Any, ids: Any) -> Any:
    """Computes attention of 32 queries, with row sums as a second output."""
    scores = jnp.where(ids[:, None] >= ids[None, :], q @ k.T, -1e9)
    return jax.nn.softmax(scores, axis=-1) @ v, jnp.sum(scores > 0, axis=1).astype(q.dtype) * q[:, 0]


def _scan(q: Any, k: Any, v: Any, ids: Any) -> Any:
    """Computes a recurrence over its rows. No piece of the recurrence needs less than the whole."""
    _, out = jax.lax.scan(lambda h, each: (0.5 * h + each[0] * each[1], h), v[0], (q, k))
    return out + v, q[:, 0] * ids


def test_an_output_without_axes_adds_its_gradients_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradients, "_LARGEST", 1500)

    def with_a_loss(q: Any, k: Any) -> Any:
        return jax.nn.softmax(q @ k.T, axis=-1), jnp.sum(q * q)

    draw = np.random.default_rng(1)
    q, k = (draw.standard_normal((32, 8), dtype=np.float32) for _ in range(2))
    cotangents = (draw.standard_normal((32, 32), dtype=np.float32), np.float32(3))
    found = gradients.gradients_at(with_a_loss, (q, k), (0, 1), cotangents, [(None, None), (None, None)])
    _, pull_back = jax.vjp(with_a_loss, q, k)
    for got, right in zip(found, pull_back(cotangents), strict=True):
        np.testing.assert_allclose(got, np.asarray(right), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("function", [_attention, _scan])
@pytest.mark.parametrize("largest", [2**29, 1500])
def test_gradients_in_pieces_are_those_of_the_whole(
    function: Any, largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gradients, "_LARGEST", largest)
    draw = np.random.default_rng(1)
    q, k, v, cotangent = (draw.standard_normal((32, 8), dtype=np.float32) for _ in range(4))
    ids, rest = np.arange(32, dtype=np.int32) // 2, draw.standard_normal(32, dtype=np.float32)
    regions: list[Region] = [(_ROWS, None), (_ROWS, np.array([1, 5])), (None, None)]
    found = gradients.gradients_at(function, (q, k, v, ids), (0, 1, 2), (cotangent, rest), regions)
    _, pull_back = jax.vjp(lambda *some: function(*some, ids), q, k, v)
    for got, right, region in zip(found, pull_back((cotangent, rest)), regions, strict=True):
        wanted = take(np.asarray(right), whole(right.shape), region, right.shape)
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)


def test_pieces_are_small_where_that_saves_memory_and_repeats_little() -> None:
    large, gib = gradients._LARGEST, 2**30
    # Each piece needs its share of the largest value, and of the other values.
    assert gradients.count_of_pieces(lambda count: (8 * large // count, 40 * gib // count)) == 8
    assert gradients.count_of_pieces(lambda _: (large, 40 * gib)) == 1
    # Every piece of a recurrence needs all of the largest value.
    assert gradients.count_of_pieces(lambda _: (8 * large, 40 * gib)) == 1
    # The part that all pieces share is small.
    assert gradients.count_of_pieces(lambda count: (8 * large // count, 40 * gib // count + gib)) == 8


@jax.custom_vjp
def _straight_through(x: Any) -> Any:
    return jnp.round(x)


_straight_through.defvjp(lambda x: (jnp.round(x), None), lambda _, cotangent: (cotangent,))


@jax.custom_jvp
def _doubled(x: Any) -> Any:
    return x


_doubled.defjvp(lambda primals, tangents: (primals[0], 2 * tangents[0]))


@pytest.mark.parametrize("function", [_straight_through, _doubled])
def test_a_derivative_of_its_own_is_kept(function: Any) -> None:
    def inside(x: Any) -> Any:
        return jax.jit(lambda y: jnp.sum(function(y), axis=1, keepdims=True) * y)(x)

    x = np.random.default_rng(1).standard_normal((32, 8), dtype=np.float32)
    assert gradients.has_own_rule(jax.make_jaxpr(inside)(x).jaxpr)
    signature = {
        "inputs": [{"name": "x", "shape": [32, 8], "dtype": "float32"}] * 2,
        "outputs": [{"name": name, "shape": [32, 8], "dtype": "float32"} for name in ("out", "d_x")],
        "gradients": [0],
    }
    cotangent = np.ones((32, 8), np.float32)
    _, found = expect._at(inside, [x, cotangent], signature, [(_ROWS, None)] * 2)
    _, pull_back = jax.vjp(inside, x)
    np.testing.assert_allclose(found, np.asarray(pull_back(cotangent)[0])[_ROWS], rtol=1e-5)


def test_functions_of_jax_are_derived_in_pieces() -> None:
    x = np.ones((4, 4), np.float32)
    for function in (jax.nn.relu, jax.nn.softmax, jax.nn.gelu, jax.nn.logsumexp):
        assert not gradients.has_own_rule(jax.make_jaxpr(function)(x).jaxpr)
