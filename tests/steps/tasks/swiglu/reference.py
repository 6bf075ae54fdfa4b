import jax
import jax.numpy as jnp


def swiglu(x, gate, up):
    x, gate, up = (a.astype(jnp.float32) for a in (x, gate, up))
    a = jnp.dot(x, gate, precision="highest")
    return (jax.nn.silu(a) * jnp.dot(x, up, precision="highest")).astype(jnp.bfloat16)
