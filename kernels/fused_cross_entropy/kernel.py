"""Cross-entropy of a linear layer on a TPU core, whose logits are never in HBM: out = logsumexp(z) - z[label].

z = soft_cap * tanh(x w / soft_cap), float32. Forward the grid walks blocks of rows and, innermost, of the vocabulary. A
row's maximum and its sum of exponentials are kept in VMEM and mended block by block, beside the label's logit. What is
kept for backward is the log of the sums. Backward, two kernels build the logits anew: one sums d_x over the vocabulary,
the other d_w over the rows, both in float32 VMEM scratch. Blocks have all of H. Ragged rows and vocabularies are legal:
what a block has beyond the array is undefined, and masked where it is summed.
"""

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

# EVOLVE-BLOCK-START
BLOCK_B = 256
BLOCK_V = 256
DX_BLOCK_B = 256
DX_BLOCK_V = 256
DW_BLOCK_B = 256
DW_BLOCK_V = 256


@dataclass(frozen=True, slots=True)
class BlockSizes:
    """Rows, and columns of the vocabulary, of a block: forward, for d_x, and for d_w."""

    block_b: int = BLOCK_B
    block_v: int = BLOCK_V
    dx_block_b: int = DX_BLOCK_B
    dx_block_v: int = DX_BLOCK_V
    dw_block_b: int = DW_BLOCK_B
    dw_block_v: int = DW_BLOCK_V


def logits_of(x, w, soft_cap):
    """z [rows, columns], and its derivative by the product of x and w, or None where that is 1."""
    product = jnp.dot(x, w, preferred_element_type=jnp.float32)
    if soft_cap is None:
        return product, None
    bent = jnp.tanh(product * (1 / soft_cap))
    return soft_cap * bent, (1 + bent) * (1 - bent)


def within(values, axis, left):
    """The values, but zeros from place `left` of the axis on."""
    return jnp.where(jax.lax.broadcasted_iota(jnp.int32, values.shape, axis) < left, values, 0)


def is_label(z, labels, first):
    """Where in z [rows, columns] the labels [rows, 1] are, whose column 0 is `first`."""
    return jax.lax.broadcasted_iota(jnp.int32, z.shape, 1) == labels - first


def d_product(x, w, labels, lse, d_loss, first, soft_cap):
    """The gradient of x w [rows, columns]: softmax less the label's one, times the loss' own."""
    z, bend = logits_of(x, w, soft_cap)
    softmax = jnp.exp(z - lse)
    slope = d_loss * jnp.where(is_label(z, labels, first), softmax - 1, softmax)
    return slope if bend is None else slope * bend


def forward_kernel(x_ref, w_ref, labels_ref, loss_ref, lse_ref, max_ref, sum_ref, label_ref, *, columns, soft_cap):
    """One block of logits into its rows' maximum, sum of exponentials, and label's logit. `columns`: of all of w."""
    j = pl.program_id(1)
    block = w_ref.shape[1]

    @pl.when(j == 0)
    def _clear():
        max_ref[...] = jnp.full_like(max_ref, -jnp.inf)
        sum_ref[...] = jnp.zeros_like(sum_ref)
        label_ref[...] = jnp.zeros_like(label_ref)

    z, _ = logits_of(x_ref[...], w_ref[...], soft_cap)
    label_ref[...] += jnp.sum(jnp.where(is_label(z, labels_ref[...], j * block), z, 0), axis=1, keepdims=True)
    if columns % block != 0:
        z = jnp.where(jax.lax.broadcasted_iota(jnp.int32, z.shape, 1) < columns - j * block, z, -jnp.inf)
    before = max_ref[...]
    most = jnp.maximum(before, jnp.max(z, axis=1, keepdims=True))
    sum_ref[...] = sum_ref[...] * jnp.exp(before - most) + jnp.sum(jnp.exp(z - most), axis=1, keepdims=True)
    max_ref[...] = most

    @pl.when(j == pl.num_programs(1) - 1)
    def _store():
        lse = max_ref[...] + jnp.log(sum_ref[...])
        lse_ref[...] = lse
        loss_ref[...] = lse - label_ref[...]


