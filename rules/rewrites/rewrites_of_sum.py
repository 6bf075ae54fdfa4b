"""Rewrites of sums over an axis of the grid: where they are kept, their type, and their first and last steps.

Each function takes a source and gives all legal rewrites. A part that is not understood has no rewrites. Runs without
JAX.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from rewrites.rewrite_record import Rewrite, rewrite
from source.kernel_body import KernelBody, Sum, whole
from source.pallas_source import PALLAS, TPU, KernelCall, find_calls
from source.source_text import Edit, Source

_FLOAT32 = "jax.numpy.float32"


def sums(source: Source) -> Iterator[tuple[KernelBody, Sum]]:
    """Yields the sums of the kernels that are understood, if they are statements on lines of their own."""
    for call in find_calls(source):
        if call.kernel is None:
            continue
        body = KernelBody(source, call, call.kernel)
        for sum_ in body.sums():
            parts = [sum_.clear.function, sum_.add, *([sum_.store.function] if sum_.store else [])]
            if all(source.lines_of(part, part) for part in parts):
                yield body, sum_


def accumulators(source: Source) -> Iterator[Rewrite]:
    """Keeps a sum in the output's block instead of in scratch memory, or the other way round.

    The sum goes into the output only if the output is float32, as scratch is, and if its block stays while the sum is
    made. It goes into float32 scratch, whatever the output's type is.
    """
    for body, sum_ in sums(source):
        if sum_.store is not None:
            yield from _into_output(body, sum_)
        else:
            yield from _into_scratch(body, sum_)


def end_steps(source: Source) -> Iterator[Rewrite]:
    """Changes the end steps of a sum of products.

    The first step may write its product, instead of adding it to zeros. The last step may add its product on the way to
    the output, and not to the scratch memory first. Or both.
    """
    for body, sum_ in sums(source):
        function = _product_function(body, sum_)
        if function is None:
            continue
        yield from _first_step(body, sum_, function)
        reads = [n for n in ast.walk(sum_.store.function) if whole(n) == sum_.ref] if sum_.store else []
        if len(reads) == 1 and _is_float32_sum(body, sum_):
            yield from _last_step(body, sum_, function, reads[0])
            yield from _first_and_last_step(body, sum_, function, reads[0])


def _first_step(body: KernelBody, sum_: Sum, function: _ProductFunction) -> Iterator[Rewrite]:
    source, ref, first = body.source, sum_.ref, sum_.clear.condition
    cleared = _without(source, sum_.clear.function)
    if cleared is None:
        return
    cast = "" if _is_float32_sum(body, sum_) else f".astype({ref}.dtype)"
    parts = [
        _when(source, sum_, source.code(first), sum_.clear.function.name, f"{ref}[...] = {function.name}(){cast}"),
        _when(source, sum_, _negated(source, first), source.fresh("_add"), f"{ref}[...] += {function.name}()"),
    ]
    edit = Edit(function.start, function.end, "\n".join([function.text, *parts]))
    yield from rewrite(source, f"{ref}: the first step writes its product, no zeros before it", [*cleared, edit])


def _last_step(body: KernelBody, sum_: Sum, function: _ProductFunction, read: ast.AST) -> Iterator[Rewrite]:
    source, ref, store = body.source, sum_.ref, sum_.store
    assert store is not None
    add = _when(
        source, sum_, _negated(source, store.condition), source.fresh("_add"), f"{ref}[...] += {function.name}()"
    )
    edits = [
        Edit(function.start, function.end, f"{function.text}\n{add}"),
        source.replacing(read, f"({ref}[...] + {function.name}())"),
    ]
    yield from rewrite(source, f"{ref}: the last step adds its product on the way to the output", edits)


def _first_and_last_step(body: KernelBody, sum_: Sum, function: _ProductFunction, read: ast.AST) -> Iterator[Rewrite]:
    """Changes both end steps. If there is only one step, it is the first one, and its product is the sum."""
    source, ref, store = body.source, sum_.ref, sum_.store
    cleared = _without(source, sum_.clear.function)
    assert store is not None
    place = source.lines_of(store.function, store.function)
    at = source.span(read)
    if cleared is None or place is None:
        return
    first, last = source.code(sum_.clear.condition), source.code(store.condition)
    later, sooner = _negated(source, sum_.clear.condition), _negated(source, store.condition)
    parts = [
        _when(source, sum_, first, sum_.clear.function.name, f"{ref}[...] = {function.name}()"),
        _when(source, sum_, f"({later}) & ({sooner})", source.fresh("_add"), f"{ref}[...] += {function.name}()"),
    ]
    condition, name = source.span(store.condition), store.function.name

    def stored(only: str, own_name: str, value: str) -> str:
        text = source.text[place[0] : condition[0]] + f"({last}) & ({only})" + source.text[condition[1] : at[0]]
        return text.replace(f"def {name}(", f"def {own_name}(") + value + source.text[at[1] : place[1]]

    stores = [stored(first, source.fresh("_store_only"), f"{ref}[...]")]
    stores.append(stored(later, name, f"({ref}[...] + {function.name}())"))
    edits = [
        Edit(function.start, function.end, "\n".join([function.text, *parts])),
        Edit(*place, "\n".join(stores)),
    ]
    note = f"{ref}: the first step writes its product, the last one adds its own on the way to the output"
    yield from rewrite(source, note, [*cleared, *edits])


def scratch_types(source: Source) -> Iterator[Rewrite]:
    """Makes narrow scratch memory float32; only if all that is written to it, and made from it, is cast.

    Memory is never made narrower, because the judge rejects a narrow accumulator.
    """
    for call in find_calls(source):
        for index, node in enumerate(call.scratch):
            dtype = _vmem_type(source, node)
            narrow = dtype is not None and source.qualified(dtype) in ("jax.numpy.bfloat16", "jax.numpy.float16")
            jnp = source.spelled("jax.numpy")
            if call.kernel is None or dtype is None or not narrow or jnp is None:
                continue
            ref = call.kernel.scratch[index]
            if source.is_inside(node, call.structure) and _is_cast_throughout(source, call.kernel.function, ref):
                edit = source.replacing(dtype, f"{jnp}.float32")
                yield from rewrite(source, f"{ref}: {ast.unparse(dtype)} -> {jnp}.float32", [edit])


# Moves between scratch memory and output.


def _into_output(body: KernelBody, sum_: Sum) -> Iterator[Rewrite]:
    source, call, store = body.source, body.call, sum_.store
    assert store is not None
    statement = store.function.body[0]
    if len(store.function.body) != 1 or not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return
    out, value = whole(statement.targets[0]), statement.value
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "astype":
        value = value.func.value
    spec = call.output_of(out) if out is not None else None
    scratch = call.scratch[body.kernel.scratch.index(sum_.ref)]
    if out is None or spec is None or whole(value) != sum_.ref or not _is_float32_output(source, call, out):
        return
    uses = len(source.uses(out, store.function)), len(source.uses(out, body.function))
    is_same = _scratch_shape(scratch) == _block_shape(spec.shape)
    if uses[0] != uses[1] or not is_same or not _is_float32_sum(body, sum_) or sum_.axis in spec.axes(len(call.grid)):
        return
    edits, dropped = _without(source, store.function), _without_scratch(body, sum_.ref)
    if edits is None or dropped is None:
        return
    edits += dropped
    inside = [*source.uses(sum_.ref, sum_.clear.function), *source.uses(sum_.ref, sum_.add)]
    edits += [source.replacing(use, out) for use in inside]
    yield from rewrite(source, f"{out}: accumulate in the output block instead of scratch {sum_.ref}", edits)


def _into_scratch(body: KernelBody, sum_: Sum) -> Iterator[Rewrite]:
    source, call = body.source, body.call
    spec, tpu, pallas, jnp = call.output_of(sum_.ref), *map(source.spelled, (TPU, PALLAS, "jax.numpy"))
    if spec is None or spec.shape is None or not spec.is_matrix or None in (tpu, pallas, jnp):
        return
    positional = body.function.args.args
    is_last = bool(positional) and positional[-1].arg == (*body.kernel.outputs, *body.kernel.scratch)[-1]
    if (
        not is_last
        or call.is_pipeline
        or sum_.axis in spec.axes(len(call.grid))
        or source.scope_of(spec.call) is not call.scope
    ):
        return
    scratch = source.fresh("acc_ref")
    memory = f"{tpu}.VMEM({_block_shape(spec.shape)}, {jnp}.float32)"
    given = call.keyword("scratch_shapes")
    end = source.span(positional[-1])[1]
    edits = [Edit(end, end, f", {scratch}")]
    if given is None:
        edits.append(source.appending(call.structure, f"scratch_shapes=[{memory}]"))
    elif isinstance(given, ast.List) and given.elts:
        at = source.span(given.elts[-1])[1]
        edits.append(Edit(at, at, f", {memory}"))
    else:
        return
    for use in [*source.uses(sum_.ref, sum_.clear.function), *source.uses(sum_.ref, sum_.add)]:
        edits.append(source.replacing(use, scratch))
    place = source.lines_of(body.statements[-1], body.statements[-1])
    condition = sum_.clear.condition
    if place is None or not isinstance(condition, ast.Compare):
        return
    last = f"{source.code(condition.left)} == {pallas}.num_programs({sum_.axis}) - 1"
    store = f"{sum_.ref}[...] = {scratch}[...].astype({sum_.ref}.dtype)"
    text = "\n" + _when(source, sum_, last, source.fresh("_store"), store)
    edits.append(Edit(place[1], place[1], text))
    yield from rewrite(source, f"{sum_.ref}: accumulate in float32 scratch instead of the output block", edits)


def _without_scratch(body: KernelBody, ref: str) -> list[Edit] | None:
    """Drops a scratch reference from the kernel's parameters and from the call."""
    source, given = body.source, body.call.keyword("scratch_shapes")
    index = body.kernel.scratch.index(ref)
    if not isinstance(given, ast.Tuple | ast.List) or not source.is_inside(
        body.call.scratch[index], body.call.structure
    ):
        return None
    arguments = body.function.args.args
    at = [argument.arg for argument in arguments].index(ref)
    if at == 0:
        return None
    edits = [Edit(source.span(arguments[at - 1])[1], source.span(arguments[at])[1], "")]
    if len(given.elts) == 1:
        edits.append(source.replacing(given, "[]"))
    elif index > 0:
        edits.append(Edit(source.span(given.elts[index - 1])[1], source.span(given.elts[index])[1], ""))
    else:
        edits.append(Edit(source.span(given.elts[0])[0], source.span(given.elts[1])[0], ""))
    has_comment = any("#" in source.text[edit.start : edit.end] for edit in edits)
    return None if has_comment else edits


