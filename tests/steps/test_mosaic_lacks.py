"""Tests of forms that Mosaic lacks: the error has the words of the index, and the stand-in compiles and is right."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import THOROUGH, Run
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from programs import candidate, mosaic_lacks, program

PROMPT = Path(__file__).resolve().parents[2] / "rules" / "prompts" / "system.md"
BF16, F32, I32, I8 = jnp.bfloat16, jnp.float32, jnp.int32, jnp.int8
X = jax.ShapeDtypeStruct((256, 256), F32)
WIDE = jax.ShapeDtypeStruct((256, 1024), F32)


def _a(dtype: Any, *shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype)


def _iota(x: Any, axis: int) -> Any:
    return jax.lax.broadcasted_iota(I32, x if isinstance(x, tuple) else x.shape, axis)


def _dot(x: Any, y: Any) -> Any:
    return jnp.dot(x.astype(F32), y.astype(F32), precision="highest", preferred_element_type=F32)


def _rolled(op: Callable[[Any, Any], Any], identity: float) -> Callable[[Any], Any]:
    def found(x: Any) -> Any:
        for s in (2**n for n in range(8)):
            x = op(x, jnp.where(_iota(x, 0) >= s, pltpu.roll(x, s, 0), identity))
        return x

    return found


def _largest(x: Any) -> Any:
    lanes, found = _iota(x, 1), []
    for _ in range(4):
        most = jnp.max(x, 1, keepdims=True)
        place = jnp.min(jnp.where(x == most, lanes, x.shape[1]), 1, keepdims=True)
        found.append(most)
        x = jnp.where(lanes == place, -jnp.inf, x)
    return jnp.concatenate(found, 1)


def _sorted(x: Any) -> Any:
    """Sorts along the rows, by a bitonic network."""
    row, n = _iota(x, 0), x.shape[0]
    for k in (2**i for i in range(1, n.bit_length())):
        for j in (k >> i for i in range(1, k.bit_length())):
            is_low = (row & j) == 0
            other = jnp.where(is_low, pltpu.roll(x, n - j, 0), pltpu.roll(x, j, 0))
            x = jnp.where(is_low == ((row & k) == 0), jnp.minimum(x, other), jnp.maximum(x, other))
    return x


def _running(x_ref: Any, out_ref: Any) -> None:
    def step(i: Any, state: Any) -> Any:
        state = state + x_ref[pl.ds(i, 1)]
        out_ref[pl.ds(i, 1)] = state
        return state

    jax.lax.fori_loop(0, x_ref.shape[0], step, jnp.zeros((1, x_ref.shape[1]), F32))


def _doubled(x_ref: Any, out_ref: Any) -> None:
    def step(i: Any, _: None) -> None:
        out_ref[pl.ds(i, 1)] = 2 * x_ref[pl.ds(i, 1)]

    jax.lax.fori_loop(0, x_ref.shape[0], step, None)


def _scanned(x: Any) -> Any:
    return jax.lax.scan(lambda state, row: (state + row, state + row), jnp.zeros(x.shape[1], F32), x)[1]


def _convolved(x: Any, w: Any) -> Any:
    dims = ("NWC", "WIO", "NWC")
    return jax.lax.conv_general_dilated(x[None], w, (1,), [(3, 0)], dimension_numbers=dims, precision="highest")[0]


def _of_taps(x: Any, w: Any) -> Any:
    padded = jnp.pad(x, ((3, 0), (0, 0)))
    return sum((_dot(padded[i : i + len(x)], w[i]) for i in range(4)), jnp.zeros((len(x), w.shape[2]), F32))


def _halved(x: Any) -> Any:
    while len(x) > 1:
        x = x[: len(x) // 2] * x[len(x) // 2 :]
    return x


@dataclass(frozen=True)
class Tried:
    """A form that Mosaic lacks, its inputs, and its stand-in: a function, or a kernel's body."""

    written: Callable[..., Any]
    inputs: tuple[jax.ShapeDtypeStruct, ...]
    instead: Callable[..., Any]
    is_body: bool = False
    dtype: Any = None  # of the stand-in's inputs, if it differs