def dx_kernel(x_ref, w_ref, labels_ref, lse_ref, d_loss_ref, d_x_ref, acc_ref, *, columns, soft_cap):
    """What one block of logits adds to d_x of its rows."""
    j = pl.program_id(1)
    block = w_ref.shape[1]

    @pl.when(j == 0)
    def _clear():
        acc_ref[...] = jnp.zeros_like(acc_ref)

    w = w_ref[...]
    if columns % block != 0:
        w = within(w, 1, columns - j * block)
    slope = d_product(x_ref[...], w, labels_ref[...], lse_ref[...], d_loss_ref[...], j * block, soft_cap)
    # Columns of w beyond the vocabulary are zero by now, so they add nothing.
    acc_ref[...] += jax.lax.dot_general(
        slope.astype(w.dtype), w, (((1,), (1,)), ((), ())), preferred_element_type=jnp.float32
    )

    @pl.when(j == pl.num_programs(1) - 1)
    def _store():
        d_x_ref[...] = acc_ref[...].astype(d_x_ref.dtype)


def dw_kernel(x_ref, w_ref, labels_ref, lse_ref, d_loss_ref, d_w_ref, acc_ref, *, rows, soft_cap):
    """What one block of logits adds to d_w of its columns. `rows`: of all of x."""
    j, i = pl.program_id(0), pl.program_id(1)
    block = x_ref.shape[0]

    @pl.when(i == 0)
    def _clear():
        acc_ref[...] = jnp.zeros_like(acc_ref)

    x = x_ref[...]
    if rows % block != 0:
        x = within(x, 0, rows - i * block)
    first = j * w_ref.shape[1]
    slope = d_product(x, w_ref[...], labels_ref[...], lse_ref[...], d_loss_ref[...], first, soft_cap)
    if rows % block != 0:
        slope = within(slope, 0, rows - i * block)
    acc_ref[...] += jax.lax.dot_general(
        x, slope.astype(x.dtype), (((0,), (0,)), ((), ())), preferred_element_type=jnp.float32
    )

    @pl.when(i == pl.num_programs(1) - 1)
    def _store():
        d_w_ref[...] = acc_ref[...].astype(d_w_ref.dtype)


def params_of(*semantics):
    """What all three kernels ask of the compiler."""
    return pltpu.CompilerParams(dimension_semantics=semantics, vmem_limit_bytes=56 * 2**20)


def forward(x, w, labels, sizes, soft_cap):
    """The loss and the log of the sum of exponentials of each row: [B, 1] both."""
    (rows, width), columns = x.shape, w.shape[1]
    bb, bv = min(sizes.block_b, rows), min(sizes.block_v, columns)
    of_rows = pl.BlockSpec((bb, 1), lambda i, j: (i, 0))
    return pl.pallas_call(
        functools.partial(forward_kernel, columns=columns, soft_cap=soft_cap),
        out_shape=(jax.ShapeDtypeStruct((rows, 1), jnp.float32), jax.ShapeDtypeStruct((rows, 1), jnp.float32)),
        grid=(pl.cdiv(rows, bb), pl.cdiv(columns, bv)),
        in_specs=[
            pl.BlockSpec((bb, width), lambda i, j: (i, 0)),
            pl.BlockSpec((width, bv), lambda i, j: (0, j)),
            of_rows,
        ],
        out_specs=(of_rows, of_rows),
        scratch_shapes=[
            pltpu.VMEM((bb, 1), jnp.float32),
            pltpu.VMEM((bb, 1), jnp.float32),
            pltpu.VMEM((bb, 1), jnp.float32),
        ],
        compiler_params=params_of("parallel", "arbitrary"),
        cost_estimate=pl.CostEstimate(
            flops=2 * rows * width * columns,
            bytes_accessed=(rows + columns) * width * x.dtype.itemsize + 12 * rows,
            transcendentals=2 * rows * columns,
        ),
        interpret=jax.default_backend() == "cpu",
        name="fused_cross_entropy_forward",
    )(x, w, labels)


