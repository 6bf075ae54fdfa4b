"""Grouped matmul in blockwise 8-bit floats on a TPU core, with gradients: each row times its own group's matrix.

The rows of a group stand together and begin anywhere. A table that is prefetched lists the visits: a block of rows and
a group that has some of them. A block that several groups share is visited once by each, one after another, and rows
that are not the group's are zero in its turn; so every visit is a dense product, and its block of the result stays in
VMEM until the last of them.

All three passes read what they are given and quantise it in VMEM, tile by tile of 128 along what is summed over: the
largest value gives a scale, which is a power of two, so that dividing by it is exact. A product of two tiles in
float8_e4m3fn is scaled in float32 and added up there.
"""

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

# EVOLVE-BLOCK-START
BLOCK_M = 256
BLOCK_K = 256
BLOCK_N = 256
BLOCK_M_DLHS = 256
BLOCK_K_DLHS = 256
BLOCK_N_DLHS = 256
BLOCK_M_DRHS = 256
BLOCK_K_DRHS = 256
BLOCK_N_DRHS = 256

# The length of a tile that is quantised with one scale, whatever the block sizes are.
TILE = 128


@dataclass(frozen=True, slots=True)
class BlockSizes:
    """Blocks of rows, and of K and N as rhs has them: of the product, of the gradient by lhs, and of that by rhs."""

    block_m: int = BLOCK_M
    block_k: int = BLOCK_K
    block_n: int = BLOCK_N
    block_m_dlhs: int = BLOCK_M_DLHS
    block_k_dlhs: int = BLOCK_K_DLHS
    block_n_dlhs: int = BLOCK_N_DLHS
    block_m_drhs: int = BLOCK_M_DRHS
    block_k_drhs: int = BLOCK_K_DRHS
    block_n_drhs: int = BLOCK_N_DRHS


def largest_block(most, size):
    """The largest number of whole tiles, at most so long, that divides the size."""
    return next(block for block in range(min(most, size), 0, -TILE) if size % block == 0)


