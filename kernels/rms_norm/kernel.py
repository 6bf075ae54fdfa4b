"""RMS norm on a TPU core: out = x * rsqrt(mean(x^2) + eps) * weight, in the dtype of x, float32 inside.

The grid walks blocks of rows, which are read and written once: forward x and out, backward x, the cotangent and d_x.
Backward finds a row's factor anew, which is cheaper than to keep it. Within a block a loop takes a few rows at a time,
so that what is wide stays in registers. The weight's gradient is summed over all rows in float32 VMEM scratch, eight
rows beside one another, and these once, at the end. Ragged rows are legal: what a block has beyond the array is
undefined, is dropped where it is a row's own, and masked where rows are summed.
"""

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

# EVOLVE-BLOCK-START
FORWARD_ROWS = 128
FORWARD_CHUNK = 32
BACKWARD_ROWS = 64
BACKWARD_CHUNK = 32


@dataclass(frozen=True, slots=True)
class BlockSizes:
    """Rows of a block and, of these, how many are computed at a time; forward and backward."""

    forward_rows: int = FORWARD_ROWS
    forward_chunk: int = FORWARD_CHUNK
    backward_rows: int = BACKWARD_ROWS
    backward_chunk: int = BACKWARD_CHUNK


def rows_of(size, rows, chunk):
    """Rows of a block and of a chunk, of which a block has whole ones, for an array of `size` rows."""
    chunk = min(chunk, size)
    return min(rows, size) // chunk * chunk, chunk


def factor_of(x, eps):
    """One over the root of the mean square, a row each: [rows, 1]."""
    return jax.lax.rsqrt(jnp.sum(x * x, axis=1, keepdims=True) * (1 / x.shape[1]) + eps)


def forward_kernel(x_ref, weight_ref, out_ref, *, chunk, eps):
    """One block of rows."""
    weight = weight_ref[...].astype(jnp.float32)

    def of_chunk(c, _):
        at = pl.ds(pl.multiple_of(c * chunk, chunk), chunk)
        x = x_ref[at, :].astype(jnp.float32)
        out_ref[at, :] = (x * factor_of(x, eps) * weight).astype(out_ref.dtype)
        return 0

    jax.lax.fori_loop(0, x_ref.shape[0] // chunk, of_chunk, 0)


def backward_kernel(x_ref, weight_ref, d_out_ref, d_x_ref, d_weight_ref, sum_ref, *, rows, chunk, eps):
    """One block of rows of d_x, and what it adds to d_weight. `rows`: of the whole array."""
    i = pl.program_id(0)
    weight = weight_ref[...].astype(jnp.float32)
    block, width = x_ref.shape

    @pl.when(i == 0)
    def _clear():
        sum_ref[...] = jnp.zeros_like(sum_ref)

    def of_chunk(c, _):
        at = pl.ds(pl.multiple_of(c * chunk, chunk), chunk)
        x = x_ref[at, :].astype(jnp.float32)
        d_out = d_out_ref[at, :].astype(jnp.float32)
        factor = factor_of(x, eps)
        normed = x * factor
        scaled = d_out * weight
        along = jnp.sum(scaled * normed, axis=1, keepdims=True) * (1 / width)
        d_x_ref[at, :] = (factor * (scaled - normed * along)).astype(d_x_ref.dtype)
        products = d_out * normed
        if rows % block != 0:
            left = rows - i * block - c * chunk
            products = jnp.where(jax.lax.broadcasted_iota(jnp.int32, (chunk, 1), 0) < left, products, 0)
        sum_ref[...] += jnp.sum(products.reshape(-1, *sum_ref.shape), axis=0)
        return 0

    jax.lax.fori_loop(0, block // chunk, of_chunk, 0)

    @pl.when(i == pl.num_programs(0) - 1)
    def _store():
        d_weight_ref[...] = jnp.sum(sum_ref[...], axis=0, keepdims=True).astype(d_weight_ref.dtype)


def forward(x, weight, sizes, eps):
    """out [B, H]."""
    rows, width = x.shape
    block, chunk = rows_of(rows, sizes.forward_rows, sizes.forward_chunk)
    return pl.pallas_call(
        functools.partial(forward_kernel, chunk=chunk, eps=eps),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid=(pl.cdiv(rows, block),),
        in_specs=[
            pl.BlockSpec((block, width), lambda i: (i, 0)),
            pl.BlockSpec((1, width), lambda i: (0, 0)),
        ],
        out_specs=pl.BlockSpec((block, width), lambda i: (i, 0)),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",), vmem_limit_bytes=56 * 2**20),
        cost_estimate=pl.CostEstimate(
            flops=4 * rows * width,
            bytes_accessed=(2 * rows + 1) * width * x.dtype.itemsize,
            transcendentals=rows,
        ),
        interpret=jax.default_backend() == "cpu",
        name="rms_norm_forward",
    )(x, weight.reshape(1, width))


def backward(x, weight, d_out, sizes, eps):
    """d_x [B, H] and d_weight [H]."""
    rows, width = x.shape
    block, chunk = rows_of(rows, sizes.backward_rows, sizes.backward_chunk)
    d_x, d_weight = pl.pallas_call(
        functools.partial(backward_kernel, rows=rows, chunk=chunk, eps=eps),
        out_shape=(jax.ShapeDtypeStruct(x.shape, x.dtype), jax.ShapeDtypeStruct((1, width), weight.dtype)),
        grid=(pl.cdiv(rows, block),),
        in_specs=[
            pl.BlockSpec((block, width), lambda i: (i, 0)),
            pl.BlockSpec((1, width), lambda i: (0, 0)),
            pl.BlockSpec((block, width), lambda i: (i, 0)),
        ],
        out_specs=(
            pl.BlockSpec((block, width), lambda i: (i, 0)),
            pl.BlockSpec((1, width), lambda i: (0, 0)),
        ),
        scratch_shapes=[pltpu.VMEM((8 if chunk % 8 == 0 else 1, width), jnp.float32)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("arbitrary",), vmem_limit_bytes=56 * 2**20),
        cost_estimate=pl.CostEstimate(
            flops=11 * rows * width,
            bytes_accessed=(3 * rows + 2) * width * x.dtype.itemsize,
            transcendentals=rows,
        ),
        interpret=jax.default_backend() == "cpu",
        name="rms_norm_backward",
    )(x, weight.reshape(1, width), d_out)
    return d_x, d_weight.reshape(width)


@functools.partial(jax.custom_vjp, nondiff_argnums=(2, 3))
def normed(x, weight, sizes, eps):
    """out [B, H], with gradients."""
    return forward(x, weight, sizes, eps)


normed.defvjp(
    lambda x, weight, sizes, eps: (forward(x, weight, sizes, eps), (x, weight)),
    lambda sizes, eps, kept, d_out: backward(*kept, d_out, sizes, eps),
)


def rms_norm(x, weight, *, eps=1e-6, block_sizes=None):
    """x [B, H] over the root of its rows' mean square, times weight [H], in the dtype of x; differentiable."""
    return normed(x, weight, block_sizes or BlockSizes(), eps)


# EVOLVE-BLOCK-END
