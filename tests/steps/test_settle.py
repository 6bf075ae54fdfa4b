"""Tests that the code around kernels is the same on every device, and that promises are removed from the code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import conftest  # noqa: F401 - finds the steps
import jax
import jax.numpy as jnp
import pytest
from jax._src import core
from jax._src.lax import slicing

from programs import program, wire

F32, BF16 = jnp.float32, jnp.bfloat16
WIDE = jax.ShapeDtypeStruct((8, 8), F32)
PLACES = jax.ShapeDtypeStruct((4,), jnp.int32)


def _settled(function: Callable[..., Any], *arguments: Any) -> core.ClosedJaxpr:
    return wire.unpack(wire.pack(jax.make_jaxpr(function)(*arguments)))


def _params(closed: core.ClosedJaxpr, name: str) -> list[dict[str, Any]]:
    """Returns the parameters of all equations of a primitive, nested ones too."""
    found: list[dict[str, Any]] = []

    def walk(jaxpr: core.Jaxpr) -> None:
        for equation in jaxpr.eqns:
            if equation.primitive.name == name:
                found.append(equation.params)
            for inner in core.jaxprs_in_params(equation.params):
                walk(inner)

    walk(closed.jaxpr)
    return found


def _text(closed: core.ClosedJaxpr, platform: str) -> str:
    arguments = [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in closed.in_avals]
    with program.opened(program.export_program(closed, arguments, platform)) as module:
        return str(module)


@pytest.mark.parametrize("asked", [None, "default", "high", jax.lax.DotAlgorithmPreset.BF16_BF16_F32])
def test_products_of_float32_are_exact(asked: Any) -> None:
    if isinstance(asked, jax.lax.DotAlgorithmPreset):
        with pytest.raises(wire.Unsendable):
            _settled(lambda x: jax.lax.dot(x, x, precision=asked), WIDE)
        return
    closed = _settled(lambda x: jax.lax.fori_loop(0, 2, lambda _, y: jnp.dot(y, y, precision=asked), x), WIDE)
    exact = jax.lax.Precision.HIGHEST
    assert [one["precision"] for one in _params(closed, "dot_general")] == [(exact, exact)]
    for platform in ("cpu", "tpu"):
        assert "HIGHEST" in _text(closed, platform)
        assert "DEFAULT" not in _text(closed, platform)


def test_convolutions_and_ragged_products_are_exact() -> None:
    def convolved(x: Any, y: Any) -> Any:
        return jax.lax.conv(x, y, (1, 1), "SAME")

    def ragged(x: Any, y: Any, sizes: Any) -> Any:
        return jax.lax.ragged_dot(x, y, sizes)

    picture, weights = (jax.ShapeDtypeStruct(shape, F32) for shape in ((1, 2, 8, 8), (3, 2, 3, 3)))
    groups = jax.ShapeDtypeStruct((4, 8, 8), F32)
    for closed, name in (
        (_settled(convolved, picture, weights), "conv_general_dilated"),
        (_settled(ragged, WIDE, groups, PLACES), "ragged_dot_general"),
    ):
        assert [set(one["precision"]) for one in _params(closed, name)] == [{jax.lax.Precision.HIGHEST}]
        assert "HIGHEST" in _text(closed, "tpu")


def test_products_of_bfloat16_are_left() -> None:
    narrow = jax.ShapeDtypeStruct((8, 8), BF16)
    closed = _settled(lambda x: jnp.dot(x, x, preferred_element_type=F32), narrow)
    assert [one["precision"] for one in _params(closed, "dot_general")] == [None]


def test_a_kernels_products_are_its_own() -> None:
    def kernel(x: Any, out: Any) -> None:
        out[...] = jnp.dot(x[...], x[...])

    closed = _settled(jax.experimental.pallas.pallas_call(kernel, out_shape=WIDE), WIDE)
    assert [one["precision"] for one in _params(closed, "dot_general")] == [None]


def _promising(x: Any, at: Any) -> Any:
    more = {"indices_are_sorted": True, "unique_indices": True, "mode": "promise_in_bounds"}
    return x.at[at].get(**more), x.at[at].set(1.0, **more), x.at[at].add(1.0, **more)


def test_indices_are_promised_to_be_nothing() -> None:
    closed = _settled(_promising, WIDE, PLACES)
    modes = slicing.GatherScatterMode
    for name, mode in (("gather", modes.CLIP), ("scatter", modes.FILL_OR_DROP), ("scatter-add", modes.FILL_OR_DROP)):
        (params,) = _params(closed, name)
        assert (params["indices_are_sorted"], params["unique_indices"], params["mode"]) == (False, False, mode)
    for platform in ("cpu", "tpu"):
        assert "indices_are_sorted = true" not in _text(closed, platform)
        assert "unique_indices = true" not in _text(closed, platform)


def test_equal_keys_keep_their_order() -> None:
    closed = _settled(lambda x: jax.lax.sort((x, x), num_keys=1, is_stable=False), WIDE)
    assert [one["is_stable"] for one in _params(closed, "sort")] == [True]


def test_a_function_that_is_called_twice_is_one() -> None:
    squared = jax.jit(lambda x: x @ x)
    closed = _settled(lambda x: squared(squared(x)), WIDE)
    first, second = _params(closed, "jit")
    assert first["jaxpr"] is second["jaxpr"]
