"""Stand-ins in a seed for functions that Mosaic lacks (mosaic_lacks.py). Kernels get the texts that they need.

Each stand-in takes and returns the same as the function of JAX that it replaces, for values in a kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def einsum_by_batch(spec: str, x: Any, y: Any, **options: Any) -> Any:
    """Computes jnp.einsum of two operands, batch axis by batch axis: a product in a kernel can have only one."""
    operands, out = spec.replace(" ", "").split("->")
    left, right = operands.split(",")
    batch = [axis for axis in out if axis in left and axis in right]
    if len(batch) < 2:
        return jnp.einsum(spec, x, y, **options)
    # The innermost batch axis is walked, because a batch axis in the middle of an operand would need another layout.
    axis = max(batch, key=lambda one: left.index(one) + right.index(one))
    places = [one.index(axis) for one in (left, right)]
    parts = [
        einsum_by_batch(
            f"{left},{right}->{out}".replace(axis, ""),
            *(jax.lax.index_in_dim(one, i, at, keepdims=False) for one, at in zip((x, y), places, strict=True)),
            **options,
        )
        for i in range(x.shape[places[0]])
    ]
    return jnp.stack(parts, out.index(axis))


def matmul_by_batch(x: Any, y: Any, **options: Any) -> Any:
    """Computes jnp.matmul of equal ranks, batch axis by batch axis: a product in a kernel can have only one."""
    if x.ndim <= 3:
        return jnp.matmul(x, y, **options)
    return jnp.stack([matmul_by_batch(x[i], y[i], **options) for i in range(x.shape[0])])


def top_k_by_maxima(x: Any, k: int) -> tuple[Any, Any]:
    """Computes jax.lax.top_k: the maximum k times, each masked once it is found."""
    place = jax.lax.broadcasted_iota(jnp.int32, x.shape, x.ndim - 1)
    values, indices = [], []
    for _ in range(k):
        most = jnp.max(x, axis=-1, keepdims=True)
        first = jnp.min(jnp.where(x == most, place, x.shape[-1]), axis=-1, keepdims=True)
        values.append(most)
        indices.append(first)
        x = jnp.where(place == first, -jnp.inf, x)
    return jnp.concatenate(values, axis=-1), jnp.concatenate(indices, axis=-1)


def take_along_by_masks(x: Any, indices: Any, axis: int) -> Any:
    """Computes jnp.take_along_axis for a few places: each result is the sum of an axis under a mask."""
    place = jax.lax.broadcasted_iota(jnp.int32, x.shape, axis % x.ndim)
    indices = jnp.where(indices < 0, indices + x.shape[axis], indices)
    taken = []
    for at in range(indices.shape[axis]):
        wanted = jax.lax.slice_in_dim(indices, at, at + 1, axis=axis)
        taken.append(jnp.sum(jnp.where(place == wanted, x, jnp.zeros_like(x)), axis=axis, keepdims=True))
    return taken[0] if len(taken) == 1 else jnp.concatenate(taken, axis=axis)


def one_of_each_row(x: Any, places: Any) -> Any:
    """Computes x[jnp.arange(rows), places]: each result is the sum of a row under a mask."""
    place = jax.lax.broadcasted_iota(jnp.int32, x.shape, 1)
    wanted = jnp.where(places < 0, places + x.shape[1], places)[:, None]
    return jnp.sum(jnp.where(place == wanted, x, jnp.zeros_like(x)), axis=1)


def scan_in_vmem(step: Callable[[Any, Any], Any], state: Any, inputs: Any) -> tuple[Any, Any]:
    """Computes jax.lax.scan along the first axes of arrays; the arrays and the outputs are in VMEM meanwhile."""
    arrays, tree = jax.tree.flatten(inputs)
    rows = [jax.ShapeDtypeStruct(one.shape[1:], one.dtype) for one in arrays]
    made, made_tree = jax.tree.flatten(jax.eval_shape(step, state, tree.unflatten(rows))[1])
    length = arrays[0].shape[0]

    def run(*refs: Any) -> tuple[Any, list[Any]]:
        given, written = refs[: len(arrays)], refs[len(arrays) :]
        for ref, one in zip(given, arrays, strict=True):
            ref[...] = one

        def at(i: Any, state: Any) -> Any:
            row = [ref[pl.ds(i, 1)].reshape(ref.shape[1:]) for ref in given]
            state, outputs = step(state, tree.unflatten(row))
            for ref, one in zip(written, jax.tree.leaves(outputs), strict=True):
                ref[pl.ds(i, 1)] = one[None]
            return state

        return jax.lax.fori_loop(0, length, at, state), [ref[...] for ref in written]

    held = [pltpu.VMEM(one.shape, one.dtype) for one in arrays]
    held += [pltpu.VMEM((length, *one.shape), one.dtype) for one in made]
    state, outputs = pl.run_scoped(run, *held)
    return state, made_tree.unflatten(outputs)
