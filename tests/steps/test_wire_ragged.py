"""Tests that ragged dots go over the wire, in the form that the XLA form of grouped matmuls has."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from programs import program, wire

_ROWS_OF_GROUPS = jax.lax.RaggedDotDimensionNumbers(
    dot_dimension_numbers=(((0,), (0,)), ((), ())), lhs_ragged_dimensions=[0], rhs_group_dimensions=[]
)


def both(x: jax.Array, y: jax.Array, z: jax.Array, sizes: jax.Array) -> tuple[jax.Array, jax.Array]:
    # At the highest precision, rules/programs/settle.py leaves these products as they are.
    exact = jax.lax.Precision.HIGHEST
    dot = jax.lax.ragged_dot(x, y, sizes, precision=exact, preferred_element_type=jnp.float32)
    return dot, jax.lax.ragged_dot_general(x, z, sizes, _ROWS_OF_GROUPS, precision=exact)


@pytest.mark.parametrize("platform", ["cpu", "tpu"])
def test_ragged_dots_are_made_anew_as_they_were(platform: str) -> None:
    shapes = {"float32": [(8, 4), (2, 4, 3), (8, 3)], "int32": [(2,)]}
    arguments = [jax.ShapeDtypeStruct(shape, jnp.dtype(dtype)) for dtype, of in shapes.items() for shape in of]
    traced = jax.make_jaxpr(both)(*arguments)
    made = wire.unpack(wire.pack(traced))
    # The class jnp.float32 becomes a dtype on the wire.
    assert str(made) == str(traced).replace("<class 'jax.numpy.float32'>", "float32")
    assert program.export_program(made, arguments, platform) == program.export_program(traced, arguments, platform)
