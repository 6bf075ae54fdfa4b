"""The operations that only TPUs have, replaced so that a program's CPU copy and the interpreter can run it.

Operations of Mosaic without a CPU form in JAX get one. Operations that only say where memory is, or that memory is
used, are removed.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax._src import core
from jax._src.interpreters import mlir
from jax._src.pallas import core as pallas_core
from jax._src.pallas.mosaic import primitives

_UNSIGNED = {8: jnp.uint8, 16: jnp.uint16, 32: jnp.uint32}


def _bits_of(dtype: Any) -> int:
    return int(jnp.iinfo(dtype).bits if jnp.issubdtype(dtype, jnp.integer) else jnp.finfo(dtype).bits)


def _pack(*parts: Any, packed_dtype: Any) -> Any:
    """Packs parts into one word, the first in the lowest bits, each cut off or rounded to the packed type."""
    wide, narrow = _bits_of(parts[0].dtype), _bits_of(packed_dtype)
    word = jnp.zeros(parts[0].shape, _UNSIGNED[wide])
    for number, part in enumerate(parts):
        if jnp.issubdtype(packed_dtype, jnp.integer):
            bits = part.astype(word.dtype) & ((1 << narrow) - 1)
        else:
            bits = jax.lax.bitcast_convert_type(part.astype(packed_dtype), _UNSIGNED[narrow]).astype(word.dtype)
        word |= bits << (narrow * number)
    return word


def _unpack(packed: Any, *, index: int, packed_dtype: Any, unpacked_dtype: Any) -> Any:
    narrow = _bits_of(packed_dtype)
    word = jax.lax.bitcast_convert_type(packed, _UNSIGNED[_bits_of(packed.dtype)]) >> (narrow * index)
    if jnp.issubdtype(packed_dtype, jnp.integer):
        return (word & ((1 << narrow) - 1)).astype(packed_dtype).astype(unpacked_dtype)
    return jax.lax.bitcast_convert_type(word.astype(_UNSIGNED[narrow]), packed_dtype).astype(unpacked_dtype)


def _stochastic_round(x: Any, random_bits: Any, *, target_dtype: Any) -> Any:
    """Adds random bits to the bits below the target's last one, and then cuts these off."""
    if jnp.dtype(target_dtype) != jnp.bfloat16:
        raise NotImplementedError(f"stochastic_round to {jnp.dtype(target_dtype).name}")
    bits = jax.lax.bitcast_convert_type(x, jnp.uint32) + (random_bits & 0xFFFF)
    rounded = jax.lax.bitcast_convert_type((bits >> 16).astype(jnp.uint16), jnp.bfloat16)
    return jnp.where(jnp.isfinite(x), rounded, x.astype(jnp.bfloat16))


for _primitive, _meaning in (
    (primitives.pack_elementwise_p, _pack),
    (primitives.unpack_elementwise_p, _unpack),
    (primitives.stochastic_round_p, _stochastic_round),
):
    mlir.register_lowering(_primitive, mlir.lower_fun(_meaning, multiple_results=False), platform="cpu")


def without(jaxpr: core.Jaxpr) -> core.Jaxpr:
    """Returns the jaxpr without operations that only say where memory is, or that memory is used."""
    same: dict[core.Var, Any] = {}

    def read(atom: Any) -> Any:
        return atom if isinstance(atom, core.Literal) else same.get(atom, atom)

    def replaced(value: Any) -> Any:
        if isinstance(value, core.ClosedJaxpr):
            return value.replace(jaxpr=without(value.jaxpr))
        if isinstance(value, core.Jaxpr):
            return without(value)
        if type(value) in (tuple, list):
            return type(value)(replaced(item) for item in value)
        return value

    equations = []
    for equation in jaxpr.eqns:
        if equation.primitive is primitives.touch_p:
            continue
        if equation.primitive is pallas_core.with_memory_space_constraint_p:
            same[equation.outvars[0]] = read(equation.invars[0])
            continue
        params = {name: replaced(value) for name, value in equation.params.items()}
        equations.append(equation.replace(invars=[read(atom) for atom in equation.invars], params=params))
    return jaxpr.replace(eqns=equations, outvars=[read(atom) for atom in jaxpr.outvars])
