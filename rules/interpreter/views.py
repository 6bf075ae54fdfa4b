"""Views of references (another shape, type or order of dimensions), rewritten for the TPU interpreter.

The interpreter knows only slices, not other views (`ref.reshape(…)`, `ref.bitcast(…)`, `ref.transpose(…)`). The slices
before the first such view select a part of the memory. An access through the view becomes an access to this whole part:
the part is read, taken apart, and written back. An index that lies beyond its view would be moved into the view unseen.
So if there is such an index, the part is read and written beyond its own end, too, which the interpreter sees. Masked
stores are rewritten in the same way if the interpreter would take them for out of bounds.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax._src import core
from jax._src.pallas import primitives as pallas_primitives
from jax._src.state import discharge, indexing, types, utils
from jax._src.state import primitives as state_primitives

from programs import jaxprs


def without(jaxpr: core.Jaxpr) -> core.Jaxpr:
    """Returns the jaxpr without views in the accesses of its kernels."""
    made: core.Jaxpr = jaxprs.changed(jaxpr, _change)
    return made


def _change(equation: core.JaxprEqn, _: jaxprs.Place) -> Sequence[core.JaxprEqn]:
    if equation.primitive not in (
        state_primitives.get_p,
        state_primitives.swap_p,
        pallas_primitives.load_p,
        pallas_primitives.swap_p,
    ):
        return [equation]
    transforms, _, mask = _operands(equation, equation.invars)
    if not _apart(transforms)[1] and not _is_misjudged(mask):
        return [equation]

    def run(ref: Any, *rest: Any) -> Any:
        transforms, value, mask = _operands(equation, [ref, *rest])
        slices, views = _apart(transforms)
        shape = types.transform_type(slices, jax.typeof(ref)).shape
        whole = (*slices, _whole(shape, _beyond(shape, views)))
        leaves, tree = jax.tree.flatten(whole)
        before = state_primitives.get_p.bind(ref, *leaves, tree=tree)
        found = _read(before, views)
        if value is not None:
            kept = value if mask is None else jnp.where(mask, value, found)
            after = _written(before, views, kept)
            state_primitives.swap_p.bind(ref, after, *leaves, tree=tree)
        return found if mask is None else jnp.where(mask, found, value)

    return jaxprs.inlined(run, equation.invars, equation.outvars)


def _operands(equation: core.JaxprEqn, operands: Sequence[Any]) -> tuple[tuple[Any, ...], Any, Any]:
    """Returns an access's views of its reference, the value that it writes, and the mask; None: there is none."""
    params = equation.params
    if equation.primitive is state_primitives.get_p:
        return jax.tree.unflatten(params["tree"], operands[1:]), None, None
    if equation.primitive is state_primitives.swap_p:
        return jax.tree.unflatten(params["tree"], operands[2:]), operands[1], None
    if equation.primitive is pallas_primitives.swap_p:
        _, transforms, value, mask = jax.tree.unflatten(params["args_tree"], operands)
        return transforms, value, mask
    _, transforms, mask, _ = jax.tree.unflatten(params["args_tree"], operands)
    # A load with a mask stays as it is, because the interpreter cannot run it in any form.
    return (() if mask is not None else transforms), None, None


def _is_misjudged(mask: Any) -> bool:
    """Whether the interpreter would compare a mask's first axis with the bounds of another one (JAX 0.10.2)."""
    return mask is not None and any(size < mask.aval.shape[0] for size in mask.aval.shape[1:])


def _apart(transforms: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Splits transforms into the slices before the first view, and the rest."""
    first = next((i for i, one in enumerate(transforms) if not isinstance(one, indexing.NDIndexer)), len(transforms))
    return tuple(transforms[:first]), tuple(transforms[first:])


def _whole(shape: Sequence[int], is_beyond: Any) -> indexing.NDIndexer:
    """Returns the index of all of an array of this shape; if `is_beyond` is true, of as much memory after its end."""
    slices = [indexing.Slice(0, size) for size in shape]
    if is_beyond is not None:
        slices[0] = indexing.Slice(jnp.where(is_beyond, shape[0], 0), shape[0])
    return indexing.NDIndexer(tuple(slices), tuple(shape), ())


def _beyond(shape: tuple[int, ...], views: Sequence[Any]) -> Any:
    """Returns whether an index lies beyond the array that it goes into; None: no index can."""
    found = []
    for view in views:
        if not isinstance(view, indexing.NDIndexer):
            continue
        for index, size in zip(view.indices, view.shape, strict=True):
            first = index.start if isinstance(index, indexing.Slice) else index
            if isinstance(first, int):
                continue
            length = (index.size - 1) * index.stride if isinstance(index, indexing.Slice) else 0
            found.append(jnp.any((first < 0) | (first + length >= size)))
    return functools.reduce(jnp.logical_or, found) if found and shape else None


def _read(array: Any, views: Sequence[Any]) -> Any:
    """Returns the part of an array that the views show."""
    for view in views:
        if isinstance(view, types.TransposeTransform):
            array = array.transpose(view.permutation)
        else:
            array = discharge.transform_array(array, (view,))
    return array


def _written(array: Any, views: Sequence[Any], value: Any) -> Any:
    """Returns the array with a value in place of the part that the views show."""
    if not views:
        return value
    view, rest = views[0], views[1:]
    inner = _written(_read(array, [view]), rest, value)
    if isinstance(view, indexing.NDIndexer):
        return discharge.transform_swap_array(array, (view,), inner)[1]
    if isinstance(view, types.BitcastTransform):
        return utils.bitcast(inner, array.dtype)
    if isinstance(view, types.TransposeTransform):
        return inner.transpose(types._perm_inverse(view.permutation))
    return inner.reshape(array.shape)
