"""The meaning of the grouped matmul in blockwise 8-bit floats, in plain JAX."""

import jax
import jax.numpy as jnp

TILE = 128


def quantised(x, *tile):
    """Returns x with each tile of its last axes rounded to float8_e4m3fn, in units of the tile's scale.

    The scale is the least power of two that brings the tile's largest value to at most 448, e4m3fn's largest. So
    x / scale is exact, and all implementations see the same ties. `tile` has the tile's length along each of the axes.
    """
    parts = [(size // length, length) for size, length in zip(x.shape[-len(tile) :], tile, strict=True)]
    tiled = x.reshape(*x.shape[: -len(tile)], *(length for part in parts for length in part))
    within = tuple(range(1 - 2 * len(tile), 0, 2))
    share, exponent = jnp.frexp(jnp.max(jnp.abs(tiled), axis=within, keepdims=True))
    # 448 is 0.875 * 2^9.
    scale = jnp.ldexp(jnp.ones_like(share), jnp.maximum(exponent - 9 + (share > 0.875), -126))
    return ((tiled / scale).astype(jnp.float8_e4m3fn).astype(x.dtype) * scale).reshape(x.shape)


def owners(group_sizes, rows):
    """Returns whether a row belongs to a group, for each group and row: [G, M] bool.

    Each group has the next `group_sizes` rows, or what is left of them; the last group has all rows that are left.
    """
    ends = jnp.cumsum(jnp.clip(group_sizes, 0, rows)).at[-1].set(rows)
    starts = jnp.concatenate([jnp.zeros_like(ends[:1]), ends[:-1]])
    row = jnp.arange(rows)
    return (starts[:, None] <= row) & (row < ends[:, None])


def _wide(dtype):
    return jnp.promote_types(dtype, jnp.float32)


@jax.custom_vjp
def gmm_fp8_blockwise(lhs, rhs, group_sizes):
    """Returns lhs [M, K] @ rhs [G, K, N] of each row's group, both quantised: out [M, N] in float32 or better."""
    return _forward(lhs, rhs, group_sizes)[0]


def _of_groups(x, is_owner):
    """Returns a copy of x [M, …] for each group, in which the rows of other groups are zero: [G, M, …]."""
    return jnp.where(is_owner[:, :, None], x, 0)


def _forward(lhs, rhs, group_sizes):
    lhs_q = quantised(lhs.astype(_wide(lhs.dtype)), 1, TILE)
    rhs_q = quantised(rhs.astype(_wide(rhs.dtype)), TILE, TILE)
    is_owner = owners(group_sizes, lhs.shape[0])
    out = jnp.einsum("gmk,gkn->mn", _of_groups(lhs_q, is_owner), rhs_q, precision="highest")
    return out, (lhs, rhs, group_sizes)


def _backward(saved, d_out):
    lhs, rhs, group_sizes = saved
    rhs_q = quantised(rhs.astype(_wide(rhs.dtype)), TILE, TILE)
    is_owner = owners(group_sizes, lhs.shape[0])
    # d_out is quantised along the axis that is summed over: N for d_lhs, the rows for d_rhs.
    d_out_n = quantised(d_out, 1, TILE)
    d_lhs = jnp.einsum("gmn,gkn->mk", _of_groups(d_out_n, is_owner), rhs_q, precision="highest")
    lhs_m = quantised(lhs.astype(_wide(lhs.dtype)), TILE, 1)
    d_out_m = quantised(d_out, TILE, 1)
    d_rhs = jnp.einsum("gmk,mn->gkn", _of_groups(lhs_m, is_owner), d_out_m, precision="highest")
    return d_lhs.astype(lhs.dtype), d_rhs.astype(rhs.dtype), None


gmm_fp8_blockwise.defvjp(_forward, _backward)
