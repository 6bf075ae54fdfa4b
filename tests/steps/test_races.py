"""Races are told with whose memory it is; outputs that nobody reads have none."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

import forms
import interpret
import outer
import parts

SHAPE = jax.ShapeDtypeStruct((16, 128), jnp.float32)
SIGNATURE = {"inputs": [{"name": "x"}], "outputs": [{"name": "out"}, {"name": "sums"}]}


def _body(x: Any, out: Any, sums: Any) -> None:
    out[...] = 2 * x[...]
    sums[...] = x[...]


def _both(x: Any) -> Any:
    """Two steps in no order, both of which write the same block of the second output."""
    block = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return pl.pallas_call(
        _body,
        grid=(2,),
        in_specs=[block],
        out_specs=[block, pl.BlockSpec((8, 128), lambda i: (0, 0))],
        out_shape=[SHAPE, jax.ShapeDtypeStruct((8, 128), jnp.float32)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",)),
    )(x)


def _race_of(function: Any) -> str:
    x = jnp.ones(SHAPE.shape, jnp.float32)
    closed = parts.flattened(jax.make_jaxpr(function)(x))
    run_kernel = interpret._Interpreter(1, closed.jaxpr, SIGNATURE)
    outer.evaluate(closed, [x], run_kernel)
    return run_kernel.race


def test_two_cores_may_write_what_nobody_reads() -> None:
    assert _race_of(lambda x: _both(x)[0]) == ""
    assert _race_of(jax.jit(lambda x: _both(jnp.sin(x))[0] + 1)) == ""


def test_what_is_read_has_a_race_and_a_name() -> None:
    assert _race_of(_both) == "'sums' at [0:8, 0:128]"
    assert _race_of(lambda x: (_both(x)[0], _both(x)[1] + 1)[1]) == "output 1 at [0:8, 0:128]"


def test_a_kernel_on_more_cores_than_one_is_refused_by_name() -> None:
    def on_two_cores(x: Any) -> Any:
        mesh = pltpu.create_tensorcore_mesh("core", num_cores=2)
        scratch = [pltpu.VMEM(SHAPE.shape, jnp.float32)]

        @pl.kernel(out_type=SHAPE, mesh=mesh, scratch_types=scratch)
        def run(x: Any, out: Any, block: Any) -> None:
            pltpu.sync_copy(x, block)
            pltpu.sync_copy(block, out)

        return run(x)

    with pytest.raises(NotImplementedError, match="a kernel on 2 cores of a TensorCoreMesh: only kernels on one"):
        forms.plain(jax.make_jaxpr(on_two_cores)(SHAPE))
    x = np.ones(SHAPE.shape, np.float32)
    closed = jax.make_jaxpr(lambda x: 2 * x)(x)
    assert forms.plain(closed) is closed