def visits_of(group_sizes, rows, block, of_groups):
    """The table: of each visit its group, its block of rows, its first row and the one after its last, and an edge.

    There are rows / block + G - 1 visits at most; those that are too many have no rows and stay where the last one
    was. An edge has bit 0 where a block of the result begins, and bit 1 where it ends: one of rows, or where
    `of_groups`, one of a group, and then a group without rows is visited, too.
    """
    groups = group_sizes.shape[0]
    number = jax.lax.iota(jnp.int32, groups)
    ends = jnp.minimum(jnp.cumsum(jnp.clip(group_sizes, 0, rows)), rows)
    ends = jnp.where(number == groups - 1, rows, ends)
    starts = jnp.concatenate([jnp.zeros((1,), jnp.int32), ends[:-1]])
    first_block = starts // block
    count = jnp.where(ends > starts, (ends + block - 1) // block - first_block, int(of_groups))
    after = jnp.cumsum(count)
    visit = jax.lax.iota(jnp.int32, rows // block + groups - 1)
    at = jnp.minimum(visit, after[-1] - 1)
    group = jnp.sum((after[None, :] <= at[:, None]).astype(jnp.int32), axis=1)
    tile = jnp.minimum((first_block - after + count)[group] + at, rows // block - 1)
    low = jnp.maximum(starts[group], tile * block)
    high = jnp.where(visit == at, jnp.minimum(ends[group], (tile + 1) * block), low)
    block_of_result = group if of_groups else tile
    changes = block_of_result[1:] != block_of_result[:-1]
    always = jnp.ones((1,), bool)
    begins, finishes = jnp.concatenate([always, changes]), jnp.concatenate([changes, always])
    return group, tile, low, high, begins.astype(jnp.int32) + 2 * finishes.astype(jnp.int32)


def scales_of(largest):
    """Of the largest values of tiles, float32, the scales and what they are divided by.

    The least power of two of which the largest is at most 448, by its bits: 448 is 1.75 * 2^8.
    """
    bits = jax.lax.bitcast_convert_type(largest, jnp.int32)
    exponent = jnp.clip(((bits + 0x1FFFFF) >> 23) - 8, 1, 253)
    scale = jax.lax.bitcast_convert_type(exponent << 23, jnp.float32)
    inverse = jax.lax.bitcast_convert_type((254 - exponent) << 23, jnp.float32)
    return scale, inverse


def quantised(x, axes):
    """x [A, B] in e4m3fn, and its scales, one along the axes."""
    largest = jnp.abs(x)
    for axis in axes:
        largest = jnp.max(largest, axis=axis, keepdims=True)
    scale, inverse = scales_of(largest)
    return (x * inverse).astype(jnp.float8_e4m3fn), scale


def owned(low_ref, high_ref, visit, first, shape, axis):
    """Which of the rows from `first` on, along the axis, are the visit's."""
    row = first + jax.lax.broadcasted_iota(jnp.int32, shape, axis)
    return (row >= low_ref[visit]) & (row < high_ref[visit])


def rows_kernel(_, tile_ref, low_ref, high_ref, edge_ref, x_ref, rhs_ref, out_ref, acc_ref, *, is_transposed):
    """Adds the product of a block of rows, of lhs or of the gradient, and one of the group's matrix, or of that turned.

    x [bm, bs], rhs [1, bs, bo], or [1, bo, bs] where it is turned, out [bm, bo]: bs is summed over.
    """
    visit, step = pl.program_id(1), pl.program_id(2)
    edge = edge_ref[visit]
    rows, summed = x_ref.shape
    columns = out_ref.shape[1]

    @pl.when(((edge & 1) != 0) & (step == 0))
    def _clear():
        acc_ref[...] = jnp.zeros_like(acc_ref)

    @pl.when(low_ref[visit] < high_ref[visit])
    def _add():
        is_owned = owned(low_ref, high_ref, visit, tile_ref[visit] * rows, (rows, TILE), 0)
        for s in range(0, summed, TILE):
            x = jnp.where(is_owned, x_ref[:, s : s + TILE].astype(jnp.float32), 0.0)
            x_q, x_scale = quantised(x, (1,))
            tiles, scales = [], []
            for c in range(0, columns, TILE):
                row, column = (c, s) if is_transposed else (s, c)
                tile = rhs_ref[0, row : row + TILE, column : column + TILE].astype(jnp.float32)
                tile_q, scale = quantised(tile, (0, 1))
                tiles.append(tile_q)
                scales.append(jnp.broadcast_to(scale, (1, TILE)))
            rhs_q = jnp.concatenate(tiles, axis=0 if is_transposed else 1)
            contracted = (((1,), (1 if is_transposed else 0,)), ((), ()))
            product = jax.lax.dot_general(x_q, rhs_q, contracted, preferred_element_type=jnp.float32)
            acc_ref[...] += product * x_scale * jnp.concatenate(scales, axis=1)

    @pl.when(((edge & 2) != 0) & (step == pl.num_programs(2) - 1))
    def _store():
        out_ref[...] = acc_ref[...].astype(out_ref.dtype)


def groups_kernel(_, tile_ref, low_ref, high_ref, edge_ref, lhs_ref, d_out_ref, out_ref, acc_ref):
    """Adds the product of the visit's rows of lhs, turned, and of the gradient to the group's matrix.

    lhs [bm, bk], d_out [bm, bn], out [1, bk, bn].
    """
    visit = pl.program_id(2)
    edge = edge_ref[visit]
    rows, columns = lhs_ref.shape[0], d_out_ref.shape[1]

    @pl.when((edge & 1) != 0)
    def _clear():
        acc_ref[...] = jnp.zeros_like(acc_ref)

    @pl.when(low_ref[visit] < high_ref[visit])
    def _add():
        for r in range(0, rows, TILE):
            x_q, x_scale = quantised(lhs_ref[r : r + TILE, :].astype(jnp.float32).T, (1,))
            is_owned = owned(low_ref, high_ref, visit, tile_ref[visit] * rows + r, (TILE, columns), 0)
            d_out = d_out_ref[r : r + TILE, :]
            largest = jnp.max(jnp.abs(d_out), axis=0, keepdims=True)
            scale, inverse = scales_of(largest)
            d_out_q = jnp.where(is_owned, d_out * inverse, 0.0).astype(jnp.float8_e4m3fn)
            acc_ref[...] += jnp.dot(x_q, d_out_q, preferred_element_type=jnp.float32) * x_scale * scale

    @pl.when((edge & 2) != 0)
    def _store():
        out_ref[0] = acc_ref[...].astype(out_ref.dtype)


def call(kernel, name, semantics, grid, table, operands, in_specs, out_spec, out_shape, acc_shape, flops):
    """One pass over the visits of the table."""
    arrays = (*operands, out_shape)
    return pl.pallas_call(
        kernel,
        out_shape=out_shape,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=len(table),
            grid=grid,
            in_specs=in_specs,
            out_specs=out_spec,
            scratch_shapes=[pltpu.VMEM(acc_shape, jnp.float32)],
        ),
        compiler_params=pltpu.CompilerParams(dimension_semantics=semantics, vmem_limit_bytes=48 * 2**20),
        cost_estimate=pl.CostEstimate(
            flops=flops,
            bytes_accessed=sum(array.size * array.dtype.itemsize for array in arrays),
            transcendentals=0,
        ),
        interpret=jax.default_backend() == "cpu",
        name=name,
    )(*table, *operands)


def times_groups(x, rhs, group_sizes, bm, bs, bo, dtype, is_transposed):
    """x [M, S] times the matrix of each row's group: rhs [G, S, O], or [G, O, S] where it is turned; [M, O]."""
    (m, s), o = x.shape, rhs.shape[1 if is_transposed else 2]
    bm, bs, bo = largest_block(bm, m), largest_block(bs, s), largest_block(bo, o)
    table = visits_of(group_sizes, m, bm, of_groups=False)
    if is_transposed:
        rhs_spec = pl.BlockSpec((1, bo, bs), lambda j, v, s, group, tile, low, high, edge: (group[v], j, s))
    else:
        rhs_spec = pl.BlockSpec((1, bs, bo), lambda j, v, s, group, tile, low, high, edge: (group[v], s, j))
    return call(
        functools.partial(rows_kernel, is_transposed=is_transposed),
        "gmm_fp8_dlhs" if is_transposed else "gmm_fp8",
        ("parallel", "arbitrary", "arbitrary"),
        (o // bo, table[0].shape[0], s // bs),
        table,
        (x, rhs),
        [pl.BlockSpec((bm, bs), lambda j, v, s, group, tile, low, high, edge: (tile[v], s)), rhs_spec],
        pl.BlockSpec((bm, bo), lambda j, v, s, group, tile, low, high, edge: (tile[v], j)),
        jax.ShapeDtypeStruct((m, o), dtype),
        (bm, bo),
        2 * m * s * o,
    )


def within_groups(lhs, d_out, group_sizes, groups, bm, bk, bn, dtype):
    """Of each group its rows of lhs [M, K], turned, times those of d_out [M, N]: [G, K, N]."""
    (m, k), n = lhs.shape, d_out.shape[1]
    bm, bk, bn = largest_block(bm, m), largest_block(bk, k), largest_block(bn, n)
    table = visits_of(group_sizes, m, bm, of_groups=True)
    return call(
        groups_kernel,
        "gmm_fp8_drhs",
        ("parallel", "parallel", "arbitrary"),
        (k // bk, n // bn, table[0].shape[0]),
        table,
        (lhs, d_out),
        [
            pl.BlockSpec((bm, bk), lambda i, j, v, group, tile, low, high, edge: (tile[v], i)),
            pl.BlockSpec((bm, bn), lambda i, j, v, group, tile, low, high, edge: (tile[v], j)),
        ],
        pl.BlockSpec((1, bk, bn), lambda i, j, v, group, tile, low, high, edge: (group[v], i, j)),
        jax.ShapeDtypeStruct((groups, k, n), dtype),
        (bk, bn),
        2 * m * k * n,
    )


def forward(lhs, rhs, group_sizes, sizes):
    """The product, and what its gradients are made of."""
    bm, bk, bn = sizes.block_m, sizes.block_k, sizes.block_n
    out = times_groups(lhs, rhs, group_sizes, bm, bk, bn, jnp.float32, is_transposed=False)
    return out, (lhs, rhs, group_sizes)


def backward(sizes, saved, d_out):
    """The gradients by lhs and rhs."""
    lhs, rhs, group_sizes = saved
    bm, bk, bn = sizes.block_m_dlhs, sizes.block_k_dlhs, sizes.block_n_dlhs
    d_lhs = times_groups(d_out, rhs, group_sizes, bm, bn, bk, lhs.dtype, is_transposed=True)
    bm, bk, bn = sizes.block_m_drhs, sizes.block_k_drhs, sizes.block_n_drhs
    d_rhs = within_groups(lhs, d_out, group_sizes, rhs.shape[0], bm, bk, bn, rhs.dtype)
    return d_lhs, d_rhs, None


@functools.partial(jax.custom_vjp, nondiff_argnums=(3,))
def grouped(lhs, rhs, group_sizes, sizes):
    """As gmm_fp8_blockwise, of known block sizes."""
    return forward(lhs, rhs, group_sizes, sizes)[0]


grouped.defvjp(forward, backward)


def gmm_fp8_blockwise(lhs, rhs, group_sizes, *, block_sizes=None):
    """lhs [M, K] @ rhs [G, K, N] of each row's group, both quantised: out [M, N] float32. All multiples of 128."""
    return grouped(lhs, rhs, group_sizes, block_sizes or BlockSizes())


# EVOLVE-BLOCK-END
