"""RG-LRU: a sequential grid over time with the state in scratch, rows in an unrolled loop.

Verdict: ok
"""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

# EVOLVE-BLOCK-START
BLOCK_T = 64
BLOCK_D = 128


def _lru_kernel(a_ref, x_ref, h0_ref, out_ref, last_ref, h_ref, *, seq_len, block_t):
    t = pl.program_id(2)

    @pl.when(t == 0)
    def _init():
        h_ref[...] = h0_ref[0]

    gate = jax.nn.sigmoid(a_ref[0])
    inp = x_ref[0] * jnp.sqrt(1.0 - gate * gate)
    # Behind the end the state stays.
    there = t * block_t + jax.lax.broadcasted_iota(jnp.int32, gate.shape, 0) < seq_len
    gate = jnp.where(there, gate, 1.0)
    inp = jnp.where(there, inp, 0.0)

    h = h_ref[...]
    for r in range(block_t):
        h = gate[r : r + 1, :] * h + inp[r : r + 1, :]
        out_ref[0, r : r + 1, :] = h
    h_ref[...] = h

    @pl.when(t == pl.num_programs(2) - 1)
    def _done():
        last_ref[0] = h_ref[...]


def recurrence(a, x, h0):
    b, t, d = x.shape
    bt, bd = min(BLOCK_T, t), min(BLOCK_D, d)
    seq = pl.BlockSpec((1, bt, bd), lambda b, d, t: (b, t, d))
    state = pl.BlockSpec((1, 1, bd), lambda b, d, t: (b, 0, d))
    out, last = pl.pallas_call(
        functools.partial(_lru_kernel, seq_len=t, block_t=bt),
        grid=(b, pl.cdiv(d, bd), pl.cdiv(t, bt)),
        in_specs=[seq, seq, state],
        out_specs=[seq, state],
        out_shape=[jax.ShapeDtypeStruct(x.shape, x.dtype), jax.ShapeDtypeStruct((b, 1, d), x.dtype)],
        scratch_shapes=[pltpu.VMEM((1, bd), jnp.float32)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary")),
    )(a, x, h0[:, None])
    return out, last[:, 0]


# EVOLVE-BLOCK-END
