"""The table of forms that Mosaic cannot lower in a kernel for a TPU, and of forms to write instead.

Each row was tried with the versions of rules/requirements.lock: Mosaic rejects the first form in these words, and the
other form compiles for a TPU v7x (tests/steps/test_mosaic_lacks.py). Messages name the other form next to the reason.
`evolve init` names the other form before anybody waits for a judge. rules/prompts/system.md has the whole table for
models:

    .venv/bin/python rules programs.mosaic_lacks
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Lack:
    """A form that Mosaic rejects."""

    what: str  # as people write it
    said: str  # a pattern of Mosaic's message
    instead: str


def _primitive(names: str) -> str:
    """Returns the pattern of the message about a primitive that Mosaic cannot lower."""
    return rf"Unimplemented primitive in Pallas TPU lowering for tc: (?:{names})(?![\w-])"


LACKS = (
    Lack(
        "a product with a bfloat16, float16 or int8 result, such as `x @ w` gives",
        r"Expected matmul acc to be 32-bit",
        "`jnp.dot(x, w, preferred_element_type=jnp.float32).astype(x.dtype)`; `jnp.int32` for whole values",
    ),
    Lack(
        "a product of int32",
        r"float acc with int lhs",
        "int8 operands with `preferred_element_type=jnp.int32`, or float32 ones with `precision='highest'`",
    ),
    Lack(
        "a product with two batch axes",
        r"Up to 1 batch dim supported",
        "one batch axis, made of both by `reshape`; or one of them walked by the grid or by a loop in Python",
    ),
    Lack(
        "a product that sums over two axes",
        r"contracting dims must be of size 1",
        "one axis, made of both by `reshape`; or a sum of products over one of them",
    ),
    Lack(
        "`jnp.cumsum`",
        _primitive("cumsum"),
        "a product with a triangle of ones (`iota <= iota` of both axes) in float32, `precision='highest'`",
    ),
    Lack(
        "`jnp.cumprod`, `jax.lax.cummax`, `cummin`, `cumlogsumexp`, `associative_scan`",
        _primitive("cumprod|cummax|cummin|cumlogsumexp") + r"|vector types must have positive constant sizes but got 0",
        "log2(n) steps of `x = op(x, jnp.where(iota >= s, pltpu.roll(x, s, axis), identity))` for s = 1, 2, 4, …",
    ),
    Lack(
        "`jax.lax.top_k`",
        _primitive("top_k"),
        "k times: the maximum, its first place (the least `iota` of it), and `jnp.where(iota == place, -jnp.inf, x)`",
    ),
    Lack(
        "`jnp.sort`, `argsort`, `median`",
        _primitive("sort"),
        "a bitonic network of `pltpu.roll` and `jnp.where`; if n is small, take n maxima, each masked once it is found",
    ),
    Lack(
        "`jnp.argmax` and `argmin` of whole numbers",
        r"Only float32 is supported",
        "those of `x.astype(jnp.float32)`, or the least `iota` where the maximum stands",
    ),
    Lack(
        "rows that an array of indices chooses, `x[indices]`, and `jnp.searchsorted`",
        r"Only take_along_axis-like gathers supported",
        "a product with `(iota == indices[:, None])` in float32, `precision='highest'`; "
        "of rows in HBM a copy each, `pltpu.make_async_copy`, by indices in SMEM",
    ),
    Lack(
        "`jnp.take_along_axis` along an axis of more than 128 lanes or 8 rows",
        r"Multiple source vregs along gather dimension",
        "`jnp.sum(jnp.where(iota == index, x, 0), axis, keepdims=True)` for one place a row; or 128 lanes at a time",
    ),
    Lack(
        "`x.at[indices].add(y)`, `bincount`",
        _primitive("scatter-add|scatter_add"),
        "a product with `(iota == indices)` in float32, `precision='highest'`, added to x",
    ),
    Lack(
        "`x.at[i].set(y)`",
        _primitive("scatter"),
        "`jnp.where(iota == i, y, x)`, or a store to a reference, `x_ref[i] = y`",
    ),
    Lack(
        "`jax.lax.scan` with inputs or outputs for each step, `jax.lax.map`",
        r"Scan with \d+ extensive (?:output|argument)",
        "`jax.lax.fori_loop` over references: it reads `x_ref[pl.ds(i, 1)]`, writes `out_ref[pl.ds(i, 1)]`, and "
        "carries the state",
    ),
    Lack(
        "a slice of a value at a place that is computed, `x[i]` with a loop's i",
        _primitive("dynamic_slice|dynamic_update_slice"),
        "a slice of the reference, `x_ref[pl.ds(i, n)]`",
    ),
    Lack(
        "a slice with a stride, `x[::2]`",
        r"expected strides to be confined to \[1, 2\)",
        "`reshape` to an axis of 2 and one of its places, or a product with `(iota == 2 * iota)`",
    ),
    Lack(
        "`x[::-1]`, `jnp.flip`",
        _primitive("rev"),
        "a product with `(iota + iota == n - 1)` in float32, `precision='highest'`, or an index map that counts down",
    ),
    Lack(
        "`jax.lax.conv_general_dilated`",
        _primitive("conv_general_dilated"),
        "a sum over the window's places of shifted slices, each times its weight, or `jnp.dot` with it",
    ),
    Lack(
        "`jnp.prod`",
        _primitive("reduce_prod"),
        "halves of the axis multiplied, `x[:n] * x[n:]`, until one is left",
    ),
    Lack(
        "`jax.lax.erfc`, which `jax.nn.gelu(x, approximate=False)` has",
        _primitive("erfc"),
        "`1 - jax.lax.erf(x)`",
    ),
    Lack("`jnp.expm1`", _primitive("expm1"), "`jnp.tanh(x / 2) * (jnp.exp(x) + 1)` near 0, `jnp.exp(x) - 1` elsewhere"),
    Lack("`jnp.sinh`, `cosh`", _primitive("sinh|cosh"), "sums and differences of `jnp.exp(x)` and `jnp.exp(-x)`"),
    Lack("`jnp.arcsin`, `arccos`", _primitive("asin|acos"), "`jnp.arctan2(x, jnp.sqrt(1 - x * x))`"),
    Lack("`jnp.cbrt`", _primitive("cbrt"), "`jnp.sign(x) * jnp.exp(jnp.log(jnp.abs(x)) / 3)`"),
    Lack("`jax.lax.reduce_precision`", _primitive("reduce_precision"), "`x.astype(jnp.bfloat16).astype(x.dtype)`"),
    Lack("float16", r"Invalid vector type for load", "bfloat16, or float32"),
    Lack(
        "sums and products of int8, element by element",
        r"Only vector<i16> and vector<i32> are supported",
        "those of `x.astype(jnp.int32)`",
    ),
)


def advice(message: str) -> str:
    """Returns the end of a reason, which says what to write instead of the rejected form; empty: not known."""
    found = next((one for one in LACKS if re.search(one.said, message)), None)
    return f"; Mosaic has no form of {found.what}: write {found.instead}" if found else ""


def table() -> str:
    """Returns the whole table, as Markdown."""
    rows = "".join(f"| {one.what} | {one.instead} |\n" for one in LACKS)
    return f"| Mosaic has no form of | what stands in for it |\n|---|---|\n{rows}"


def main(_: list[str]) -> int:
    """Prints the table."""
    print(table(), end="")
    return 0
