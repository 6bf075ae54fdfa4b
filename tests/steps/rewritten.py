"""Kernels for the tests of rewrites."""

from __future__ import annotations

import re

from conftest import SMALL

SEED = (SMALL / "kernel.py").read_text()

HEADER = """import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

# EVOLVE-BLOCK-START
"""
FOOTER = "# EVOLVE-BLOCK-END\n"


def in_block(body: str) -> str:
    """Returns a source whose EVOLVE block is the body."""
    return HEADER + body + FOOTER


def with_blocks(source: str, m: int, n: int, k: int) -> str:
    """Returns the source with other values of its parameters."""
    for name, value in {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k}.items():
        source, count = re.subn(rf"^{name} = \d+", f"{name} = {value}", source, flags=re.MULTILINE)
        assert count == 1
    return source


def wholly_in_block(source: str) -> str:
    """Returns the source with all lines but its imports in the EVOLVE block."""
    if "# EVOLVE-BLOCK-START" in source:
        return source
    lines = source.split("\n")
    last_import = max(i for i, line in enumerate(lines) if re.match(r"(import|from) ", line))
    head, body = lines[: last_import + 1], lines[last_import + 1 :]
    return "\n".join([*head, "", "# EVOLVE-BLOCK-START", *body, "# EVOLVE-BLOCK-END", ""])


# A kernel with its sums in the output's own block, which is float32.
SUM_IN_OUTPUT = in_block("""

def kernel(x_ref, y_ref, out_ref):
    @pl.when(pl.program_id(2) == 0)
    def _clear():
        out_ref[...] = jnp.zeros_like(out_ref)

    # The product of one step.
    out_ref[...] += jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32)


def matmul(x, y):
    (m, k), n = x.shape, y.shape[1]
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((m, n), jnp.float32),
        grid=(m // 128, n // 128, k // 512),
        in_specs=[
            pl.BlockSpec((128, 512), lambda i, j, k: (i, k)),
            pl.BlockSpec((512, 128), lambda i, j, k: (k, j)),
        ],
        out_specs=pl.BlockSpec((128, 128), lambda i, j, k: (i, j)),
    )(x, y)


""")

# A kernel with its sums in scratch memory, which are written unchanged to a float32 output.
SUM_IN_SCRATCH = in_block("""

def kernel(x_ref, y_ref, out_ref, sum_ref):
    k = pl.program_id(2)

    @pl.when(k == 0)
    def _clear():
        sum_ref[...] = jnp.zeros_like(sum_ref)

    sum_ref[...] += jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32)

    @pl.when(k == pl.num_programs(2) - 1)
    def _store():
        out_ref[...] = sum_ref[...].astype(out_ref.dtype)


def matmul(x, y):
    (m, k), n = x.shape, y.shape[1]
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((m, n), jnp.float32),
        grid=(m // 128, n // 128, k // 512),
        in_specs=[
            pl.BlockSpec((128, 512), lambda i, j, k: (i, k)),
            pl.BlockSpec((512, 128), lambda i, j, k: (k, j)),
        ],
        out_specs=pl.BlockSpec((128, 128), lambda i, j, k: (i, j)),
        scratch_shapes=[pltpu.VMEM((128, 128), jnp.float32)],
    )(x, y)


""")

# A kernel with a loop over slices. One of its arrays is the same in each pass.
LOOP = in_block("""

def kernel(x_ref, y_ref, out_ref, *, steps):
    def add(step, total):
        kept = jax.lax.broadcasted_iota(jnp.int32, (x_ref.shape[0], 128), 1) < 128
        at = pl.ds(pl.multiple_of(step * 128, 128), 128)
        x = jnp.where(kept, x_ref[:, at], 0)
        return total + jnp.dot(x, y_ref[at, :], preferred_element_type=jnp.float32)

    total = jax.lax.fori_loop(0, steps, add, jnp.zeros(out_ref.shape, jnp.float32))
    out_ref[...] = total.astype(out_ref.dtype)


def matmul(x, y):
    (m, k), n = x.shape, y.shape[1]
    return pl.pallas_call(
        functools.partial(kernel, steps=k // 128),
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        grid=(m // 128, n // 128),
        in_specs=[pl.BlockSpec((128, k), lambda i, j: (i, 0)), pl.BlockSpec((k, 128), lambda i, j: (0, j))],
        out_specs=pl.BlockSpec((128, 128), lambda i, j: (i, j)),
    )(x, y)


""")

# A kernel with a narrow scratch that each step overwrites, so that no sum is kept in it.
NARROW_SCRATCH = in_block("""

def kernel(x_ref, y_ref, out_ref, product_ref):
    product = jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32)
    product_ref[...] = product.astype(product_ref.dtype)
    out_ref[...] = product_ref[...].astype(out_ref.dtype)


def matmul(x, y):
    (m, k), n = x.shape, y.shape[1]
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        grid=(m // 128, n // 128),
        in_specs=[pl.BlockSpec((128, k), lambda i, j: (i, 0)), pl.BlockSpec((k, 128), lambda i, j: (0, j))],
        out_specs=pl.BlockSpec((128, 128), lambda i, j: (i, j)),
        scratch_shapes=[pltpu.VMEM((128, 128), jnp.bfloat16)],
    )(x, y)


""")

# A kernel whose blocks have all of the contracted dimension: 256 in a small case, more in a large one.
WHOLE_CONTRACTED = in_block("""

def kernel(x_ref, y_ref, out_ref):
    product = jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32)
    out_ref[...] = product.astype(out_ref.dtype)


def matmul(x, y):
    (m, k), n = x.shape, y.shape[1]
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        grid=(m // 128, n // 128),
        in_specs=[pl.BlockSpec((128, k), lambda i, j: (i, 0)), pl.BlockSpec((k, 128), lambda i, j: (0, j))],
        out_specs=pl.BlockSpec((128, 128), lambda i, j: (i, j)),
    )(x, y)


""")