def _is_float32_output(source: Source, call: KernelCall, ref: str) -> bool:
    """Whether an output is declared as float32."""
    node = call.keyword("out_shape")
    if node is None or call.kernel is None:
        return False
    value, scope = source.resolve(node, call.scope)
    if isinstance(value, ast.Tuple | ast.List):
        value, _ = source.resolve(value.elts[call.kernel.outputs.index(ref)], scope)
    if not isinstance(value, ast.Call) or source.qualified(value.func) != "jax.ShapeDtypeStruct":
        return False
    given = [*value.args[1:2], *(keyword.value for keyword in value.keywords if keyword.arg == "dtype")]
    return len(given) == 1 and source.qualified(given[0]) == _FLOAT32


def _is_float32_sum(body: KernelBody, sum_: Sum) -> bool:
    """Whether both the added product and the sum that it is added to are float32."""
    keywords = [k.value for product in body.products() if product.call is sum_.add.value for k in product.call.keywords]
    if sum_.ref not in body.kernel.scratch or len(keywords) != 1:
        return False
    dtype = _vmem_type(body.source, body.call.scratch[body.kernel.scratch.index(sum_.ref)])
    return dtype is not None and {body.source.qualified(node) for node in (dtype, keywords[0])} == {_FLOAT32}


def _vmem_type(source: Source, node: ast.expr) -> ast.expr | None:
    """Returns the type in `pltpu.VMEM(shape, dtype)`."""
    is_vmem = isinstance(node, ast.Call) and source.qualified(node.func) == f"{TPU}.VMEM"
    return node.args[1] if is_vmem and len(node.args) == 2 else None  # type: ignore[attr-defined]


