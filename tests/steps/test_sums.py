"""Tests of sums of sums: which values are accumulators, and how wide an accumulator is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from conftest import SMALL  # noqa: F401 - finds the steps
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from judge import contract
from judge.sums import added_in, rounded_in

N = 128
Body = Callable[..., None]


def traced(body: Body, scratch: str = "float32") -> Any:
    """Traces a kernel of three bfloat16 arrays and a scratch, over a grid of four."""

    def call(x: Any, y: Any) -> Any:
        return pl.pallas_call(
            body,
            out_shape=jax.ShapeDtypeStruct((N, N), jnp.bfloat16),
            grid=(4,),
            scratch_shapes=[pltpu.VMEM((N, N), jnp.dtype(scratch))],
        )(x, y)

    array = jax.ShapeDtypeStruct((N, N), jnp.bfloat16)
    return jax.make_jaxpr(call)(array, array).jaxpr


def found(body: Body, scratch: str = "float32") -> set[str]:
    """Returns the findings in such a kernel."""
    return set(added_in(traced(body, scratch)))


def dot(x: Any, y: Any) -> Any:
    return jnp.dot(x, y, preferred_element_type=jnp.float32)


def narrow(x: Any, y: Any) -> Any:
    return dot(x, y).astype(jnp.bfloat16)


def once(x: Any, y: Any, out: Any, _: Any) -> None:
    out[...] = narrow(x[...], y[...])


def residual(x: Any, y: Any, out: Any, _: Any) -> None:
    out[...] = x[...] + narrow(x[...], y[...])


def rotated(x: Any, y: Any, out: Any, _: Any) -> None:
    product = narrow(x[...], y[...])
    out[...] = product * x[...] + jnp.roll(product, 1, 0) * y[...]


def of_two(x: Any, y: Any, out: Any, _: Any) -> None:
    out[...] = narrow(x[...], y[...]) + narrow(y[...], x[...])


def gelu(x: Any, y: Any, out: Any, _: Any) -> None:
    product = narrow(x[...], y[...])
    out[...] = product + 0.044715 * product * product * product


def accumulated(x: Any, y: Any, out: Any, kept: Any) -> None:
    kept[...] += dot(x[...], y[...]).astype(kept.dtype)
    out[...] = kept[...].astype(out.dtype)


def rescaled(x: Any, y: Any, out: Any, kept: Any) -> None:
    kept[...] = kept[...] * jnp.exp(-x[...].astype(kept.dtype)) + dot(x[...], y[...]).astype(kept.dtype)
    out[...] = kept[...].astype(out.dtype)


def carried(x: Any, y: Any, out: Any, kept: Any) -> None:
    def turn(i: Any, total: Any) -> Any:
        return total + dot(x[...], y[...]).astype(total.dtype)

    out[...] = jax.lax.fori_loop(0, 4, turn, jnp.zeros((N, N), kept.dtype)).astype(out.dtype)


def rounded(x: Any, y: Any, out: Any, kept: Any) -> None:
    kept[...] = (kept[...].astype(jnp.float32) + dot(x[...], y[...])).astype(kept.dtype)
    out[...] = kept[...].astype(out.dtype)


def scaled(x: Any, y: Any, out: Any, kept: Any) -> None:
    kept[...] += (dot(x[...], y[...]) * 1.0001).astype(kept.dtype)
    out[...] = kept[...].astype(out.dtype)


def scoped(x: Any, y: Any, out: Any, kept: Any) -> None:
    def with_memory(own: Any) -> None:
        own[...] = jnp.zeros_like(own)

        @pl.when(pl.program_id(0) == 0)
        def _add() -> None:
            own[...] += dot(x[...], y[...]).astype(own.dtype)

        out[...] = own[...].astype(out.dtype)

    pl.run_scoped(with_memory, pltpu.VMEM((N, N), kept.dtype))


def quarters(x: Any, y: Any, out: Any, kept: Any) -> None:
    q = N // 4
    total = jnp.zeros((N, N), kept.dtype)
    for i in range(0, N, q):
        total += dot(x[:, i : i + q], y[i : i + q, :]).astype(kept.dtype)
    out[...] = total.astype(out.dtype)


def iterated(x: Any, y: Any, out: Any, kept: Any) -> None:
    def turn(_: Any, z: Any) -> Any:
        a = dot(z, z).astype(z.dtype)
        b = (dot(a, a) - 4.0 * a.astype(jnp.float32)).astype(z.dtype)
        return (3.0 * z.astype(jnp.float32) + dot(b, z)).astype(z.dtype)

    out[...] = jax.lax.fori_loop(0, 4, turn, x[...].astype(kept.dtype)).astype(out.dtype)


def iterated_in_memory(x: Any, y: Any, out: Any, kept: Any) -> None:
    kept[...] = (1.5 * kept[...] + dot(x[...], kept[...].astype(x.dtype))).astype(kept.dtype)
    out[...] = kept[...].astype(out.dtype)


def unrolled(x: Any, y: Any, out: Any, _: Any) -> None:
    z = x[...]
    for _ in range(4):
        z = 1.5 * z + narrow(y[...], z)
    out[...] = z


def through_a_product(x: Any, y: Any, out: Any, kept: Any) -> None:
    kept[...] = (dot(kept[...].astype(x.dtype), jnp.eye(N)) + dot(x[...], y[...])).astype(kept.dtype)
    out[...] = kept[...].astype(out.dtype)


def beside_a_product(x: Any, y: Any, out: Any, kept: Any) -> None:
    more = dot(x[...], y[...]) + 0 * dot(kept[...].astype(x.dtype), y[...])
    kept[...] = (kept[...] + more).astype(kept.dtype)
    out[...] = kept[...].astype(out.dtype)


def under_a_factor(x: Any, y: Any, out: Any, kept: Any) -> None:
    same = (x[...] + 0 * kept[...]).astype(x.dtype)
    kept[...] += dot(same, y[...]).astype(kept.dtype)
    out[...] = kept[...].astype(out.dtype)


def in_one_operand(x: Any, y: Any, out: Any, kept: Any) -> None:
    wide = jnp.concatenate([x[...], kept[...].astype(x.dtype)], axis=1)
    high = jnp.concatenate([y[...], jnp.zeros_like(y)], axis=0)
    kept[...] += dot(wide, high).astype(kept.dtype)
    out[...] = kept[...].astype(out.dtype)


def stacked(x: Any, y: Any, out: Any, kept: Any) -> None:
    both = jnp.stack([kept[...].astype(jnp.float32), dot(x[...], y[...])])
    kept[...] = both.sum(axis=0).astype(kept.dtype)
    out[...] = kept[...].astype(out.dtype)


def joined_by_a_product(x: Any, y: Any, out: Any, kept: Any) -> None:
    both = jnp.concatenate([kept[...].astype(jnp.float32), dot(x[...], y[...])], axis=1)
    kept[...] = dot(both, jnp.concatenate([jnp.eye(N), jnp.eye(N)], axis=0)).astype(kept.dtype)
    out[...] = kept[...].astype(out.dtype)


def rolled(x: Any, y: Any, out: Any, kept: Any) -> None:
    kept[...] += pltpu.roll(dot(x[...], y[...]), 0, 1).astype(kept.dtype)
    out[...] = kept[...].astype(out.dtype)


def to_the_first_power(x: Any, y: Any, out: Any, kept: Any) -> None:
    kept[...] += jax.lax.integer_pow(dot(x[...], y[...]), 1).astype(kept.dtype)
    out[...] = kept[...].astype(out.dtype)


def times_a_sum(x: Any, y: Any, out: Any, kept: Any) -> None:
    one = 1 + jnp.sum(0 * x[...].astype(jnp.float32))
    kept[...] += (dot(x[...], y[...]) * one).astype(kept.dtype)
    out[...] = kept[...].astype(out.dtype)


GIVEN_BACK: dict[str, Callable[[Any], Any]] = {
    "log of exp": lambda z: jnp.log(jnp.exp(z)),
    "exp of log": lambda z: jnp.exp(jnp.log(z)),
    "log1p of expm1": lambda z: jnp.log1p(jnp.expm1(z)),
    "log of expm1 and 1": lambda z: jnp.log(1 + jnp.expm1(z)),
    "log of exp2": lambda z: jnp.log2(jnp.exp2(z)),
    "log of a power": lambda z: jnp.log(2.0**z),
    "atanh of tanh": lambda z: jnp.arctanh(jnp.tanh(z)),
    "tanh of atanh": lambda z: jnp.tanh(jnp.arctanh(z)),
    "asinh of sinh": lambda z: jnp.arcsinh(jnp.sinh(z)),
    "acosh of cosh": lambda z: jnp.arccosh(jnp.cosh(z)),
    "logit of logistic": lambda z: jnp.log(jax.nn.sigmoid(z) / (1 - jax.nn.sigmoid(z))),
    "atan of tan": lambda z: jnp.arctan(jnp.tan(z)),
    "asin of sin": lambda z: jnp.arcsin(jnp.sin(z)),
    "the angle of sin and cos": lambda z: jnp.arctan2(jnp.sin(z), jnp.cos(z)),
    "erf_inv of erf": lambda z: jax.lax.erf_inv(jax.lax.erf(z)),
    "square of root": lambda z: jnp.square(jnp.sqrt(z)),
    "a root times itself": lambda z: jnp.sqrt(z) * jnp.sqrt(z),
    "root of root": lambda z: 1 / jax.lax.rsqrt(z) ** 2,
    "third power of cube root": lambda z: jnp.cbrt(z) ** 3,
    "two pairs": lambda z: jnp.log(jnp.arctanh(jnp.tanh(jnp.exp(z)))),
    "exp through a product": lambda z: jnp.log(dot(jnp.exp(z), jnp.eye(N))),
}


def of_pair(there_and_back: Callable[[Any], Any]) -> Body:
    """Returns a kernel that rounds its accumulator in each step, after two operations that undo each other."""

    def body(x: Any, y: Any, out: Any, kept: Any) -> None:
        part = there_and_back(dot(x[...], y[...]))
        kept[...] = (kept[...].astype(jnp.float32) + part).astype(kept.dtype)
        out[...] = kept[...].astype(out.dtype)

    return body


@pytest.mark.parametrize("name", GIVEN_BACK)
def test_a_sum_comes_back_from_behind_operations(name: str) -> None:
    assert "bfloat16" in found(of_pair(GIVEN_BACK[name]), "bfloat16")


def test_a_kept_sum_comes_back_from_behind_operations() -> None:
    def body(x: Any, y: Any, out: Any, kept: Any) -> None:
        before = jnp.log(kept[...].astype(jnp.float32))
        kept[...] = jnp.exp(before + dot(x[...], y[...])).astype(kept.dtype)
        out[...] = kept[...].astype(out.dtype)

    assert "bfloat16" in found(body, "bfloat16")


def gated(x: Any, y: Any, out: Any, kept: Any) -> None:
    """Computes a recurrence whose gates are made of sums, but are not sums."""
    gate = jax.nn.sigmoid(dot(x[...], y[...])).astype(kept.dtype)
    kept[...] = kept[...] * gate + (1 - gate) * jnp.tanh(dot(y[...], x[...])).astype(kept.dtype)
    out[...] = kept[...].astype(out.dtype)


@pytest.mark.parametrize("function", [jnp.exp, jnp.tanh, jnp.sqrt, jnp.sin, lambda z: z > 0, jnp.sign])
def test_what_gives_no_sum_back_is_none(function: Callable[[Any], Any]) -> None:
    assert found(of_pair(lambda z: function(z).astype(jnp.float32)), "bfloat16") == set()


def in_rows(x: Any, y: Any, out: Any, kept: Any) -> None:
    half = N // 2
    kept[half:, :] = dot(x[:half, :], y[...]).astype(kept.dtype)
    both = kept[...].astype(jnp.float32).reshape(2, half, N)
    kept[:half, :] = both.sum(axis=0).astype(kept.dtype)
    out[...] = kept[...].astype(out.dtype)


def normed_in_memory(x: Any, y: Any, out: Any, kept: Any) -> None:
    kept[...] = dot(x[...], y[...]).astype(kept.dtype)
    wide = kept[...].astype(jnp.float32)
    kept[...] = (wide / jnp.sum(wide, axis=1, keepdims=True)).astype(kept.dtype)
    out[...] = kept[...].astype(out.dtype)


def kept_elsewhere(x: Any, y: Any, out: Any, kept: Any) -> None:
    def with_memory(own: Any, arrived: Any) -> None:
        own[...] = (kept[...] + dot(x[...], y[...])).astype(kept.dtype)
        pltpu.async_copy(own, kept, arrived).wait()
        out[...] = own[...].astype(out.dtype)

    pl.run_scoped(with_memory, pltpu.VMEM((N, N), kept.dtype), pltpu.SemaphoreType.DMA)


def stored_by_a_mask(x: Any, y: Any, out: Any, kept: Any) -> None:
    part = dot(x[...], y[...])
    pltpu.store(kept, (kept[...] + part).astype(kept.dtype), mask=x[...] < jnp.inf)
    out[...] = kept[...].astype(out.dtype)


def smoothed(x: Any, y: Any, out: Any, kept: Any) -> None:
    parts = [dot(x[...], y[...]).astype(x.dtype), x[...]]
    out[...] = jnp.stack(parts).astype(jnp.float32).sum(axis=0).astype(out.dtype)


def as_pairs(x: Any, y: Any, out: Any, kept: Any) -> None:
    part = dot(x[...], y[...])

    def with_memory(own: Any) -> None:
        both = [
            pltpu.unpack_elementwise(own[...], index=i, packed_dtype=jnp.bfloat16, unpacked_dtype=jnp.float32)
            for i in range(2)
        ]
        both = [one + part[i * N // 2 : (i + 1) * N // 2] for i, one in enumerate(both)]
        own[...] = pltpu.pack_elementwise(both, packed_dtype=jnp.bfloat16)
        out[: N // 2, :] = own[...].astype(jnp.int32).astype(out.dtype)

    pl.run_scoped(with_memory, pltpu.VMEM((N // 2, N), jnp.uint32))


@pytest.mark.parametrize("body", [once, residual, rotated, of_two, gelu, normed_in_memory, smoothed, gated])
def test_what_adds_no_sums_is_let_be(body: Body) -> None:
    assert found(body) == set()


@pytest.mark.parametrize(
    "body",
    [
        accumulated,
        rescaled,
        rounded,
        scaled,
        carried,
        scoped,
        quarters,
        through_a_product,
        beside_a_product,
        under_a_factor,
        in_one_operand,
        stacked,
        joined_by_a_product,
        rolled,
        to_the_first_power,
        times_a_sum,
        in_rows,
        kept_elsewhere,
        stored_by_a_mask,
    ],
)
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_an_accumulators_width_is_found(body: Body, dtype: str) -> None:
    assert dtype in found(body, dtype)
    assert found(body, dtype) <= {dtype, "float32"}


@pytest.mark.parametrize("body", [iterated, iterated_in_memory, unrolled])
def test_an_iterate_is_no_accumulator(body: Body) -> None:
    assert found(body, "bfloat16") <= {"float32"}


def in_bytes(x: Any, y: Any, out: Any, _: Any) -> None:
    whole = jnp.round(x[...]).astype(jnp.int8)
    out[...] = jnp.dot(whole, jnp.ones((N, N), jnp.int8), preferred_element_type=jnp.int32).astype(out.dtype)


def in_bytes_of_memory(x: Any, y: Any, out: Any, _: Any) -> None:
    def with_memory(own: Any) -> None:
        own[...] = jnp.clip(jnp.round(x[...]), -7, 7).astype(jnp.int8)
        product = jnp.dot(own[...] + own[...], jnp.ones((N, N), jnp.int8), preferred_element_type=jnp.int32)
        out[...] = product.astype(out.dtype)

    pl.run_scoped(with_memory, pltpu.VMEM((N, N), jnp.int8))


def of_a_mask(x: Any, y: Any, out: Any, _: Any) -> None:
    whole = (x[...] > 0).astype(jnp.int8)
    out[...] = jnp.dot(whole, jnp.ones((N, N), jnp.int8), preferred_element_type=jnp.int32).astype(out.dtype)


@pytest.mark.parametrize(
    ("body", "dtypes"), [(in_bytes, {"int8"}), (in_bytes_of_memory, {"int8"}), (of_a_mask, set()), (once, set())]
)
def test_whole_numbers_that_floats_were_rounded_to_are_found(body: Body, dtypes: set[str]) -> None:
    assert rounded_in(traced(body)) == dtypes


def test_rounding_to_bytes_is_refused_where_a_spec_says_what_operands_are() -> None:
    terms = {"operand": "bfloat16", "accumulator": "float32"}
    contract._check_rounding(traced(in_bytes), terms)
    with pytest.raises(contract.Breach, match=r"rounded to int8 .* the spec asks for bfloat16 at least"):
        contract._check_rounding(traced(in_bytes), {**terms, "is_operand_said": True})
    contract._check_rounding(traced(in_bytes), {"operand": "float8_e4m3fn", "is_operand_said": True})


def _steps(z: Any, dtype: Any) -> Any:
    return jnp.round(z * 16).astype(dtype)


def in_fixed_point(dtype: str) -> Body:
    """Returns a kernel whose accumulator holds whole numbers, which are sixteenths."""

    def body(x: Any, y: Any, out: Any, kept: Any) -> None:
        kept[...] += _steps(dot(x[...], y[...]), kept.dtype)
        out[...] = (kept[...].astype(jnp.float32) / 16).astype(out.dtype)

    return body


def in_fixed_point_in_a_row(x: Any, y: Any, out: Any, _: Any) -> None:
    q = N // 4
    parts = [_steps(dot(x[:, i : i + q], y[i : i + q, :]), jnp.int32) for i in range(0, N, q)]
    out[...] = ((parts[0] + parts[1] + parts[2] + parts[3]).astype(jnp.float32) / 16).astype(out.dtype)


def in_fixed_point_in_a_loop(x: Any, y: Any, out: Any, _: Any) -> None:
    def turn(i: Any, total: Any) -> Any:
        return total + _steps(jnp.sum(x[...].astype(jnp.float32), axis=0), jnp.int32)

    out[...] = jnp.broadcast_to(jax.lax.fori_loop(0, 4, turn, jnp.zeros((N,), jnp.int32)), (N, N)).astype(out.dtype)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32"])
def test_sums_that_are_rounded_to_whole_numbers_and_added_up_are_found(dtype: str) -> None:
    assert dtype in found(in_fixed_point(dtype), dtype)


@pytest.mark.parametrize("body", [in_fixed_point_in_a_row, in_fixed_point_in_a_loop])
def test_sums_that_are_rounded_to_whole_numbers_are_found_out_of_memory(body: Body) -> None:
    assert "int32" in found(body)


def counted(x: Any, y: Any, out: Any, kept: Any) -> None:
    """Counts by sums of floats that are 0 or 1."""
    ones = (x[...] > y[...]).astype(jnp.float32)
    kept[...] += dot(ones, jnp.ones((N, N), jnp.float32)).astype(kept.dtype)
    kept[...] += jnp.broadcast_to(jnp.sum(jnp.where(x[...] > 0, 1.0, 0.0), axis=0), (N, N)).astype(kept.dtype)
    out[...] = kept[...].astype(out.dtype)


def of_quantised(x: Any, y: Any, out: Any, kept: Any) -> None:
    """Adds up products of whole numbers, whose sums are exact."""
    whole = [jnp.clip(jnp.round(z[...].astype(jnp.float32)), -127, 127).astype(jnp.int8) for z in (x, y)]
    kept[...] += jnp.dot(*whole, preferred_element_type=jnp.int32)
    out[...] = kept[...].astype(out.dtype)


@pytest.mark.parametrize("body", [counted, of_quantised])
def test_sums_of_whole_numbers_are_added_up_in_whole_numbers(body: Body) -> None:
    assert found(body, "int32") == set()


def test_pairs_of_floats_in_a_whole_number_are_found() -> None:
    assert "uint32" in found(as_pairs)


def test_what_is_added_to_what_is_told() -> None:
    def kernel(x: Any, out: Any, kept: Any) -> None:
        accumulated(x, x, out, kept)

    def call(x: Any) -> Any:
        return pl.pallas_call(kernel, out_shape=x, grid=(4,), scratch_shapes=[pltpu.VMEM((N, N), jnp.bfloat16)])(x)

    array = jax.ShapeDtypeStruct((N, N), jnp.bfloat16)
    what = "'dot_general' onto scratch 0 of the kernel, bfloat16[128,128]"
    assert added_in(jax.make_jaxpr(call)(array).jaxpr) == {"bfloat16": what}
