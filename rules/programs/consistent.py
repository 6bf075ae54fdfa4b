"""The check that a traced candidate does not contradict itself, and says nothing that it may not say.

A jaxpr that comes over the wire says many things twice: an equation's operands have types, and so have its results, and
a kernel's description repeats both. The process that sent it is not trusted. So nothing is believed that can be
computed: all types and effects are inferred again, in every jaxpr, and contradictions are refused.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import jax.numpy as jnp
from jax._src import core, frozen_dict
from jax._src.pallas import core as pallas_core
from jax._src.pallas.mosaic import core as tpu_core
from jax._src.state import indexing
from jax._src.state import types as state_types

from programs import jaxprs, schema
from programs.schema import Refused, is_whole

# A grid's axis is counted in 32 bits.
_MOST_STEPS = 2**31 - 1
# No TPU has more VMEM.
_MOST_VMEM_BYTES = 2**28

_ORDERS = frozenset({"parallel", "core_parallel", "arbitrary"})
_BLOCKS = (pallas_core.Blocked, pallas_core.Element, pallas_core.BoundedSlice)

# Operations on references, and the parameter of each that says how its operands were flattened.
_ON_REFERENCES = {
    "dma_start": "tree",
    "dma_wait": "tree",
    "get": "tree",
    "swap": "tree",
    "addupdate": "tree",
    "masked_load": "args_tree",
    "masked_swap": "args_tree",
    "semaphore_signal": "args_tree",
    "semaphore_wait": "args_tree",
}


def check(closed: core.ClosedJaxpr) -> None:
    """Raises Refused, or an error of JAX, if a program contradicts itself or does things that are not allowed."""
    _check_constants(closed)
    _Walk().jaxpr(closed.jaxpr, is_inside=False)


def _check_constants(closed: core.ClosedJaxpr) -> None:
    said = [_kind(v.aval) for v in closed.jaxpr.constvars]
    if said != [_kind(core.typeof(const)) for const in closed.consts]:
        raise Refused("constants have other shapes or types than declared")


def _kind(aval: Any) -> tuple[Any, ...]:
    """Returns what two descriptions of the same array must have in common: its shape and its dtype."""
    return tuple(aval.shape), aval.dtype


class _Walk:
    """Goes through all jaxprs of a program, each at most once as outside of kernels, and once as inside."""

    def __init__(self) -> None:
        self._seen: set[tuple[int, bool]] = set()

    def jaxpr(self, jaxpr: core.Jaxpr, is_inside: bool) -> None:
        """Checks a jaxpr, and the jaxprs in it."""
        if (id(jaxpr), is_inside) in self._seen:
            return
        self._seen.add((id(jaxpr), is_inside))
        for equation in jaxpr.eqns:
            self._equation(equation, is_inside)
        # The inner jaxprs are checked first, because check_jaxpr would not say that an inner jaxpr is wrong.
        core.check_jaxpr(jaxpr)

    def _equation(self, equation: core.JaxprEqn, is_inside: bool) -> None:
        name = equation.primitive.name
        schema.check(equation, is_inside)
        for closed in _closed(equation.params.values()):
            _check_constants(closed)
        if name == "pallas_call":
            self._kernel(equation)
            return
        for inner in core.jaxprs_in_params(equation.params):
            self.jaxpr(inner, is_inside)
        if name in jaxprs.CALLS:
            body = equation.params[jaxprs.CALLS[name]]
            _check_operands(name, equation.invars, (body if isinstance(body, core.Jaxpr) else body.jaxpr).invars)
        elif name == "run_scoped":
            _check_operands(name, equation.invars, equation.params["jaxpr"].constvars)
        elif name in _ON_REFERENCES:
            _check_indexers(equation)

    def _kernel(self, equation: core.JaxprEqn) -> None:
        """Checks a pallas_call: its description, its body and its index maps."""
        params = equation.params
        mapping = params["grid_mapping"]
        if type(mapping) is not pallas_core.GridMapping:
            raise Refused("a kernel has no grid")
        _check_grid(mapping)
        _check_arrays(equation, mapping)
        _check_body(equation, mapping)
        for block in mapping.block_mappings:
            _check_block(block, mapping)
            with mapping.trace_env():
                self.jaxpr(block.index_map_jaxpr.jaxpr, is_inside=True)
        with mapping.trace_env():
            self.jaxpr(params["jaxpr"], is_inside=True)
        _check_aliases(params["input_output_aliases"], equation, mapping)
        _check_compiler_params(params["compiler_params"], mapping)
        _check_cost(params["cost_estimate"])


def _closed(values: Any) -> Iterator[core.ClosedJaxpr]:
    for value in values:
        if isinstance(value, core.ClosedJaxpr):
            yield value
        elif type(value) is tuple:
            yield from _closed(value)


def _check_operands(name: str, operands: Sequence[Any], inputs: Sequence[Any]) -> None:
    if [_type(atom.aval) for atom in operands] != [_type(v.aval) for v in inputs]:
        raise Refused(f"'{name}' is called with other operands than its body takes")


def _type(aval: Any) -> Any:
    return (type(aval), *_kind(aval)) if isinstance(aval, core.ShapedArray) else aval


def _check_indexers(equation: core.JaxprEqn) -> None:
    """Checks that every index into a reference has the shape of the part that it goes into."""
    name, tree = equation.primitive.name, equation.params[_ON_REFERENCES[equation.primitive.name]]
    avals = [atom.aval for atom in equation.invars]
    if name in ("get", "swap", "addupdate"):
        views = [(avals[0], tree.unflatten(avals[1 if name == "get" else 2 :]))]
    else:
        views = list(_views(tree.unflatten(avals)))
    for reference, transforms in views:
        aval = reference
        for transform in transforms:
            if isinstance(transform, indexing.NDIndexer) and tuple(transform.shape) != tuple(aval.shape):
                raise Refused(f"'{name}' goes into memory of shape {aval.shape} as if that were {transform.shape}")
            aval = transform.transform_type(aval)


def _views(operands: Any) -> Iterator[tuple[Any, Sequence[Any]]]:
    """Yields references among operands, with their transforms: both in one object, or one after the other."""
    last = None
    for operand in operands:
        if isinstance(operand, state_types.TransformedRef):
            yield operand.ref, operand.transforms
        elif isinstance(last, state_types.AbstractRef) and type(operand) is tuple:
            yield last, operand
        last = operand


def _check_grid(mapping: Any) -> None:
    for bound in mapping.grid:
        if bound is not pallas_core.dynamic_grid_dim and not is_whole(bound, 0, _MOST_STEPS):
            raise Refused("a bound of a kernel's grid is not a number of steps")
    if mapping.grid_names is not None or mapping.get_grid_indices is not None or mapping.local_grid_env is not None:
        raise Refused("a kernel's grid has names or an environment of its own")
    axes = range(len(mapping.grid))
    if not all(is_whole(axis) and axis in axes for axis in mapping.vmapped_dims):
        raise Refused("a kernel's grid has other axes than declared")
    numbers = (mapping.num_index_operands, mapping.num_inputs, mapping.num_outputs)
    if not all(is_whole(number, 0) for number in numbers):
        raise Refused("a kernel's operand counts are not numbers")
    if len(mapping.block_mappings) != mapping.num_inputs + mapping.num_outputs:
        raise Refused("a kernel's operands do not match its blocks")


def _check_arrays(equation: core.JaxprEqn, mapping: Any) -> None:
    """Checks that the arrays that a kernel describes are those that it is given, and those that come out."""
    bounds, first = mapping.num_dynamic_grid_bounds, mapping.num_dynamic_grid_bounds + mapping.num_index_operands
    if len(equation.invars) != first + mapping.num_inputs or len(equation.outvars) != mapping.num_outputs:
        raise Refused("a kernel is given other operands than it declares")
    if any(_kind(atom.aval) != ((), jnp.dtype("int32")) for atom in equation.invars[:bounds]):
        raise Refused("a bound of a kernel's grid is not a whole number")
    arrays = [*equation.invars[first:], *equation.outvars]
    said = [block.array_aval for block in mapping.block_mappings]
    for array, one in zip(arrays, said, strict=True):
        if type(one) is not core.ShapedArray or _kind(array.aval) != _kind(one):
            raise Refused(f"a kernel declares an array as {one}, but it is {array.aval}")
    results = [_kind(aval) for aval in equation.params["out_avals"]]
    if results != [_kind(v.aval) for v in equation.outvars]:
        raise Refused("a kernel returns other arrays than it declares")


def _check_body(equation: core.JaxprEqn, mapping: Any) -> None:
    """Checks that a kernel's body takes the prefetched scalars, the blocks, and its own memory."""
    body = equation.params["jaxpr"]
    bounds, scalars = mapping.num_dynamic_grid_bounds, mapping.num_index_operands
    given = equation.invars[bounds : bounds + scalars]
    taken = [v.aval for v in body.invars]
    if body.constvars or not all(isinstance(aval, state_types.AbstractRef) for aval in taken):
        raise Refused("a kernel's body takes an operand that is not memory")
    if [_kind(aval) for aval in taken[:scalars]] != [_kind(atom.aval) for atom in given]:
        raise Refused("a kernel's body takes other prefetched scalars than it is given")
    blocks = [block.transformed_block_aval for block in mapping.block_mappings]
    if taken[scalars:] != [*blocks, *mapping.scratch_avals]:
        raise Refused("a kernel's body takes other memory than its blocks and its scratch")


