"""Rewrites of a kernel's matrix products: in parts, in a loop, and with the operands the other way round.

Each function takes a source and gives all legal rewrites. A part that is not understood has no rewrites. Runs without
JAX.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from rewrites.rewrite_record import Rewrite, rewrite
from source.kernel_body import KernelBody, Product
from source.pallas_source import PALLAS, find_calls
from source.source_text import Edit, Source

# The numbers of parts into which a product is cut.
_PARTS = (2, 4, 8)

# The least width and height (rows) of a part. The matrix unit takes 256 of the contracted dimension and of the columns
# at a time, and with few rows it waits for the next columns. Both are whole tiles of lanes and sublanes.
_WIDTH, _HEIGHT = 256, 128


@dataclass(frozen=True)
class _Dimension:
    """A dimension that a product can be cut along: number `index` of the left operand, or of the right one."""

    name: str
    is_left: bool
    index: int
    least: int  # of a part


_CONTRACTED = _Dimension("contracted", True, 1, _WIDTH)
_ROWS = _Dimension("rows", True, 0, _HEIGHT)
_COLUMNS = _Dimension("columns", False, 1, _WIDTH)


def products(source: Source) -> Iterator[tuple[KernelBody, Product]]:
    """Yields the products of the kernels that are understood."""
    for call in find_calls(source):
        if call.kernel is not None:
            body = KernelBody(source, call, call.kernel)
            for product in body.products():
                yield body, product


def parts(source: Source) -> Iterator[Rewrite]:
    """Makes a product several smaller ones, along the contracted dimension, the rows or the columns, one after another.

    All parts have one size. A product that cannot be divided in this way is not cut, whether that is known here or only
    when the kernel is traced.
    """
    for body, product in products(source):
        for dimension in (_CONTRACTED, _ROWS, _COLUMNS):
            for count in _PARTS:
                if not _is_divisible(body, product, dimension, count):
                    continue
                text = _in_parts(body, product, dimension, count)
                note = f"product {source.code(product.call.args[0])} by {source.code(product.call.args[1])}"
                yield from _replacing(source, product, f"{note}: {dimension.name} in {count} parts", text)


def loops(source: Source) -> Iterator[Rewrite]:
    """Makes a product a loop of smaller ones along the contracted dimension, over slices of the references.

    Both operands must be blocks as they were loaded.
    """
    for body, product in products(source):
        for count in _PARTS:
            if not _is_divisible(body, product, _CONTRACTED, count):
                continue
            text = _in_loop(body, product, count)
            note = f"product {source.code(product.call.args[0])} by {source.code(product.call.args[1])}"
            yield from _replacing(source, product, f"{note}: a loop over {count} parts", text)


def operand_orders(source: Source) -> Iterator[Rewrite]:
    """Makes a product x y the transposed product of transposed operands, so that the MXU holds the other operand."""
    jax = source.spelled("jax.lax")
    if jax is None:
        return
    for _, product in products(source):
        left, right = source.code(product.left), source.code(product.right)
        keywords = _keywords(source, product.call)
        text = f"{jax}.dot_general({right}, {left}, (((0,), (1,)), ((), ())){keywords}).T"
        yield from rewrite(
            source,
            f"product {left} by {right}: operands swapped, result transposed",
            [source.replacing(product.call, text)],
        )


def _keywords(source: Source, call: ast.Call) -> str:
    return "".join(f", {keyword.arg}={source.code(keyword.value)}" for keyword in call.keywords)


def _is_divisible(body: KernelBody, product: Product, dimension: _Dimension, count: int) -> bool:
    """Whether all parts can have one size, or that is not known. A size counts as the most that it can be."""
    shape = body.shape_of(product.left if dimension.is_left else product.right)
    if shape is None:
        return False
    size = body.size(shape[dimension.index], body.call.scope)
    return size is None or size % (count * dimension.least) == 0


def _operands(body: KernelBody, product: Product) -> tuple[str, str]:
    """Returns the operands, to be sliced: references where they are loaded whole."""
    left, right = body.loaded(product.left), body.loaded(product.right)
    return left or body.source.code(product.left), right or body.source.code(product.right)


def _in_parts(body: KernelBody, product: Product, dimension: _Dimension, count: int) -> list[str] | None:
    source = body.source
    dot, keywords = source.code(product.call.func), _keywords(source, product.call)
    left, right = _operands(body, product)
    size, step, start, part = (source.fresh(name) for name in (dimension.name, "step", "start", "part"))
    out = [
        f"{size} = {left if dimension.is_left else right}.shape[{dimension.index}]",
        f"{step} = {size} // {count} if {size} % {count * dimension.least} == 0 else {size}",
    ]
    whole_left, whole_right = source.code(product.left), source.code(product.right)
    cut = {
        "contracted": f"{left}[:, {part}], {right}[{part}, :]",
        "rows": f"{left}[{part}, :], {whole_right}",
        "columns": f"{whole_left}, {right}[:, {part}]",
    }[dimension.name]
    loop = [f"for {start} in range(0, {size}, {step}):", f"    {part} = slice({start}, {start} + {step})"]
    dot_of_part = f"{dot}({cut}{keywords})"
    statement = product.statement
    if dimension is _CONTRACTED and product.target is not None and isinstance(statement, ast.AugAssign):
        return [*out, *loop, f"    {product.target}[...] += {dot_of_part}"]
    if dimension is _CONTRACTED:
        total = source.fresh("total")
        first = f"{dot}({left}[:, :{step}], {right}[:{step}, :]{keywords})"
        loop[0] = f"for {start} in range({step}, {size}, {step}):"
        return [*out, f"{total} = {first}", *loop, f"    {total} += {dot_of_part}", _with(source, product, total)]
    if product.target is None:
        return None
    at = f"{part}, :" if dimension is _ROWS else f":, {part}"
    if isinstance(statement, ast.AugAssign):
        return [*out, *loop, f"    {product.target}[{at}] += {dot_of_part}"]
    value = _with(source, product, dot_of_part, statement.value)
    return [*out, *loop, f"    {product.target}[{at}] = {value}"]


def _in_loop(body: KernelBody, product: Product, count: int) -> list[str] | None:
    source = body.source
    pallas, lax, jnp = source.spelled(PALLAS), source.spelled("jax.lax"), source.spelled("jax.numpy")
    left, right = body.loaded(product.left), body.loaded(product.right)
    if left is None or right is None or pallas is None or lax is None or jnp is None:
        return None
    dot, keywords = source.code(product.call.func), _keywords(source, product.call)
    dtype = source.code(product.call.keywords[0].value)
    size, step, index, part, total, add = (
        source.fresh(name) for name in ("contracted", "step", "index", "part", "total", "add_part")
    )
    dot_of_part = f"{dot}({left}[:, {part}], {right}[{part}, :]{keywords})"
    is_added = product.target is not None and isinstance(product.statement, ast.AugAssign)
    out = [
        f"{size} = {left}.shape[1]",
        f"{step} = {size} // {count} if {size} % {count * _WIDTH} == 0 else {size}",
        "",
        f"def {add}({index}, {total}):",
        f"    {part} = {pallas}.ds({pallas}.multiple_of({index} * {step}, {step}), {step})",
    ]
    loop = f"{lax}.fori_loop(0, {size} // {step}, {add}"
    if is_added:
        out += [f"    {product.target}[...] += {dot_of_part}", f"    return {total}", "", f"{loop}, 0)"]
        return out
    zeros = f"{jnp}.zeros(({left}.shape[0], {right}.shape[1]), {dtype})"
    out += [f"    return {total} + {dot_of_part}", "", f"{total} = {loop}, {zeros})"]
    return [*out, _with(source, product, total)]


def _with(source: Source, product: Product, text: str, within: ast.AST | None = None) -> str:
    """Returns the product's statement, or a part of it, with a text in the product's place."""
    start, end = source.span(within or product.statement)
    at = source.span(product.call)
    return source.text[start : at[0]] + text + source.text[at[1] : end]


def _replacing(source: Source, product: Product, description: str, lines: list[str] | None) -> Iterator[Rewrite]:
    place = source.lines_of(product.statement, product.statement)
    if lines is None or place is None or "#" in source.text[place[0] : place[1]]:
        return
    indent = source.indent_of(product.statement)
    text = "".join(f"{indent}{line}\n" if line else "\n" for line in lines)
    yield from rewrite(source, description, [Edit(*place, text)])
