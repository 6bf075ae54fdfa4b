"""The largest, and the largest of the rest. Zeros that were denormal numbers would come in another order.

Verdict: ok
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

ROWS = 32


def _kernel(scores_ref, weights_ref, ids_ref):
    scores = scores_ref[...]
    column = jax.lax.broadcasted_iota(jnp.int32, scores.shape, 1)
    best, ids = [], []
    for _ in range(2):
        top = jnp.max(scores, axis=1, keepdims=True)
        at = jnp.min(jnp.where(scores == top, column, scores.shape[1]), axis=1, keepdims=True)
        best.append(top)
        ids.append(at)
        scores = jnp.where(column == at, -jnp.inf, scores)
    share = 1 / (1 + jnp.exp(best[1] - best[0]))
    weights_ref[...] = jnp.concatenate([share, 1 - share], axis=1)
    ids_ref[...] = jnp.concatenate(ids, axis=1)


def router(scores):
    t, e = scores.shape
    two = pl.BlockSpec((ROWS, 2), lambda i: (i, 0))
    return pl.pallas_call(
        _kernel,
        grid=(t // ROWS,),
        in_specs=[pl.BlockSpec((ROWS, e), lambda i: (i, 0))],
        out_specs=(two, two),
        out_shape=(jax.ShapeDtypeStruct((t, 2), scores.dtype), jax.ShapeDtypeStruct((t, 2), jnp.int32)),
    )(scores)
