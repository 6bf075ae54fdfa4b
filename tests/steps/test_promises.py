"""Tests that the promises of kernels to their compiler are checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import conftest  # noqa: F401 - finds the steps
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl

from judge import interpret, outer
from programs import program, promises, wire

F32 = jnp.float32
ROWS = jax.ShapeDtypeStruct((64, 128), F32)


def _traced(function: Callable[..., Any], *arguments: Any) -> Any:
    return wire.unpack(wire.pack(jax.make_jaxpr(function)(*arguments)))


def _rows(by: int) -> Callable[..., Any]:
    """Returns a kernel that reads `by` rows further on, and promises that its eight rows are one tile."""

    def kernel(x: Any, out: Any) -> None:
        first = 2 * pl.program_id(0)

        def step(turn: Any, carry: Any) -> Any:
            at = pl.multiple_of(8 * (first + turn) + by, 8)
            out[pl.ds(pl.multiple_of(8 * turn, 8), 8), :] = x[pl.ds(at, 8), :]
            return carry

        jax.lax.fori_loop(0, 2, step, 0)

    def program_of(x: Any) -> Any:
        block = pl.BlockSpec((16, 128), lambda i: (i, 0))
        whole = pl.BlockSpec((64, 128), lambda i: (0, 0))
        return pl.pallas_call(kernel, grid=(3,), in_specs=[whole], out_specs=block, out_shape=ROWS)(x)

    return program_of


def _run(closed: Any, *arguments: Any) -> Any:
    return outer.evaluate(closed, list(arguments), interpret._Interpreter(1))[0]


def test_a_promise_that_is_kept_changes_nothing() -> None:
    x = np.arange(64 * 128, dtype=np.float32).reshape(64, 128)
    closed = _traced(_rows(0), ROWS)
    np.testing.assert_array_equal(np.asarray(_run(closed, x))[:48], x[:48])
    on_cpu = program.load_program(program.export_program(closed, [ROWS], "cpu")).call(x)
    np.testing.assert_array_equal(np.asarray(on_cpu[0])[:48], x[:48])


def test_a_promise_that_is_broken_is_told_with_its_step() -> None:
    with pytest.raises(promises.Broken, match=r"multiple of 8, but one is 4 at step \[0\] of its grid"):
        _run(_traced(_rows(4), ROWS), np.zeros((64, 128), np.float32))


def test_a_promise_that_is_broken_gives_another_value_on_a_cpu() -> None:
    x = np.arange(64 * 128, dtype=np.float32).reshape(64, 128)
    closed = _traced(_rows(4), ROWS)
    on_cpu = program.load_program(program.export_program(closed, [ROWS], "cpu")).call(x)
    np.testing.assert_array_equal(np.asarray(on_cpu[0])[:48], x[:48])


def test_a_promise_of_an_index_map() -> None:
    def kernel(x: Any, out: Any) -> None:
        out[...] = x[...]

    def shifted(x: Any) -> Any:
        rows = pl.BlockSpec((pl.Element(8), pl.Element(128)), lambda i: (pl.multiple_of(8 * i + 1, 8), 0))
        out = pl.BlockSpec((8, 128), lambda i: (i, 0))
        return pl.pallas_call(kernel, grid=(7,), in_specs=[rows], out_specs=out, out_shape=ROWS)(x)

    with pytest.raises(promises.Broken, match="multiple of 8, but one is 1 in an index map"):
        _run(_traced(shifted, ROWS), np.zeros((64, 128), np.float32))


@pytest.mark.parametrize("by", [0, 1])
def test_a_gather_in_a_kernel_stays_in_bounds(by: int) -> None:
    def kernel(x: Any, at: Any, out: Any) -> None:
        out[...] = jnp.take_along_axis(x[...], at[...] + by, axis=1, mode="promise_in_bounds")

    closed = _traced(pl.pallas_call(kernel, out_shape=ROWS), ROWS, jax.ShapeDtypeStruct(ROWS.shape, jnp.int32))
    x = np.ones(ROWS.shape, np.float32)
    at = np.broadcast_to(np.arange(128, dtype=np.int32), ROWS.shape)
    on_cpu = program.load_program(program.export_program(closed, [ROWS, *closed.in_avals[1:]], "cpu")).call(x, at)
    assert np.isnan(np.asarray(on_cpu[0])).any() == bool(by)
    if by:
        with pytest.raises(promises.Broken, match="indices from 0 to 127, but one is 128"):
            _run(closed, x, at)
    else:
        _run(closed, x, at)


@pytest.mark.parametrize("source", ["float32", "bfloat16"])
@pytest.mark.parametrize("target", ["int8", "uint8", "int32", "uint32"])
def test_a_conversion_in_a_kernel_stays_in_range(source: str, target: str) -> None:
    info, ends = jnp.iinfo(target), (-130.5, -128.75, -1.0, -0.5, 0.0, 126.9, 127.5, 255.5, 256.0, 2.0**31, 2.0**32)
    x = np.resize(np.array([*ends, -(2.0**31), np.inf, -np.inf, np.nan], jnp.dtype(source)), (64, 128))

    def kernel(x: Any, out: Any) -> None:
        out[...] = x[...].astype(target)

    rows = jax.ShapeDtypeStruct(x.shape, x.dtype)
    closed = _traced(pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, target)), rows)
    found = np.asarray(program.load_program(program.export_program(closed, [rows], "cpu")).call(x)[0])
    whole = np.trunc(x.astype(np.float64))
    is_kept = (whole >= info.min) & (whole <= info.max)
    expected = np.where(whole >= 0, info.min, info.max)
    expected[is_kept] = whole[is_kept].astype(np.int64)
    np.testing.assert_array_equal(found, expected.astype(target))
