"""Tests of the operands that a kernel's control flow depends on, found in programs without running their kernels."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from judge import judge_inputs, operands
from programs import wire

SHAPE = jax.ShapeDtypeStruct((64, 128), jnp.float32)


def _counted(table: Any, x: Any, name: str = "k") -> Any:
    """Calls a kernel that has a prefetched table."""

    def body(s: Any, x: Any, o: Any) -> None:
        o[...] = x[...] * s[0]

    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(8,),
        in_specs=[pl.BlockSpec((8, 128), lambda i, s: (i, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i, s: (i, 0)),
    )
    return pl.pallas_call(body, grid_spec=spec, out_shape=SHAPE, name=name)(table, x)


def _given(program: Any, *arguments: Any) -> dict[str, Any]:
    packed = wire.pack(jax.make_jaxpr(program)(*arguments))
    signature = {
        "inputs": [
            {"name": f"x{i}", "shape": list(one.shape), "dtype": one.dtype.name, "range": [3, 3]}
            for i, one in enumerate(arguments)
        ]
    }
    return operands.operands_of(packed, signature)


def test_tables_come_from_whole_inputs_and_what_is_made_of_them() -> None:
    def program(sizes: Any, x: Any) -> Any:
        return _counted(jnp.cumsum(sizes), x)

    given = _given(program, jax.ShapeDtypeStruct((4,), jnp.int32), SHAPE)
    assert given == {"kernels": {"": [{"times": 1, "operands": {"0": [3, 6, 9, 12]}}]}}


def test_what_comes_of_floats_or_kernels_is_not_known() -> None:
    def program(x: Any) -> Any:
        once = _counted(jnp.arange(4, dtype=jnp.int32), x)
        return _counted(once[0, :4].astype(jnp.int32), x)

    given = _given(program, SHAPE)["kernels"]
    shapes = ["s32[4]", "f32[64,128]"]
    assert given["kernel_0"] == [{"times": 1, "operands": {"0": [0, 1, 2, 3]}, "shapes": shapes}]
    assert given["kernel_1"] == [{"times": 1, "operands": {}, "shapes": shapes}]


def test_whole_inputs_are_drawn_as_the_judge_draws_them_and_no_others() -> None:
    signature = {
        "inputs": [
            {"name": "sizes", "shape": [64], "dtype": "int32", "range": [2, 90]},
            {"name": "x", "shape": [8, 128], "dtype": "bfloat16"},
            {"name": "mask", "shape": [5, 9], "dtype": "bool"},
        ]
    }
    sizes, x, mask = judge_inputs.draw_whole(signature)
    every = judge_inputs.draw(signature)
    assert sizes is not None
    assert mask is not None
    assert (sizes.tobytes(), x, mask.tobytes()) == (every[0].tobytes(), None, every[2].tobytes())


def test_large_inputs_of_floats_cost_nothing() -> None:
    def program(table: Any, x: Any) -> Any:
        return _counted(table, x[:64, :128])

    # The input has 16 TiB, so it cannot be drawn.
    huge = jax.ShapeDtypeStruct((1 << 20, 1 << 22), jnp.float32)
    given = _given(program, jax.ShapeDtypeStruct((1,), jnp.int32), huge)
    assert given == {"kernels": {"": [{"times": 1, "operands": {"0": [3]}}]}}


def test_each_run_of_a_loop_is_told() -> None:
    def program(x: Any) -> Any:
        def turn(i: Any, x: Any) -> Any:
            return _counted(jnp.full((2,), i // 2, jnp.int32), x)

        return lax.fori_loop(0, 3, turn, x)

    assert _given(program, SHAPE)["kernels"][""] == [
        {"times": 2, "operands": {"0": [0, 0]}},
        {"times": 1, "operands": {"0": [1, 1]}},
    ]


def test_a_loop_that_hangs_on_floats_is_no_guess() -> None:
    def program(x: Any) -> Any:
        table = jnp.zeros((2,), jnp.int32)
        return lax.while_loop(lambda x: x[0, 0] < 1, lambda x: _counted(table, x), x)

    given = _given(program, SHAPE)
    assert given["kernels"] == {}
    assert "depends on values that are not known" in given["reason"]


def test_kernels_without_whole_numbers_ask_for_nothing() -> None:
    def program(x: Any) -> Any:
        def body(x: Any, o: Any) -> None:
            o[...] = x[...]

        return pl.pallas_call(body, out_shape=SHAPE)(x + np.float32(1))

    closed = jax.make_jaxpr(program)(SHAPE)
    assert not operands.is_asked_for(closed.jaxpr)
    assert _given(program, SHAPE) == {"kernels": {}}
