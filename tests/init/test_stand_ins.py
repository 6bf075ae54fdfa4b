"""Tests of a seed's stand-ins for forms that Mosaic lacks: their text, and their results."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl

from init import in_kernel
from init.folder import Source
from init.stand_ins import with_stand_ins

IMPORTS = "import jax\nimport jax.numpy as jnp"
SQUARE = [jax.ShapeDtypeStruct((128, 128), jnp.bfloat16)] * 3
WIDE = "preferred_element_type=jnp.float32"
NARROWED = ".astype(jnp.bfloat16)"


def _text(body: str, shapes: list[jax.ShapeDtypeStruct]) -> str:
    return with_stand_ins(Source("user.py", IMPORTS, body, "f", ""), shapes).in_kernel


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        ("x @ w", f"jnp.matmul(x, w, {WIDE}){NARROWED}"),
        ("(x) @ w @ v", f"jnp.matmul(jnp.matmul((x), w, {WIDE}){NARROWED}, v, {WIDE}){NARROWED}"),
        ("2 * (x @  # @\n        w)", f"2 * (jnp.matmul(x,  # @\n        w, {WIDE}){NARROWED})"),
        ("jnp.dot(x, w)", f"jnp.dot(x, w, {WIDE}){NARROWED}"),
        ("jnp.dot(\n        x,\n        w,\n    )", f"jnp.dot(\n        x,\n        w,\n    {WIDE}){NARROWED}"),
        ("jnp.einsum('ij,jk->ik', x, w)", f"jnp.einsum('ij,jk->ik', x, w, {WIDE}){NARROWED}"),
        (
            "jax.lax.fori_loop(0, 3, lambda i, é: é @ w, x)",
            f"jax.lax.fori_loop(0, 3, lambda i, é: jnp.matmul(é, w, {WIDE}){NARROWED}, x)",
        ),
        # These operations are wide already, or are not sums of products, so they stay.
        (f"jnp.dot(x, w, {WIDE})", f"jnp.dot(x, w, {WIDE})"),
        ("x.astype(jnp.float32) @ w.astype(jnp.float32)", "x.astype(jnp.float32) @ w.astype(jnp.float32)"),
        ("x + w", "x + w"),
    ],
)
def test_sums_of_products_are_wide(written: str, instead: str) -> None:
    assert _text(f"def f(x, w, v):\n    return {written}", SQUARE) == f"def f(x, w, v):\n    return {instead}"


def test_a_helper_that_is_called_twice_is_written_once() -> None:
    text = _text("def g(a, b):\n    return a @ b\n\n\ndef f(x, w, v):\n    return g(x, w) + g(w, v)", SQUARE)
    assert text.count(WIDE) == 1


BATCHES = [jax.ShapeDtypeStruct((2, 3, 8, 8), jnp.float32)] * 2
SELECTIVE = """\
def f(x, decay):
    def step(h, row):
        h = row[1] * h + row[0]
        return h, {"sum": jnp.sum(h), "twice": 2 * h}
    last, rows = jax.lax.scan(step, jnp.zeros(x.shape[1]), (x, decay))
    return rows["twice"] + last"""


LABELLED = [jax.ShapeDtypeStruct((8, 256), jnp.float32), jax.ShapeDtypeStruct((8,), jnp.int32)]
TALL = [jax.ShapeDtypeStruct((16, 3), jnp.float32), jax.ShapeDtypeStruct((8,), jnp.int32)]


@pytest.mark.parametrize(
    ("body", "shapes", "helper"),
    [
        ("def f(x, y):\n    return jnp.einsum('abmk,abkn->abmn', x, y)", BATCHES, "einsum_by_batch"),
        ("def f(x, y):\n    return jnp.einsum('bqhd, bkhd -> bhqk', x, y)", BATCHES, "einsum_by_batch"),
        ("def f(x, y):\n    return x @ y", BATCHES, "matmul_by_batch"),
        (
            "def f(x):\n    values, places = jax.lax.top_k(x, 4)\n    return values + places",
            [jax.ShapeDtypeStruct((8, 128), jnp.float32)],
            "top_k_by_maxima",
        ),
        (SELECTIVE, [jax.ShapeDtypeStruct((16, 128), jnp.float32)] * 2, "scan_in_vmem"),
        ("def f(x, i):\n    return jnp.take_along_axis(x, i[:, None], axis=-1)[:, 0]", LABELLED, "take_along_by_masks"),
        ("def f(x, i):\n    return jnp.take_along_axis(x, i[None, :3], 0)", TALL, "take_along_by_masks"),
        ("def f(x, i):\n    return -x[jnp.arange(x.shape[0]), i] + 1", LABELLED, "one_of_each_row"),
    ],
)
def test_what_stands_in_for_a_call_gives_what_it_gives(
    body: str, shapes: list[jax.ShapeDtypeStruct], helper: str
) -> None:
    text = _text(body, shapes)
    assert f"def {helper}(" in text
    assert "Any" not in text
    written: dict[str, Any] = {}
    exec(f"{IMPORTS}\n{body}", written)
    instead: dict[str, Any] = {"pl": pl, "pltpu": in_kernel.pltpu}
    exec(f"{IMPORTS}\n{text}", instead)
    generator = np.random.default_rng(0)
    inputs = [jnp.asarray(3 * generator.standard_normal(one.shape), one.dtype) for one in shapes]
    expected = written["f"](*inputs)

    def kernel(*refs: Any) -> None:
        refs[-1][...] = instead["f"](*(ref[...] for ref in refs[:-1]))

    got = pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(expected.shape, expected.dtype), interpret=True)(
        *inputs
    )
    np.testing.assert_allclose(got, expected, 1e-5, 1e-5)


def test_what_is_taken_of_some_rows_stays() -> None:
    body = "def f(x, i):\n    return x[jnp.arange(4), i]"
    assert _text(body, [LABELLED[0], jax.ShapeDtypeStruct((4,), jnp.int32)]) == body


def test_what_is_written_in_another_way_stays() -> None:
    body = SELECTIVE.replace("(x, decay))", "(x, decay), reverse=True)")
    assert _text(body, [jax.ShapeDtypeStruct((16, 128), jnp.float32)] * 2) == body