# The keys are words of `what` in mosaic_lacks.LACKS.
TRIED = {
    "bfloat16, float16 or int8 result": Tried(
        lambda x, w: x @ w,
        (_a(BF16, 128, 128), _a(BF16, 128, 128)),
        lambda x, w: jnp.dot(x, w, preferred_element_type=F32).astype(x.dtype),
    ),
    "a product of int32": Tried(
        lambda x, w: x @ w, (_a(I32, 128, 128), _a(I32, 128, 128)), lambda x, w: _dot(x, w).astype(I32)
    ),
    "two batch axes": Tried(
        lambda x, w: jnp.einsum("abmk,abkn->abmn", x, w, preferred_element_type=F32),
        (_a(BF16, 2, 4, 128, 128), _a(BF16, 2, 4, 128, 128)),
        lambda x, w: jnp.einsum(
            "amk,akn->amn", x.reshape(8, 128, 128), w.reshape(8, 128, 128), preferred_element_type=F32
        ).reshape(2, 4, 128, 128),
    ),
    "sums over two axes": Tried(
        lambda x, w: jnp.einsum("mkl,kln->mn", x, w, preferred_element_type=F32),
        (_a(BF16, 128, 4, 128), _a(BF16, 4, 128, 128)),
        lambda x, w: jnp.dot(x.reshape(128, 512), w.reshape(512, 128), preferred_element_type=F32),
    ),
    "`jnp.cumsum`": Tried(
        lambda x: jnp.cumsum(x, 0), (X,), lambda x: _dot(_iota((256, 256), 1) <= _iota((256, 256), 0), x)
    ),
    "cumlogsumexp": Tried(lambda x: jax.lax.cummax(x, 0), (X,), _rolled(jnp.maximum, -jnp.inf)),
    "associative_scan": Tried(lambda x: jax.lax.associative_scan(jnp.multiply, x), (X,), _rolled(jnp.multiply, 1.0)),
    "top_k": Tried(lambda x: jax.lax.top_k(x, 4)[0], (X,), _largest),
    "`jnp.sort`": Tried(lambda x: jnp.sort(x, 0), (X,), _sorted),
    "`argmin` of whole numbers": Tried(
        lambda x: jnp.argmax(x, 1)[:, None],
        (_a(I32, 256, 256),),
        lambda x: jnp.argmax(x.astype(F32), 1)[:, None],
    ),
    "rows that an array of indices chooses": Tried(
        lambda x, at: x[at[:, 0]], (X, _a(I32, 64, 1)), lambda x, at: _dot(_iota((64, 256), 1) == at, x)
    ),
    "`jnp.take_along_axis`": Tried(
        lambda x, at: jnp.take_along_axis(x, at, 1),
        (WIDE, _a(I32, 256, 1)),
        lambda x, at: jnp.sum(jnp.where(_iota(x, 1) == at, x, 0), 1, keepdims=True),
    ),
    "`x.at[indices].add(y)`": Tried(
        lambda x, at, y: x.at[at[0]].add(y),
        (X, _a(I32, 1, 64), _a(F32, 64, 256)),
        lambda x, at, y: x + _dot(_iota((256, 64), 0) == at, y),
    ),
    "`x.at[i].set(y)`": Tried(lambda x: x.at[3].set(0.0), (X,), lambda x: jnp.where(_iota(x, 0) == 3, 0, x)),
    "`jax.lax.scan`": Tried(_scanned, (X,), _running, is_body=True),
    "at a place that is computed": Tried(
        lambda x: jax.lax.fori_loop(
            0,
            len(x),
            lambda i, y: jax.lax.dynamic_update_slice(y, 2 * jax.lax.dynamic_slice(x, (i, 0), (1, 256)), (i, 0)),
            x,
        ),
        (X,),
        _doubled,
        is_body=True,
    ),
    "a slice with a stride": Tried(
        lambda x: x[::2], (X,), lambda x: _dot(_iota((128, 256), 1) == 2 * _iota((128, 256), 0), x)
    ),
    "`jnp.flip`": Tried(lambda x: x[::-1], (X,), lambda x: _dot(_iota((256, 256), 0) + _iota((256, 256), 1) == 255, x)),
    "conv_general_dilated": Tried(_convolved, (_a(F32, 256, 128), _a(F32, 4, 128, 128)), _of_taps),
    "`jnp.prod`": Tried(lambda x: jnp.prod(x, 0, keepdims=True), (_a(F32, 16, 256),), _halved),
    "erfc": Tried(jax.lax.erfc, (X,), lambda x: 1 - jax.lax.erf(x)),
    "expm1": Tried(
        jnp.expm1,
        (X,),
        lambda x: jnp.where(jnp.abs(x) < 0.5, jnp.tanh(x / 2) * (jnp.exp(x) + 1), jnp.exp(x) - 1),  # noqa: PLR2004
    ),
    "`jnp.sinh`": Tried(jnp.sinh, (X,), lambda x: 0.5 * (jnp.exp(x) - jnp.exp(-x))),
    "`jnp.arcsin`": Tried(
        lambda x: jnp.arcsin(jnp.sin(x)), (X,), lambda x: jnp.arctan2(jnp.sin(x), jnp.sqrt(1 - jnp.sin(x) ** 2))
    ),
    "`jnp.cbrt`": Tried(jnp.cbrt, (X,), lambda x: jnp.sign(x) * jnp.exp(jnp.log(jnp.abs(x)) / 3)),
    "reduce_precision": Tried(lambda x: jax.lax.reduce_precision(x, 8, 7), (X,), lambda x: x.astype(BF16).astype(F32)),
    "float16": Tried(lambda x: 2 * x, (_a(jnp.float16, 256, 256),), lambda x: 2 * x, dtype=BF16),
    "sums and products of int8": Tried(
        lambda x: x + x, (_a(I8, 256, 256),), lambda x: (x.astype(I32) + x.astype(I32)).astype(I8)
    ),
}