def _scratch_shape(node: ast.expr) -> str:
    return ast.unparse(node.args[0]) if isinstance(node, ast.Call) and node.args else ""


def _block_shape(shape: tuple[ast.expr, ...] | None) -> str:
    return ast.unparse(ast.Tuple(list(shape or ()), ast.Load()))


def _is_cast_throughout(source: Source, function: ast.FunctionDef, ref: str) -> bool:
    """Whether each statement with a reference is `name[...] = value.astype(name.dtype)`, or zeros like it."""
    statements = set()
    for use in source.uses(ref, function):
        node: ast.AST | None = use
        while node is not None and not isinstance(node, ast.stmt):
            node = source.parent(node)
        statements.add(node)
    for node in statements:
        if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(node.value, ast.Call):
            return False
        target, value = whole(node.targets[0]), node.value
        is_cast = isinstance(value.func, ast.Attribute) and value.func.attr == "astype"
        is_zero = source.qualified(value.func) == "jax.numpy.zeros_like"
        argument = ast.unparse(value.args[0]) if len(value.args) == 1 else ""
        if target is None or not ((is_cast and argument == f"{target}.dtype") or (is_zero and argument == target)):
            return False
    return bool(statements)


# Text.


@dataclass(frozen=True)
class _ProductFunction:
    """A function that makes the product that a step adds, and the characters of the source that it replaces."""

    name: str
    start: int
    end: int
    text: str


