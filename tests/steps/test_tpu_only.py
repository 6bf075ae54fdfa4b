"""Tests of operations that only TPUs have: the CPU copy and the interpreter run them, or report that they cannot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import SMALL  # noqa: F401 - finds the steps
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from judge import interpret
from programs import program, wire

Array = np.ndarray[Any, Any]
SHAPE = jax.ShapeDtypeStruct((32, 128), jnp.float32)


def call(body: Callable[..., None]) -> Callable[[Any], Any]:
    return pl.pallas_call(body, out_shape=SHAPE)


def packed(x: Any, out: Any) -> None:
    both = pltpu.pack_elementwise([x[:16], x[16:]], packed_dtype=jnp.bfloat16)
    for half in range(2):
        out[16 * half : 16 * (half + 1)] = pltpu.unpack_elementwise(
            both, index=half, packed_dtype=jnp.bfloat16, unpacked_dtype=jnp.float32
        )


def packed_whole(x: Any, out: Any) -> None:
    parts = [jnp.floor(x[8 * part : 8 * (part + 1)]).astype(jnp.int32) for part in range(4)]
    four = pltpu.pack_elementwise(parts, packed_dtype=jnp.int8)
    for part in range(4):
        found = pltpu.unpack_elementwise(four, index=part, packed_dtype=jnp.int8, unpacked_dtype=jnp.int32)
        out[8 * part : 8 * (part + 1)] = found.astype(jnp.float32)


def rounded(x: Any, out: Any) -> None:
    # All devices do the same: they add half of the last place, and cut off the rest.
    bits = jnp.full(x.shape, 0x8000, jnp.uint32)
    out[...] = pltpu.stochastic_round(x[...], bits, target_dtype=jnp.bfloat16).astype(jnp.float32)


def touched(x: Any, out: Any) -> None:
    pltpu.touch(x)
    out[...] = 2 * x[...]


def doubled(x: Any, out: Any) -> None:
    out[...] = 2 * x[...]


def bfloat16(x: Array) -> Array:
    return np.asarray(x.astype(jnp.bfloat16).astype(np.float32))


@pytest.mark.parametrize(
    ("function", "meaning"),
    [
        (call(packed), bfloat16),
        (call(packed_whole), np.floor),
        (call(rounded), bfloat16),
        (call(touched), lambda x: 2 * x),
        (lambda x: call(doubled)(pltpu.with_memory_space_constraint(x, pltpu.HBM)), lambda x: 2 * x),
    ],
)
def test_both_copies_do_what_a_tpu_does(function: Any, meaning: Callable[[Array], Array]) -> None:
    program.configure_jax()
    traced = wire.pack(jax.make_jaxpr(function)(SHAPE))
    x = np.random.default_rng(1).standard_normal(SHAPE.shape).astype(np.float32)
    exported = program.export_program(wire.unpack(traced), [SHAPE], "cpu")
    for run in (
        program.load_program(exported).call,
        interpret.as_function(traced, {"inputs": [], "outputs": []}, "a secret"),
    ):
        (out,) = run(jnp.asarray(x))
        np.testing.assert_array_equal(np.asarray(out), meaning(x))


def test_a_copy_of_a_size_that_is_known_at_run_time_is_checked_in_the_interpreter(
    lower: Callable[..., dict[str, Any]], tmp_path: Any
) -> None:
    report = lower(OF_A_SIZE)
    assert report["verdict"] == "ok"
    assert "Shapes must be 1D sequences of concrete values" in report["interpreted"]
    assert program.is_traced((tmp_path / "k.judge").read_bytes())
    assert (tmp_path / "k.judge").read_bytes() == (tmp_path / "k.jaxpr").read_bytes()


OF_A_SIZE = """
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(x, y, out, rows, sem):
    count = jnp.minimum(8, x.shape[0] - 8 * pl.program_id(0))
    some = rows.at[pl.ds(0, count)]
    copy = pltpu.make_async_copy(x.at[pl.ds(8 * pl.program_id(0), count)], some, sem)
    copy.start()
    copy.wait()
    out[...] = jnp.dot(rows[...], y[...], preferred_element_type=jnp.float32).astype(out.dtype)

def matmul(x, y):
    m, k, n = *x.shape, y.shape[1]
    return pl.pallas_call(
        kernel,
        grid=(pl.cdiv(m, 8),),
        in_specs=[pl.BlockSpec(memory_space=pltpu.HBM), pl.BlockSpec((k, n), lambda i: (0, 0))],
        out_specs=pl.BlockSpec((8, n), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        scratch_shapes=[pltpu.VMEM((8, k), x.dtype), pltpu.SemaphoreType.DMA],
    )(x, y)
"""