def _check_block(block: Any, mapping: Any) -> None:
    """Checks a block: its array's rank and type, and an index map of the grid's axes and the prefetched scalars."""
    if type(block) is not pallas_core.BlockMapping or block.transforms or block.debug:
        raise Refused("a block has transforms, or is marked for debugging")
    for size in block.block_shape:
        if type(size) is not pallas_core.Squeezed and not (type(size) in _BLOCKS and is_whole(size.block_size, 1)):
            raise Refused("a block's size is not valid")
        if type(size) is pallas_core.Element and not (len(size.padding) == 2 and all(map(is_whole, size.padding))):
            raise Refused("a block's padding is not a number of elements")
    shape = pallas_core._get_ref_block_shape(block.block_shape)
    if len(block.block_shape) != block.array_aval.ndim or _kind(block.block_aval) != (shape, block.array_aval.dtype):
        raise Refused(f"a block of an array {block.array_aval} is declared as {block.block_aval}")
    mode = block.pipeline_mode
    if mode is not None and not (type(mode) is pallas_core.Buffered and is_whole(mode.buffer_count, 1, 1024)):
        raise Refused("a block's number of buffers is not valid")
    taken = [v.aval for v in block.index_map_jaxpr.jaxpr.invars]
    scalars = [v.inner_aval for v in taken[len(mapping.grid) :] if isinstance(v, state_types.AbstractRef)]
    points = [_kind(aval) for aval in taken[: len(mapping.grid)]]
    if tuple(taken) != tuple(mapping.index_map_avals) or len(scalars) != mapping.num_index_operands:
        raise Refused("an index map takes other operands than the grid's axes and the prefetched scalars")
    if points != [((), jnp.dtype("int32"))] * len(mapping.grid):
        raise Refused("an index map takes operands that are not whole numbers")
    found = [_kind(aval) for aval in block.index_map_jaxpr.out_avals]
    if len(found) < len(block.block_shape) or any(one != ((), jnp.dtype("int32")) for one in found):
        raise Refused("an index map does not give a whole number for each axis")


