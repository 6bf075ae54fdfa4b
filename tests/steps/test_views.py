"""Tests of references in another shape, type or order: the interpreter reads and writes exactly what a TPU would."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from interpreter import bounds, interpreted, parts
from judge import interpret, outer

X = np.arange(2 * 16 * 256, dtype=np.float32).reshape(2, 16, 256)


def _run(body: Callable[..., None], ids: list[int]) -> Any:
    """Returns a kernel's output for X; `ids` are prefetched, and the kernel has scratch of the output's shape."""
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(1,),
        in_specs=[pl.BlockSpec(X.shape, lambda i, *_: (0, 0, 0))],
        out_specs=pl.BlockSpec((16, 256), lambda i, *_: (0, 0)),
        scratch_shapes=[pltpu.VMEM((16, 256), jnp.float32)],
    )

    def function(x: Any, ids: Any) -> Any:
        return pl.pallas_call(body, grid_spec=spec, out_shape=jax.ShapeDtypeStruct((16, 256), jnp.float32))(ids, x)

    arguments = (X, np.array(ids, np.int32))
    closed = parts.flattened(interpreted.prepared(jax.make_jaxpr(function)(*arguments)), is_unrolled=False)
    signature = {"inputs": [{"name": "x"}, {"name": "ids"}], "outputs": [{"name": "out"}]}
    run_kernel = interpret._Interpreter(0, closed.jaxpr, signature)
    return np.asarray(outer.evaluate(closed, arguments, run_kernel)[0])


def _every_second_row(_: Any, x: Any, out: Any, _scratch: Any) -> None:
    out[...] = x.reshape(32, 256)[pl.ds(1, 16, stride=2), :]


def _slice_of_a_slice(_: Any, x: Any, out: Any, _scratch: Any) -> None:
    out[...] = x.at[1].reshape(32, 128)[:, :].reshape(16, 256)


def _bits(_: Any, x: Any, out: Any, _scratch: Any) -> None:
    out[...] = pltpu.bitcast(x.at[0].bitcast(jnp.int32)[...] + 0, jnp.float32)


def _stored_in_halves(ids: Any, x: Any, out: Any, scratch: Any) -> None:
    halves = scratch.reshape(2, 8, 256)
    halves[0] = x[1, :8]
    halves[ids[0]] = x[1, 8:]
    out[...] = scratch[...]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (_every_second_row, X.reshape(32, 256)[1::2]),
        (_slice_of_a_slice, X[1]),
        (_bits, X[0]),
        (_stored_in_halves, X[1]),
    ],
)
def test_what_is_seen_in_another_way_is_what_is_there(body: Callable[..., None], expected: Any) -> None:
    np.testing.assert_array_equal(_run(body, [1, 0]), expected)


def _reads_behind_a_view(ids: Any, x: Any, out: Any, _scratch: Any) -> None:
    out[...] = x.reshape(32, 256)[pl.ds(ids[0], 16), :]


@pytest.mark.parametrize(("body", "how"), [(_reads_behind_a_view, "reads"), (_stored_in_halves, "reads")])
def test_an_index_that_lies_beyond_a_view_is_out_of_bounds(body: Callable[..., None], how: str) -> None:
    for beyond in (17, -1):
        with pytest.raises(bounds.Beyond, match=f"a kernel {how} .*beyond its shape"):
            _run(body, [beyond, 0])


def test_a_masked_store_that_is_narrower_than_high_is_within_bounds() -> None:
    def body(_: Any, x: Any, out: Any, _scratch: Any) -> None:
        out[...] = jnp.zeros((16, 256), jnp.float32)
        rows = jax.lax.broadcasted_iota(jnp.int32, (16, 8), 0)
        pltpu.store(out.at[:, pl.ds(0, 8)], x[0, :, :8], mask=rows >= 4)

    expected = np.zeros((16, 256), np.float32)
    expected[4:, :8] = X[0, 4:, :8]
    np.testing.assert_array_equal(_run(body, [0, 0]), expected)
