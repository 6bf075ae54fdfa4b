"""Rewrites of the loops in a kernel: how far they are unrolled, and arrays that can be made before them.

Each function takes a source and gives all legal rewrites. A part that is not understood has no rewrites. Runs without
JAX.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from rewrites.rewrite_record import Rewrite, rewrite
from source.kernel_body import KernelBody
from source.pallas_source import find_calls
from source.source_text import Edit, Source

_LOOP = "jax.lax.fori_loop"

# Functions that make the same array whenever they are called, from sizes only.
_MAKERS = (
    "jax.lax.broadcasted_iota",
    "jax.lax.iota",
    "jax.numpy.arange",
    "jax.numpy.full",
    "jax.numpy.ones",
    "jax.numpy.zeros",
)

_FACTORS = (1, 2, 4, 8)


def unrolling(source: Source) -> Iterator[Rewrite]:
    """Unrolls a loop by another factor, or wholly; only if its bounds are known when the kernel is traced."""
    for body, call in _loops(source):
        if len(call.args) != 4 or not all(body.is_static(bound, body.function) for bound in call.args[:2]):
            continue
        given = [keyword.value for keyword in call.keywords if keyword.arg == "unroll"]
        if len(call.keywords) != len(given) or any(not isinstance(node, ast.Constant) for node in given):
            continue
        now = given[0].value if given else None  # type: ignore[attr-defined]
        bounds = [body.size(bound, body.function) for bound in call.args[:2]]
        steps = bounds[1] - bounds[0] if bounds[0] is not None and bounds[1] is not None else None
        for factor in (*_FACTORS, True):
            is_now = factor is now if isinstance(factor, bool) else factor == now and not isinstance(now, bool)
            is_rolled = factor == 1 and not isinstance(factor, bool)
            if is_now or (is_rolled and now in (None, False)):
                continue
            if (
                steps is not None
                and not isinstance(factor, bool)
                and (factor > 1 and (factor >= steps or steps % factor))
            ):
                continue
            edit = source.replacing(given[0], str(factor)) if given else source.appending(call, f"unroll={factor}")
            note = "fully unrolled" if factor is True else "rolled up" if is_rolled else f"unrolled by {factor}"
            yield from rewrite(source, f"loop of {ast.unparse(call.args[2])}: {note}", [edit])


def hoisting(source: Source) -> Iterator[Rewrite]:
    """Makes an array before a loop, if each step makes it from sizes and from names that the loop does not bind."""
    for body, call in _loops(source):
        function, _ = source.resolve(call.args[2], body.function) if len(call.args) == 4 else (None, None)
        if not isinstance(function, ast.FunctionDef) or function not in body.statements:
            continue
        for node in function.body[:-1]:
            place, at = source.lines_of(node, node), source.lines_of(function, function)
            if place is None or at is None or not _is_invariant(body, function, node):
                continue
            code = source.text[place[0] : place[1]].lstrip()
            edits = [Edit(at[0], at[0], source.indent_of(function) + code), Edit(*place, "")]
            yield from rewrite(source, f"{ast.unparse(node)}: computed before the loop", edits)


def _loops(source: Source) -> Iterator[tuple[KernelBody, ast.Call]]:
    """Yields the loops of the kernels' own bodies."""
    for call in find_calls(source):
        if call.kernel is not None:
            body = KernelBody(source, call, call.kernel)
            for loop in source.calls(body.function, _LOOP):
                if source.scope_of(loop) is body.function:
                    yield body, loop


def _is_invariant(body: KernelBody, function: ast.FunctionDef, node: ast.stmt) -> bool:
    if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name):
        return False
    source, name = body.source, node.targets[0].id
    stores = [use for use in source.uses(name) if isinstance(use.ctx, ast.Store)]
    if len(stores) != 1 or any(not source.is_inside(use, function) for use in source.uses(name)):
        return False
    if node.lineno != node.end_lineno or not source.calls(node.value, *_MAKERS):
        return False
    allowed = (ast.Call, ast.Name, ast.Attribute, ast.Constant, ast.Tuple, ast.Compare, ast.BinOp, ast.expr_context)
    operators = (ast.operator, ast.cmpop, ast.keyword, ast.Subscript)
    for part in ast.walk(node.value):
        if not isinstance(part, (*allowed, *operators)):
            return False
        if isinstance(part, ast.Call) and source.qualified(part.func) not in _MAKERS:
            return False
        if isinstance(part, ast.Subscript) and not (
            isinstance(part.value, ast.Attribute) and part.value.attr == "shape"
        ):
            return False
        if isinstance(part, ast.Name) and not _is_known_before(body, function, part):
            return False
    return True


def _is_known_before(body: KernelBody, function: ast.FunctionDef, name: ast.Name) -> bool:
    """Whether a name means the same before the loop's function as in it."""
    if body.source.bindings(name.id, function):
        return False
    own = [n for n in body.source.uses(name.id, body.function) if not isinstance(n.ctx, ast.Load)]
    return all(n.lineno < function.lineno for n in own) and len(own) <= 1
