"""Mamba's selective scan: the state [N, channels] in scratch, steps in a fori_loop with unroll.

Verdict: ok
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

# EVOLVE-BLOCK-START
BT = 32
BI = 128


def _scan_kernel(u_ref, delta_ref, a_ref, b_ref, c_ref, d_ref, y_ref, h_ref, dt_ref):
    @pl.when(pl.program_id(2) == 0)
    def _():
        h_ref[...] = jnp.zeros_like(h_ref)

    dt_ref[...] = jax.nn.softplus(delta_ref[0])
    a = a_ref[...]
    d = d_ref[...]

    def step(t, h):
        row = pl.ds(t, 1)
        dt, u = dt_ref[row, :], u_ref[0, row, :]
        h = jnp.exp(dt * a) * h + (dt * u) * b_ref[0, t]
        y_ref[0, row, :] = jnp.sum(h * c_ref[0, t], axis=0, keepdims=True) + d * u
        return h

    h_ref[...] = jax.lax.fori_loop(0, u_ref.shape[1], step, h_ref[...], unroll=4)


def selective_scan(u, delta, A, Bm, Cm, D):
    b, t, i = u.shape
    n = A.shape[1]
    seq = pl.BlockSpec((1, BT, BI), lambda b, i, t: (b, t, i))
    mat = pl.BlockSpec((1, BT, n, 1), lambda b, i, t: (b, t, 0, 0))
    return pl.pallas_call(
        _scan_kernel,
        grid=(b, i // BI, t // BT),
        in_specs=[
            seq,
            seq,
            pl.BlockSpec((n, BI), lambda b, i, t: (0, i)),
            mat,
            mat,
            pl.BlockSpec((1, BI), lambda b, i, t: (0, i)),
        ],
        out_specs=seq,
        out_shape=jax.ShapeDtypeStruct(u.shape, u.dtype),
        scratch_shapes=[pltpu.VMEM((n, BI), jnp.float32), pltpu.VMEM((BT, BI), jnp.float32)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary")),
    )(u, delta, A.T, Bm[..., None], Cm[..., None], D[None])


# EVOLVE-BLOCK-END
