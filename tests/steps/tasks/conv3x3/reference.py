import jax
import jax.numpy as jnp


def conv3x3(x, w):
    y = jax.lax.conv_general_dilated(
        x.astype(jnp.float32),
        w.astype(jnp.float32),
        (1, 1),
        "SAME",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        precision="highest",
    )
    return jax.nn.relu(y).astype(jnp.bfloat16)
