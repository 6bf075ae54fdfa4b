"""The body of a kernel: its work, its sums over a grid axis, its products, and the known sizes.

Only straightforward bodies are understood, such as that of `kernels/matmul`. Runs without JAX.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property

from source.pallas_source import PALLAS, BlockSpec, Kernel, KernelCall, program_axis
from source.source_text import Scope, Source

_DOT = "jax.numpy.dot"
_CONTROL_FLOW = ("cond", "fori_loop", "map", "scan", "switch", "while_loop")
_METHODS = ("astype", "max", "min", "reshape", "sum")
_ZEROS = ("jax.numpy.zeros", "jax.numpy.zeros_like")


@dataclass(frozen=True)
class When:
    """`@pl.when(condition)` on a function of the body."""

    function: ast.FunctionDef
    condition: ast.expr


@dataclass(frozen=True)
class Sum:
    """A reference that is cleared in an axis' first step, added to once per step, and read, if at all, in the last.

    Nothing else in the kernel touches the reference, so it carries nothing from one block of the other axes to the
    next.
    """

    ref: str
    axis: int
    clear: When
    add: ast.AugAssign  # `ref[...] += value`, a statement of the body itself
    store: When | None  # None: an output


@dataclass(frozen=True)
class Product:
    """`jnp.dot(left, right, …)` of two matrices, once, in a statement of the body itself."""

    call: ast.Call
    left: ast.expr
    right: ast.expr
    statement: ast.Assign | ast.AugAssign
    # `ref` in `ref[...] = jnp.dot(…)`, also with `.astype(…)`, or in `ref[...] += jnp.dot(…)`; None: neither.
    target: str | None


class KernelBody:
    """The body of a call's kernel."""

    def __init__(self, source: Source, call: KernelCall, kernel: Kernel) -> None:
        self.source, self.call, self.kernel = source, call, kernel
        self.function = kernel.function
        body = kernel.function.body
        has_docstring = ast.get_docstring(kernel.function, clean=False) is not None
        self.statements = body[1:] if has_docstring else body

    # Structure.

    @cached_property
    def whens(self) -> list[When]:
        """The conditional parts of the body."""
        out = []
        for node in self.statements:
            if isinstance(node, ast.FunctionDef) and len(node.decorator_list) == 1 and not ast.unparse(node.args):
                call = node.decorator_list[0]
                is_when = isinstance(call, ast.Call) and self.source.qualified(call.func) == f"{PALLAS}.when"
                if is_when and len(call.args) == 1 and not call.keywords:  # type: ignore[attr-defined]
                    out.append(When(node, call.args[0]))  # type: ignore[attr-defined]
        return out

    def axis_of(self, node: ast.expr) -> int | None:
        """Returns the axis of `pl.program_id(2)`, or of a name that is bound to such a call."""
        value, _ = self.source.resolve(node, self.function)
        is_index = isinstance(value, ast.Call) and self.source.qualified(value.func) == f"{PALLAS}.program_id"
        return program_axis(self.source, value) if is_index else None

    def first_axis(self, condition: ast.expr) -> int | None:
        """The axis whose first step a condition asks for: `k == 0`."""
        sides = _equal_sides(condition)
        is_zero = sides is not None and isinstance(sides[1], ast.Constant) and sides[1].value == 0
        return self.axis_of(sides[0]) if sides is not None and is_zero else None

    def last_axis(self, condition: ast.expr) -> int | None:
        """The axis whose last step a condition asks for: `k == pl.num_programs(2) - 1`."""
        sides = _equal_sides(condition)
        if sides is None or (axis := self.axis_of(sides[0])) is None:
            return None
        last, _ = self.source.resolve(sides[1], self.function)
        if not isinstance(last, ast.BinOp) or not isinstance(last.op, ast.Sub) or ast.unparse(last.right) != "1":
            return None
        count, _ = self.source.resolve(last.left, self.function)
        is_count = isinstance(count, ast.Call) and self.source.qualified(count.func) == f"{PALLAS}.num_programs"
        return axis if is_count and program_axis(self.source, count) == axis else None

    def work(self, last: ast.stmt) -> list[ast.stmt] | None:
        """Returns the statements before `last` that make what it needs: assignments, also under static conditions.

        They are neighbours and assign only to names, and nothing after `last` uses the names. They read no memory
        except for inputs, which do not change. So they may become a function that is called where `last` is, or later.
        None: there are no such statements.
        """
        if last not in self.statements:
            return None
        at = self.statements.index(last)
        first = at
        while first > 0 and self._is_pure(self.statements[first - 1]):
            first -= 1
        behind = {n.id for node in self.statements[at + 1 :] for n in ast.walk(node) if isinstance(n, ast.Name)}
        while first < at and set(_stored(self.statements[first])) & behind:
            first += 1
        work = self.statements[first:at]
        stored, stored_within = _stored(self.function), [name for node in work for name in _stored(node)]
        made = set(stored_within)
        is_own = all(stored.count(name) == stored_within.count(name) for name in made)
        is_own = is_own and not made & set(self.kernel.bound)
        read = {n.id for node in work for n in ast.walk(node) if isinstance(n, ast.Name)}
        memory = {*self.kernel.outputs, *self.kernel.scratch, *filter(self.is_written, self.kernel.inputs)}
        has_long_text = any(
            isinstance(n, ast.Constant) and isinstance(n.value, str) and n.lineno != n.end_lineno
            for node in [*work, last]
            for n in ast.walk(node)
        )
        return work if is_own and not (made & behind or read & memory or has_long_text) else None

    def _is_pure(self, node: ast.stmt) -> bool:
        if isinstance(node, ast.If):
            return self.is_static(node.test, self.function) and all(map(self._is_pure, [*node.body, *node.orelse]))
        if not isinstance(node, ast.Assign):
            return False
        calls = [n for n in ast.walk(node.value) if isinstance(n, ast.Call)]
        is_known = all(map(self._is_pure_call, calls))
        is_plain = all(
            isinstance(n, ast.Name | ast.Tuple) or not isinstance(getattr(n, "ctx", None), ast.Store)
            for target in node.targets
            for n in ast.walk(target)
        )
        return is_known and is_plain and not any(isinstance(n, ast.Lambda) for n in ast.walk(node.value))

    def _is_pure_call(self, call: ast.Call) -> bool:
        module, _, name = self.source.qualified(call.func).rpartition(".")
        is_function = module in ("jax.numpy", "jax.lax") and name not in _CONTROL_FLOW
        is_method = not module and isinstance(call.func, ast.Attribute) and call.func.attr in _METHODS
        return is_function or is_method

    # Sums.

    def sums(self) -> list[Sum]:
        """Returns the scratch and outputs that sum something up over an axis of the grid."""
        found = [self._sum(ref) for ref in (*self.kernel.scratch, *self.kernel.outputs)]
        return [sum_ for sum_ in found if sum_ is not None]

    def _sum(self, ref: str) -> Sum | None:
        clears = [when for when in self.whens if self._clears(when, ref)]
        adds = [node for node in self.statements if self._adds(node, ref)]
        if len(clears) != 1 or len(adds) != 1:
            return None
        add, clear = adds[0], clears[0]
        assert isinstance(add, ast.AugAssign)
        axis = self.first_axis(clear.condition)
        seen = self.source.uses(ref, clear.function) + self.source.uses(ref, add)
        stores = [when for when in self.whens if when is not clear and self.source.uses(ref, when.function)]
        order = [clear.function, add]
        if ref in self.kernel.scratch:
            if len(stores) != 1 or self.last_axis(stores[0].condition) != axis or self._writes(stores[0], ref):
                return None
            seen += self.source.uses(ref, stores[0].function)
            order.append(stores[0].function)
        places = [self.statements.index(node) for node in order]
        is_all = len(seen) == len(self.source.uses(ref, self.function)) and len(self.source.uses(ref, add.value)) == 0
        if axis is None or not is_all or places != sorted(places):
            return None
        return Sum(ref, axis, clear, add, stores[0] if len(order) == 3 else None)

    def _clears(self, when: When, ref: str) -> bool:
        """Whether a part is only `ref[...] = jnp.zeros_like(ref)`."""
        body = when.function.body
        if len(body) != 1 or not isinstance(body[0], ast.Assign) or len(body[0].targets) != 1:
            return False
        value = body[0].value
        is_zero = isinstance(value, ast.Call) and self.source.qualified(value.func) in _ZEROS
        return whole(body[0].targets[0]) == ref and is_zero

    def _adds(self, node: ast.stmt, ref: str) -> bool:
        return isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and whole(node.target) == ref

    def _writes(self, when: When, ref: str) -> bool:
        """Whether a part does anything with a reference except for reading all of it."""
        reads = [n for n in ast.walk(when.function) if whole(n) == ref and isinstance(n.ctx, ast.Load)]  # type: ignore[attr-defined]
        return len(reads) != len(self.source.uses(ref, when.function)) - _attribute_uses(when.function, ref)

    # Products.

    def products(self) -> list[Product]:
        """The products of two matrices in the body itself."""
        out = []
        for node in self.statements:
            if not isinstance(node, ast.Assign | ast.AugAssign):
                continue
            calls = self.source.calls(node, _DOT)
            if len(calls) != 1 or len(calls[0].args) != 2:
                continue
            if any(keyword.arg != "preferred_element_type" for keyword in calls[0].keywords):
                continue
            left, right = calls[0].args
            is_conditional = any(
                isinstance(n, ast.IfExp | ast.Lambda | ast.BoolOp | ast.comprehension) for n in ast.walk(node)
            )
            if self.is_matrix(left) and self.is_matrix(right) and not is_conditional and calls[0].keywords:
                out.append(Product(calls[0], left, right, node, self._taken_by(node, calls[0])))
        return out

    def _taken_by(self, node: ast.Assign | ast.AugAssign, call: ast.Call) -> str | None:
        targets = [node.target] if isinstance(node, ast.AugAssign) else node.targets
        value = node.value
        is_cast = isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "astype"
        if is_cast and isinstance(node, ast.Assign):
            value = value.func.value  # type: ignore[attr-defined]
        is_sum = isinstance(node, ast.Assign) or isinstance(node.op, ast.Add)
        return whole(targets[0]) if value is call and is_sum and len(targets) == 1 else None

    def is_matrix(self, node: ast.expr) -> bool:
        """Whether an expression is a matrix: the whole of a block of two dimensions, as loaded, cast or masked."""
        ref = whole(node)
        if ref is not None:
            return ref in self.kernel.inputs and self.block_of(ref).is_matrix
        if isinstance(node, ast.Name):
            found = self.source.bindings(node.id, self.function)
            values = [binding.value for binding in found if isinstance(binding.value, ast.expr)]
            others = [value for value in values if not self._masks(value, node.id)]
            return len(values) == len(found) and bool(others) and all(map(self.is_matrix, others))
        is_cast = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "astype"
        return is_cast and self.is_matrix(node.func.value)  # type: ignore[attr-defined]

    def _masks(self, value: ast.expr, name: str) -> bool:
        """Whether a value is `jnp.where(condition, name, 0)`."""
        is_where = isinstance(value, ast.Call) and self.source.qualified(value.func) == "jax.numpy.where"
        args = value.args if isinstance(value, ast.Call) else []
        return (
            is_where
            and len(args) == 3
            and isinstance(args[1], ast.Name)
            and args[1].id == name
            and isinstance(args[2], ast.Constant)
        )

    def shape_of(self, node: ast.expr) -> tuple[ast.expr, ...] | None:
        """The shape of a matrix, as its block's spec has it."""
        if (ref := whole(node)) is not None:
            return self.block_of(ref).shape
        if isinstance(node, ast.Name):
            values = [binding.value for binding in self.source.bindings(node.id, self.function)]
            first = next((value for value in values if isinstance(value, ast.expr)), None)
            return self.shape_of(first) if first is not None and self.is_matrix(node) else None
        is_cast = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        return self.shape_of(node.func.value) if is_cast else None  # type: ignore[attr-defined]

    def loaded(self, node: ast.expr) -> str | None:
        """Returns the input whose whole block an expression is: a load, or a name that is bound only to one."""
        value, _ = self.source.resolve(node, self.function)
        ref = whole(value)
        return ref if ref in self.kernel.inputs and not self.is_written(ref) else None

    def is_written(self, ref: str) -> bool:
        """Whether the kernel may write to a reference: any use except for reading `ref[…]` or `ref.shape` counts."""
        reads = [
            n
            for n in ast.walk(self.function)
            if isinstance(n, ast.Subscript | ast.Attribute)
            and isinstance(n.value, ast.Name)
            and n.value.id == ref
            and isinstance(n.ctx, ast.Load)
            and (isinstance(n, ast.Subscript) or n.attr in ("shape", "dtype", "ndim"))
        ]
        return len(reads) != len(self.source.uses(ref, self.function))

    def block_of(self, ref: str) -> BlockSpec:
        """The blocks of an input or output."""
        if ref in self.kernel.inputs:
            return self.call.in_specs[self.kernel.inputs.index(ref)]
        return self.call.out_specs[self.kernel.outputs.index(ref)]

    # Sizes.

    def is_static(self, node: ast.expr, scope: Scope) -> bool:
        """Whether an expression is made of whole numbers that are known when the kernel is traced."""
        if isinstance(node, ast.Constant):
            return isinstance(node.value, int)
        if isinstance(node, ast.Name | ast.Attribute):
            if isinstance(node, ast.Name) and scope is self.function and node.id in self.kernel.bound:
                return self.is_static(self.kernel.bound[node.id], self.call.scope)
            value, at = self.source.resolve(node, scope)
            return value is not node and isinstance(value, ast.expr) and self.is_static(value, at)
        if isinstance(node, ast.Subscript):
            return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
        if isinstance(node, ast.Call):
            name = self.source.qualified(node.func) or ast.unparse(node.func)
            return name in ("min", "max", f"{PALLAS}.cdiv") and all(self.is_static(part, scope) for part in node.args)
        is_made = isinstance(node, ast.BinOp | ast.Compare | ast.UnaryOp | ast.BoolOp | ast.IfExp)
        parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
        return is_made and all(self.is_static(part, scope) for part in parts)

    def size(self, node: ast.expr, scope: Scope) -> int | None:
        """Returns the known value of a size; for `min(…)`, the smallest known part. None: not known."""
        value, at = self.source.resolve(node, scope)
        if isinstance(value, ast.Constant):
            return value.value if type(value.value) is int else None
        if isinstance(value, ast.Call) and ast.unparse(value.func) == "min":
            known = [size for part in value.args if (size := self.size(part, at)) is not None]
            return min(known) if known else None
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
            left, right = self.size(value.left, at), self.size(value.right, at)
            return left * right if left is not None and right is not None else None
        return None


def whole(node: ast.AST | None) -> str | None:
    """The name in `name[...]`."""
    is_whole = (
        isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and isinstance(node.slice, ast.Constant)
    )
    return node.value.id if is_whole and node.slice.value is ... else None  # type: ignore[union-attr]


def _equal_sides(condition: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    is_equality = (
        isinstance(condition, ast.Compare) and len(condition.ops) == 1 and isinstance(condition.ops[0], ast.Eq)
    )
    return (condition.left, condition.comparators[0]) if is_equality else None  # type: ignore[attr-defined]


def _stored(node: ast.AST) -> list[str]:
    return [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]


def _attribute_uses(within: ast.AST, ref: str) -> int:
    """Returns how often a part uses a reference's shape or dtype."""
    return sum(
        isinstance(n, ast.Attribute)
        and isinstance(n.value, ast.Name)
        and n.value.id == ref
        and n.attr in ("shape", "dtype")
        for n in ast.walk(within)
    )
