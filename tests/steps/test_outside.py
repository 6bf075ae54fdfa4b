"""Tests that operations outside of kernels are from a closed list, or that the spec allows them by a word."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from corpus import HERE, SPEC_PROGRAM
from jax.experimental import pallas as pl

from judge import outside
from programs import jaxprs, schema

X = np.ones((8, 16), np.float32)
PLACES = np.zeros(4, np.int32)
BF16_BITS, F32_BITS = 8, 24


def kernel(x: Any) -> Any:
    def body(x_ref: Any, out_ref: Any) -> None:
        out_ref[...] = x_ref[...] * 2

    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def survey(function: Callable[..., Any], *arguments: Any, narrowest: int = 0) -> dict[str, str]:
    return outside.survey(jax.make_jaxpr(function)(*arguments).jaxpr, narrowest)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: kernel(x.reshape(16, 8).T[::2, 1:]).sum(axis=0),
        lambda x: kernel(jnp.pad(jnp.concatenate([x, x]), 4)) - jnp.arange(24),
        lambda x: jnp.where(kernel(x) > x, jnp.exp(x), jnp.tanh(x)).astype(jnp.int32).argmax(axis=1),
        lambda x: jax.jit(kernel)(jax.lax.rev(x, (0,))),
        # An access is a slice if its place is known before the program runs.
        lambda x: kernel(jax.lax.dynamic_slice(x, (2, 0), (4, 16))),
        lambda x: kernel(jax.lax.dynamic_update_slice(x, jnp.zeros((4, 16)), (jnp.int32(1) + 1, 0))),
    ],
)
def test_what_moves_and_what_is_done_element_by_element_needs_no_word(function: Callable[..., Any]) -> None:
    assert survey(function, X) == {}


@pytest.mark.parametrize(
    ("word", "function"),
    [
        ("bitcasts", lambda x, i: jax.lax.bitcast_convert_type(x, jnp.int32)),
        ("conditionals", lambda x, i: jax.lax.cond(i[0] > 0, kernel, lambda y: y, x)),
        ("cumulative", lambda x, i: jnp.cumsum(kernel(x), axis=0)),
        ("fft", lambda x, i: jnp.fft.fft(x).real),
        ("gathers", lambda x, i: kernel(x[i])),
        ("gathers", lambda x, i: kernel(jax.lax.dynamic_slice(x, (i[0], 0), (4, 16)))),
        ("loops", lambda x, i: jax.lax.scan(lambda y, _: (kernel(y), None), x, length=3)[0]),
        ("loops", lambda x, i: jax.lax.fori_loop(0, i[0], lambda _, y: kernel(y), x)),
        ("products", lambda x, i: jnp.dot(x, x.T)),
        ("products", lambda x, i: jnp.dot(x.astype(jnp.bfloat16), x.T.astype(jnp.bfloat16))),
        ("random", lambda x, i: x + jax.random.uniform(jax.random.key(1, impl="threefry2x32"), x.shape)),
        ("scatters", lambda x, i: x.at[i].add(1.0)),
        ("scatters", lambda x, i: jax.lax.dynamic_update_slice(x, kernel(x[:4]), (i[0], 0))),
        ("sorts", lambda x, i: jnp.sort(kernel(x))),
        ("sorts", lambda x, i: jax.lax.top_k(kernel(x), 2)[0]),
        ("special", lambda x, i: jax.scipy.special.gammaln(x)),
        ("windows", lambda x, i: jax.lax.reduce_window(x, 0.0, jax.lax.add, (2, 2), (1, 1), "valid")),
    ],
)
def test_all_else_needs_a_word(word: str, function: Callable[..., Any]) -> None:
    closed = jax.make_jaxpr(function)(X, PLACES)
    assert word in outside.survey(closed.jaxpr)
    others = set(outside.WORDS) - {word}
    with pytest.raises(outside.Refused, match=rf"outside: \[.*{word}"):
        outside.check(closed.jaxpr, others, 0)
    outside.check(closed.jaxpr, outside.WORDS, 0)


def test_what_no_output_needs_needs_no_word() -> None:
    def function(x: Any) -> Any:
        jnp.sort(x)
        return kernel(x)

    assert survey(function, X) == {}


def test_what_stands_in_a_loop_or_a_branch_needs_its_own_word() -> None:
    looped = jax.make_jaxpr(lambda x: jax.lax.fori_loop(0, 3, lambda _, y: jnp.sort(y), x))(X)
    with pytest.raises(outside.Refused, match="'sort' is outside"):
        outside.check(looped.jaxpr, ["loops"], 0)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: jax.lax.cond(x[0, 0] > 0, kernel, lambda y: y, x),
        lambda x: jax.lax.cond((x.sum() * 0).astype(jnp.int32) == 0, kernel, lambda y: y, x),
        lambda x: jax.lax.switch(jnp.argmax(x[0]), [kernel, lambda y: y, kernel], x),
        lambda x: jax.lax.while_loop(lambda y: y.sum() < 9, kernel, x),
        # The floats reach the counter in the next pass of the loop.
        lambda x: jax.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + (c[1] > 0).sum(), kernel(c[1])), (0, x))[1],
        lambda x: jax.lax.cond(jnp.float32(1) + jnp.float32(2**-12) > 1, kernel, lambda y: y, x),
    ],
)
def test_no_word_lets_floats_choose_between_kernels(function: Callable[..., Any]) -> None:
    with pytest.raises(outside.Refused, match="chooses between kernels"):
        survey(function, X)


def test_whole_numbers_choose_and_floats_do_where_there_is_no_kernel() -> None:
    def function(x: Any, i: Any) -> Any:
        far = jax.lax.cond(i[0] > 0, kernel, lambda y: y, x)
        return far + jax.lax.cond(x[0, 0] > 0, jnp.exp, jnp.sin, x)

    assert set(survey(function, X, PLACES)) == {"conditionals"}


def test_values_are_rounded_to_what_the_spec_allows() -> None:
    def narrow(x: Any) -> Any:
        return kernel(x.astype(jnp.float8_e4m3fn).astype(jnp.float32))

    with pytest.raises(outside.Refused, match="rounds values to 4 bits") as refused:
        survey(narrow, X, narrowest=BF16_BITS)
    assert refused.value.kind == "precision"
    survey(narrow, X, narrowest=4)
    survey(lambda x: kernel(x).astype(jnp.bfloat16), X, narrowest=BF16_BITS)
    with pytest.raises(outside.Refused, match="rounds values to 8 bits"):
        survey(lambda x: kernel(jax.lax.reduce_precision(x, 8, 7)), X, narrowest=F32_BITS)


def test_every_operation_that_a_candidate_may_use_is_listed() -> None:
    listed = outside._FREE | set(outside._WORD_OF)
    assert set(schema._TABLES[False]) <= listed
    assert not outside._FREE & set(outside._WORD_OF)
    # The list holds only existing operations, and calls.
    assert listed - set(schema._TABLES[False]) <= set(jaxprs.CALLS)


def test_the_spec_reader_knows_the_same_words(tmp_path: Path) -> None:
    text = (HERE / "tasks" / "small" / "spec.yaml").read_text()

    def said(words: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "spec.yaml").write_text(f"{text}contract: {{ outside: [{words}] }}\n")
        command = [SPEC_PROGRAM, "--spec", tmp_path / "spec.yaml", "--out-dir", tmp_path]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert said(", ".join(outside.WORDS)).returncode == 0
    refused = said("everything")
    assert refused.returncode == 2
    known = re.search(r"known: (.*) and (\d+) more", refused.stderr)
    assert known
    assert len(known[1].split(", ")) + int(known[2]) == len(outside.WORDS)
