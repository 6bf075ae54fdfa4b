"""Tests of accesses beyond the end of memory: the report names the memory, the place and the grid step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from interpreter import bounds, parts
from judge import interpret, outer

WIDE = jax.ShapeDtypeStruct((16, 256), jnp.float32)
SIGNATURE = {"inputs": [{"name": "x"}, {"name": "ids"}], "outputs": [{"name": "out"}]}
BLOCK = pl.BlockSpec((8, 256), lambda i, *_: (i, 0))


def _called(body: Callable[..., None], scratch: Any = (), **specs: Any) -> Callable[..., Any]:
    """Returns a function of x, which gets another shape, and of ids, which are prefetched."""
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=specs.get("grid", (2,)),
        in_specs=[specs.get("x", BLOCK)],
        out_specs=specs.get("out", BLOCK),
        scratch_shapes=scratch,
    )

    @jax.jit
    def function(x: Any, ids: Any) -> Any:
        return pl.pallas_call(body, grid_spec=spec, out_shape=WIDE)(ids, x.reshape(16, 256))[None]

    return function


def _reads_past_a_block(ids: Any, x: Any, out: Any) -> None:
    out[...] = x[pl.ds(ids[0], 8), :]


def _writes_past_a_block(ids: Any, x: Any, out: Any) -> None:
    out[pl.ds(ids[0], 8), :] = x[...]


def _reads_past_the_scalars(ids: Any, x: Any, out: Any) -> None:
    out[...] = x[...] * ids[ids[1]]


def _reads_past_scratch(ids: Any, x: Any, out: Any, _first: Any, second: Any) -> None:
    second[...] = x[...]
    out[...] = second[pl.ds(ids[0], 8), :]


def _copies_past_an_input(ids: Any, x: Any, out: Any, semaphore: Any) -> None:
    copy = pltpu.make_async_copy(x.at[pl.ds(ids[1], 8), :], out, semaphore)
    copy.start()
    copy.wait()


def _reads_before_the_start(ids: Any, x: Any, out: Any) -> None:
    out[...] = x[pl.ds(-ids[0], 8), :]


def _writes_before_the_start(ids: Any, x: Any, out: Any) -> None:
    out[pl.ds(-ids[0], 8), :] = x[...]


def _plain(ids: Any, x: Any, out: Any) -> None:
    out[...] = x[...] * ids[0]


_VMEM = (pltpu.VMEM((8, 128), jnp.float32), pltpu.VMEM((8, 256), jnp.float32))
_HBM = pl.BlockSpec(memory_space=pltpu.HBM)
_ONE = {"grid": (1,), "out": pl.BlockSpec((8, 256), lambda i, *_: (0, 0))}


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (
            _called(_reads_past_a_block),
            "a kernel reads a block of 'x' at [4:12, 0:256], beyond its shape [8, 256], at step [0] of its grid",
        ),
        (
            _called(_writes_past_a_block),
            "a kernel writes a block of 'out' at [4:12, 0:256], beyond its shape [8, 256], at step [0] of its grid",
        ),
        (
            _called(_reads_past_the_scalars),
            "a kernel reads 'ids' at [12], beyond its shape [2], at step [0] of its grid",
        ),
        (
            _called(_reads_past_scratch, _VMEM),
            "a kernel reads scratch 1 at [4:12, 0:256], beyond its shape [8, 256], at step [0] of its grid",
        ),
        (
            _called(_copies_past_an_input, (pltpu.SemaphoreType.DMA,), x=_HBM, **_ONE),
            "a kernel reads 'x' at [12:20, 0:256], beyond its shape [16, 256], at step [0] of its grid",
        ),
        (
            _called(_plain, x=pl.BlockSpec((8, 256), lambda i, *_: (i + 1, 0))),
            "block [2, 0] of 'x' is [16:24, 0:256], beyond the array's shape [16, 256], at step [1] of the grid",
        ),
        (
            _called(_reads_before_the_start),
            "a kernel reads a block of 'x' at [-4:4, 0:256], beyond its shape [8, 256], at step [0] of its grid",
        ),
        (
            _called(_writes_before_the_start),
            "a kernel writes a block of 'out' at [-4:4, 0:256], beyond its shape [8, 256], at step [0] of its grid",
        ),
    ],
)
def test_an_access_is_told_in_words(function: Any, said: str) -> None:
    arguments = [jnp.ones((2, 8, 256), jnp.float32), jnp.asarray([4, 12], jnp.int32)]
    closed = parts.flattened(jax.make_jaxpr(function)(*arguments))
    with pytest.raises(bounds.Beyond) as found:
        outer.evaluate(closed, arguments, interpret._Interpreter(1, closed.jaxpr, SIGNATURE))
    assert interpret.said_by(found.value) == {"kind": "out-of-bounds", "reason": said}


def test_what_stays_within_is_not_told() -> None:
    arguments = [jnp.ones((2, 8, 256), jnp.float32), jnp.asarray([4, 12], jnp.int32)]
    closed = parts.flattened(jax.make_jaxpr(_called(_plain))(*arguments))
    (out,) = outer.evaluate(closed, arguments, interpret._Interpreter(1, closed.jaxpr, SIGNATURE))
    np.testing.assert_array_equal(np.asarray(out), 4.0)