def _product_function(body: KernelBody, sum_: Sum) -> _ProductFunction | None:
    source = body.source
    is_product = any(product.call is sum_.add.value for product in body.products())
    work = body.work(sum_.add) if is_product else None
    if work is None:
        return None
    place = source.lines_of(work[0] if work else sum_.add, sum_.add)
    add = source.lines_of(sum_.add, sum_.add)
    if place is None or add is None or "#" in source.text[add[0] : add[1]]:
        return None
    indent, name = source.indent_of(sum_.add), source.fresh("block_product")
    made = indented(source.text[place[0] : add[0]])
    returned = f"{indent}    return {_value(source, sum_.add.value)}\n"
    return _ProductFunction(name, *place, f"{indent}def {name}():\n{made}{returned}")


def indented(text: str) -> str:
    """Indents lines by one more level."""
    return "".join(f"    {line}" if line.strip() else line for line in text.splitlines(keepends=True))


def _value(source: Source, node: ast.expr) -> str:
    code = source.code(node)
    return f"({code})" if "\n" in code else code


def _when(source: Source, sum_: Sum, condition: str, name: str, statement: str) -> str:
    indent = source.indent_of(sum_.add)
    return f"{indent}@{source.spelled(PALLAS)}.when({condition})\n{indent}def {name}():\n{indent}    {statement}\n"


def _negated(source: Source, condition: ast.expr) -> str:
    """Returns `k != 0` for `k == 0`."""
    assert isinstance(condition, ast.Compare)
    return f"{source.code(condition.left)} != {source.code(condition.comparators[0])}"


def _without(source: Source, function: ast.FunctionDef) -> list[Edit] | None:
    """Drops a conditional part, with the blank lines after it; None: that would drop a comment."""
    place = source.lines_of(function, function)
    if place is None or "#" in source.text[place[0] : place[1]]:
        return None
    end = place[1]
    while source.text[end : end + 1] == "\n":
        end += 1
    return [Edit(place[0], end, "")]