def gradient_of_x(x, w, labels, lse, d_loss, sizes, soft_cap):
    """d_x [B, H]."""
    (rows, width), columns = x.shape, w.shape[1]
    bb, bv = min(sizes.dx_block_b, rows), min(sizes.dx_block_v, columns)
    of_rows = pl.BlockSpec((bb, 1), lambda i, j: (i, 0))
    return pl.pallas_call(
        functools.partial(dx_kernel, columns=columns, soft_cap=soft_cap),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid=(pl.cdiv(rows, bb), pl.cdiv(columns, bv)),
        in_specs=[
            pl.BlockSpec((bb, width), lambda i, j: (i, 0)),
            pl.BlockSpec((width, bv), lambda i, j: (0, j)),
            of_rows,
            of_rows,
            of_rows,
        ],
        out_specs=pl.BlockSpec((bb, width), lambda i, j: (i, 0)),
        scratch_shapes=[pltpu.VMEM((bb, width), jnp.float32)],
        compiler_params=params_of("parallel", "arbitrary"),
        cost_estimate=pl.CostEstimate(
            flops=4 * rows * width * columns,
            bytes_accessed=(2 * rows + columns) * width * x.dtype.itemsize + 12 * rows,
            transcendentals=2 * rows * columns,
        ),
        interpret=jax.default_backend() == "cpu",
        name="fused_cross_entropy_dx",
    )(x, w, labels, lse, d_loss)


def gradient_of_w(x, w, labels, lse, d_loss, sizes, soft_cap):
    """d_w [H, V]."""
    (rows, width), columns = x.shape, w.shape[1]
    bb, bv = min(sizes.dw_block_b, rows), min(sizes.dw_block_v, columns)
    of_rows = pl.BlockSpec((bb, 1), lambda j, i: (i, 0))
    return pl.pallas_call(
        functools.partial(dw_kernel, rows=rows, soft_cap=soft_cap),
        out_shape=jax.ShapeDtypeStruct(w.shape, w.dtype),
        grid=(pl.cdiv(columns, bv), pl.cdiv(rows, bb)),
        in_specs=[
            pl.BlockSpec((bb, width), lambda j, i: (i, 0)),
            pl.BlockSpec((width, bv), lambda j, i: (0, j)),
            of_rows,
            of_rows,
            of_rows,
        ],
        out_specs=pl.BlockSpec((width, bv), lambda j, i: (0, j)),
        scratch_shapes=[pltpu.VMEM((width, bv), jnp.float32)],
        compiler_params=params_of("parallel", "arbitrary"),
        cost_estimate=pl.CostEstimate(
            flops=4 * rows * width * columns,
            bytes_accessed=(rows + 2 * columns) * width * x.dtype.itemsize + 12 * rows,
            transcendentals=2 * rows * columns,
        ),
        interpret=jax.default_backend() == "cpu",
        name="fused_cross_entropy_dw",
    )(x, w, labels, lse, d_loss)


@functools.partial(jax.custom_vjp, nondiff_argnums=(3, 4))
def losses(x, w, labels, sizes, soft_cap):
    """The loss of each row, [B, 1]; labels are [B, 1], too."""
    return forward(x, w, labels, sizes, soft_cap)[0]


def losses_and_kept(x, w, labels, sizes, soft_cap):
    """The losses, and what backward is given."""
    loss, lse = forward(x, w, labels, sizes, soft_cap)
    return loss, (x, w, labels, lse)


def gradients(sizes, soft_cap, kept, d_loss):
    """d_x and d_w; labels have none."""
    return gradient_of_x(*kept, d_loss, sizes, soft_cap), gradient_of_w(*kept, d_loss, sizes, soft_cap), None


losses.defvjp(losses_and_kept, gradients)


def fused_cross_entropy(x, w, labels, *, soft_cap=30.0, block_sizes=None):
    """The loss of each row, [B] float32, of x [B, H], w [H, V] and labels [B]; differentiable by x and w."""
    rows = x.shape[0]
    return losses(x, w, labels.reshape(rows, 1), block_sizes or BlockSizes(), soft_cap).reshape(rows)


# EVOLVE-BLOCK-END
