"""A primitive of its own, with a lowering of its own. (12)

Verdict: contract
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

from jax.extend.core import Primitive

product_p = Primitive("product")
product_p.def_abstract_eval(lambda x, y: jax.core.ShapedArray((x.shape[0], y.shape[1]), x.dtype))


def matmul(x, y):
    return product_p.bind(x, y)