def _kernel(tried: Tried, function: Callable[..., Any], is_body: bool, interpret: bool) -> Callable[..., Any]:
    out = jax.eval_shape(tried.written if is_body else function, *tried.inputs)

    def body(*refs: Any) -> None:
        if is_body:
            function(*refs)
        else:
            refs[-1][...] = function(*(ref[...] for ref in refs[:-1]))

    return pl.pallas_call(body, out_shape=out, interpret=interpret)


@pytest.fixture
def said_against(run_step: Run, tmp_path: Path) -> Callable[..., str]:
    """Returns the message that a user would get about a kernel; empty: a TPU v7x accepts the kernel."""

    def said(kernel: Callable[..., Any], inputs: tuple[jax.ShapeDtypeStruct, ...]) -> str:
        try:
            exported = program.export_program(jax.make_jaxpr(kernel)(*inputs), list(inputs), "tpu")
        except Exception as error:  # noqa: BLE001 - Mosaic may raise anything
            return candidate.describe(error, "")
        (tmp_path / "k.device").write_bytes(exported)
        run_step("compile", program="k.device", topology="tpu7x:2x2x1", out="k.json", dumps="k.dumps")
        report = json.loads((tmp_path / "k.json").read_text())
        return "" if report["verdict"] == "ok" else str(report["reason"])

    return said


def _row_of(name: str) -> mosaic_lacks.Lack:
    """Returns the row with this name, or else the first row whose words contain the name."""
    plain = name.replace("`", "")
    rows = [one for one in mosaic_lacks.LACKS if plain in one.what.replace("`", "")]
    return next((one for one in rows if one.what.replace("`", "") == plain), rows[0])


@THOROUGH
@pytest.mark.parametrize("name", TRIED)
def test_what_mosaic_lacks_is_told_with_what_stands_in_for_it(name: str, said_against: Callable[..., str]) -> None:
    candidate.known_tpu_on_cpu()
    tried = TRIED[name]
    row = _row_of(name)
    said = said_against(_kernel(tried, tried.written, False, False), tried.inputs)
    assert f"; Mosaic has no form of {row.what}: write {row.instead}" in said
    assert "file a" not in said
    stand_in = replace(tried, inputs=tuple(_a(tried.dtype or one.dtype, *one.shape) for one in tried.inputs))
    assert said_against(_kernel(stand_in, tried.instead, tried.is_body, False), stand_in.inputs) == ""
    generator = np.random.default_rng(0)
    inputs = [
        jnp.asarray(
            generator.integers(0, 64, one.shape) if one.dtype in (I32, I8) else generator.normal(size=one.shape),
            one.dtype,
        )
        for one in stand_in.inputs
    ]
    got = _kernel(stand_in, tried.instead, tried.is_body, True)(*inputs)
    wanted = np.asarray(tried.written(*inputs), np.float64)
    np.testing.assert_allclose(np.asarray(got, np.float64), wanted, 2e-3, 2e-3 * np.sqrt(np.mean(wanted**2)))


def test_every_row_is_tried() -> None:
    for row in mosaic_lacks.LACKS:
        assert any(_row_of(name) == row for name in TRIED), row.what


def test_models_are_given_the_whole_table() -> None:
    assert mosaic_lacks.table() in PROMPT.read_text()
