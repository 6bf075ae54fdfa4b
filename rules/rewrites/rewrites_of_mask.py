"""Rewrites of masks: where a block sticks out of its array, its elements beyond the edge are set to zero.

The function takes a source and gives all legal rewrites. A part that is not understood has no rewrites. Runs without
JAX.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from rewrites.rewrite_record import Rewrite, rewrite
from rewrites.rewrites_of_product import products
from rewrites.rewrites_of_sum import indented
from source.kernel_body import KernelBody, Product
from source.pallas_source import PALLAS, whole_number
from source.source_text import Edit, Source


@dataclass(frozen=True)
class _Edge:
    """Elements from `size` on, along blocks of `block` that the index `step` counts, are set to zero."""

    step: str
    block: str
    size: str


def ragged_edges(source: Source) -> Iterator[Rewrite]:
    """Masks only the blocks that need it: whole blocks take a path without masks.

    That is legal only if a mask of a whole block is seen to be true throughout: it compares the places along a block of
    a named size with the rest of the array.
    """
    for body, product in products(source):
        work = body.work(product.statement)
        guards = [node for node in work or [] if isinstance(node, ast.If)]
        if work is None or len(guards) != 1 or product.target is None:
            continue
        edge = _edge(body, guards[0])
        text = _split(body, product, work, guards[0], edge) if edge is not None else None
        place = source.lines_of(work[0], product.statement)
        if text is not None and place is not None:
            note = f"product {source.code(product.left)} by {source.code(product.right)}: only ragged blocks are masked"
            yield from rewrite(source, note, [Edit(*place, text)])


def _edge(body: KernelBody, guard: ast.If) -> _Edge | None:
    """Returns the edge of all masks under a condition; None: they have no common edge."""
    if guard.orelse:
        return None
    edges = set()
    for node in guard.body:
        if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name):
            return None
        name = node.targets[0].id
        others = [use for use in body.source.uses(name, body.function) if not body.source.is_inside(use, guard)]
        if others:
            edges.add(_masked(body, name, node.value))
        elif body.source.calls(node.value, "jax.numpy.where"):
            return None
    return edges.pop() if len(edges) == 1 else None


def _masked(body: KernelBody, name: str, value: ast.expr) -> _Edge | None:
    """Returns the edge of `name = where(broadcasted_iota(dtype, name.shape, axis) < size - step * block, name, 0)`."""
    source = body.source
    if not isinstance(value, ast.Call) or source.qualified(value.func) != "jax.numpy.where" or len(value.args) != 3:
        return None
    condition, kept, zero = value.args
    is_masking = ast.unparse(kept) == name and isinstance(zero, ast.Constant) and zero.value == 0
    if not is_masking or not isinstance(condition, ast.Compare) or not isinstance(condition.ops[0], ast.Lt):
        return None
    iota, left = condition.left, source.resolve(condition.comparators[0], body.function)[0]
    if (
        not isinstance(iota, ast.Call)
        or source.qualified(iota.func) != "jax.lax.broadcasted_iota"
        or len(iota.args) != 3
    ):
        return None
    axis, shape = whole_number(iota.args[2]), body.shape_of(kept)
    if ast.unparse(iota.args[1]) != f"{name}.shape" or axis not in {0, 1} or shape is None:
        return None
    if not isinstance(left, ast.BinOp) or not isinstance(left.op, ast.Sub) or not isinstance(left.right, ast.BinOp):
        return None
    step, block, size = left.right.left, left.right.right, left.left
    if not isinstance(left.right.op, ast.Mult) or body.axis_of(step) is None:
        return None
    # The block's size in the kernel is that of its spec, so a whole block has nothing beyond the edge.
    bound = body.kernel.bound.get(ast.unparse(block))
    is_whole = bound is not None and ast.unparse(shape[axis]) == ast.unparse(bound)
    if not is_whole or not body.is_static(size, body.function):
        return None
    return _Edge(*(source.code(node) for node in (step, block, size)))


def _split(body: KernelBody, product: Product, work: list[ast.stmt], guard: ast.If, edge: _Edge) -> str | None:
    source, statement = body.source, product.statement
    first, own = source.lines_of(work[0], statement), source.lines_of(statement, statement)
    tests = source.span(guard.test)
    pallas = source.spelled(PALLAS)
    if first is None or own is None or "\n" in source.code(statement) or "#" in source.text[slice(*own)]:
        return None
    indent = source.indent_of(statement)
    make, ragged = source.fresh("block_product"), source.fresh("is_ragged")
    made = source.text[first[0] : tests[0]] + ragged + source.text[tests[1] : own[0]]
    start, end = source.span(statement)
    at = source.span(product.call)

    def taking(value: str) -> str:
        return f"{source.text[start : at[0]]}{make}({value}){source.text[at[1] : end]}"

    whole_block = f"({edge.step} + 1) * {edge.block} <= {edge.size}"
    ragged_block = f"({edge.step} + 1) * {edge.block} > {edge.size}"
    lines = [
        f"if {source.code(guard.test)}:",
        "",
        f"    @{pallas}.when({whole_block})",
        f"    def {source.fresh('_whole')}():",
        f"        {taking('False')}",
        "",
        f"    @{pallas}.when({ragged_block})",
        f"    def {source.fresh('_ragged')}():",
        f"        {taking('True')}",
        "",
        "else:",
        f"    {taking('False')}",
    ]
    text = f"{indent}def {make}({ragged}):\n{indented(made)}{indent}    return {source.code(product.call)}\n\n"
    return text + "".join(f"{indent}{line}\n" if line else "\n" for line in lines)
