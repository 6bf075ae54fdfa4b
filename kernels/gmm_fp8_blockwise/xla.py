"""The grouped matmul as XLA does it best: ragged dots of quantised values, which bfloat16 holds exactly.

A value of e4m3fn has four significant bits and the scales are powers of two, so nothing is lost on the way back.
"""

import jax
import jax.numpy as jnp

TILE = 128

_ROWS_OF_RHS = jax.lax.RaggedDotDimensionNumbers(
    dot_dimension_numbers=(((0,), (0,)), ((), ())), lhs_ragged_dimensions=[0], rhs_group_dimensions=[]
)


def _exponent(largest):
    """The power of two by which the largest value of a tile is at most 448, from its bits; float32 in, int32 out."""
    bits = jax.lax.bitcast_convert_type(largest, jnp.int32)
    return jnp.clip(((bits + 0x1FFFFF) >> 23) - 8, 1, 253)


def _power(exponent):
    return jax.lax.bitcast_convert_type(exponent << 23, jnp.float32)


def _quantised(x, rows, columns):
    """x [..., A, B] rounded to e4m3fn in tiles of rows x columns, in the dtype of the products."""
    dtype = jnp.bfloat16 if x.dtype == jnp.bfloat16 else jnp.float32
    *outer, a, b = x.shape
    tiled = x.astype(jnp.float32).reshape(*outer, a // rows, rows, b // columns, columns)
    exponent = _exponent(jnp.max(jnp.abs(tiled), axis=(-3, -1), keepdims=True))
    rounded = (tiled * _power(254 - exponent)).astype(jnp.float8_e4m3fn).astype(jnp.float32)
    return (rounded * _power(exponent)).astype(dtype).reshape(x.shape)


def _sizes(group_sizes, rows):
    """Returns the groups' sizes: as given while there are rows; the last group has what is left."""
    ends = jnp.minimum(jnp.cumsum(jnp.clip(group_sizes, 0, rows)), rows).at[-1].set(rows)
    return jnp.diff(ends, prepend=0)


@jax.custom_vjp
def gmm_fp8_blockwise(lhs, rhs, group_sizes):
    """lhs [M, K] @ rhs [G, K, N] of each row's own group, both quantised: out [M, N] float32."""
    return _forward(lhs, rhs, group_sizes)[0]


def _forward(lhs, rhs, group_sizes):
    sizes = _sizes(group_sizes, lhs.shape[0])
    rhs_q = _quantised(rhs, TILE, TILE)
    out = jax.lax.ragged_dot(_quantised(lhs, 1, TILE), rhs_q, sizes, preferred_element_type=jnp.float32)
    return out, (lhs, rhs, rhs_q, sizes)


def _backward(saved, d_out):
    lhs, rhs, rhs_q, sizes = saved
    d_out_n = _quantised(d_out, 1, TILE).astype(rhs_q.dtype)
    d_lhs = jax.lax.ragged_dot(d_out_n, rhs_q.swapaxes(1, 2), sizes, preferred_element_type=jnp.float32)
    lhs_m = _quantised(lhs, TILE, 1)
    d_out_m = _quantised(d_out, TILE, 1).astype(lhs_m.dtype)
    d_rhs = jax.lax.ragged_dot_general(lhs_m, d_out_m, sizes, _ROWS_OF_RHS, preferred_element_type=jnp.float32)
    return d_lhs.astype(lhs.dtype), d_rhs.astype(rhs.dtype), None


gmm_fp8_blockwise.defvjp(_forward, _backward)