def _check_aliases(aliases: Any, equation: core.JaxprEqn, mapping: Any) -> None:
    given = equation.invars[mapping.num_dynamic_grid_bounds :]
    for pair in aliases:
        if len(pair) != 2 or not (is_whole(pair[0], 0, len(given) - 1)):
            raise Refused("an alias names an operand that does not exist")
        if not is_whole(pair[1], 0, len(equation.outvars) - 1):
            raise Refused("an alias names a result that does not exist")
        if _kind(given[pair[0]].aval) != _kind(equation.outvars[pair[1]].aval):
            raise Refused("an operand and a result share memory, but differ in shape or type")
    for side in zip(*aliases, strict=True):
        if len(set(side)) != len(side):
            raise Refused("two operands, or two results, share memory")


def _check_compiler_params(params: Any, mapping: Any) -> None:
    if params is None:
        return
    if type(params) is not tpu_core.CompilerParams:
        raise Refused("a kernel's compiler parameters are not those of a TPU")
    fields = {field.name: getattr(params, field.name) for field in dataclasses.fields(params)}
    order = fields.pop("dimension_semantics")
    if order is not None:
        said = [getattr(kind, "value", kind) for kind in order]
        if len(said) != len(mapping.grid) - len(mapping.vmapped_dims) or not set(said) <= _ORDERS:
            names = ", ".join(sorted(_ORDERS))
            raise Refused(f"dimension_semantics must have, for each axis of the grid, one of {names}")
    _check_flags(fields.pop("flags"))
    for name, value in fields.items():
        if not _may_be(name, value, mapping):
            raise Refused(f"compiler_params: '{name}' may not be {value!r}")


def _may_be(name: str, value: Any, mapping: Any) -> bool:
    """Whether a compiler parameter of a kernel may have this value."""
    if name == "allow_input_fusion":
        return value is None or (len(value) <= mapping.num_inputs + mapping.num_index_operands and _are_flags(value))
    if name in ("vmem_limit_bytes", "internal_scratch_in_bytes"):
        return value is None or is_whole(value, 0, _MOST_VMEM_BYTES)
    if name in ("collective_id", "use_tc_tiling_on_sc"):
        return value is None
    if name == "serialization_format":
        return is_whole(value, 1, 1)
    if name == "has_side_effects":
        return type(value) in (bool, tpu_core.SideEffectType)
    return type(value) is bool


def _are_flags(values: Any) -> bool:
    return all(type(value) is bool for value in values)


def _check_flags(flags: Any) -> None:
    if flags is None:
        return
    if type(flags) is not frozen_dict.FrozenDict:
        raise Refused("compiler_params: 'flags' are not names and values")
    for name, value in flags.items():
        if name.lower() not in schema.FLAGS or type(value) is not bool:
            known = ", ".join(sorted(schema.FLAGS))
            raise Refused(f"compiler_params: a candidate may not set this flag; it may set to True or False: {known}")


def _check_cost(cost: Any) -> None:
    if cost is None:
        return
    if type(cost) is not pallas_core.CostEstimate or not all(is_whole(n, 0) for n in dataclasses.astuple(cost)):
        raise Refused("cost_estimate: its numbers must be whole and not negative")
