"""Functions of PyTorch that are more than a line of JAX. A translated text has those in it that it calls, as they are.

Arrays have their channels in axis 1, as there.
"""

# ruff: noqa: D103 - each is what PyTorch has under its name

import jax
import jax.numpy as jnp


def linear(x, weight, bias=None):
    y = jnp.matmul(x, weight.T)
    return y if bias is None else y + bias


def exact_gelu(x):
    # As there, and Mosaic has no erfc, which jax.nn.gelu takes.
    return 0.5 * x * (1 + jax.lax.erf(x * 0.5**0.5))


def normalized(x, axis, eps):
    centred = x - jnp.mean(x, axis=axis, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.mean(jnp.square(centred), axis=axis, keepdims=True) + eps)


def with_channels(x, weight=None, bias=None):
    shape = (-1,) + (1,) * (x.ndim - 2)
    x = x if weight is None else x * weight.reshape(shape)
    return x if bias is None else x + bias.reshape(shape)


def norm_of_last(x, count, weight=None, bias=None, eps=1e-5):
    y = normalized(x, tuple(range(-count, 0)), eps)
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def rms_of_last(x, count, weight=None, eps=1.1920929e-07):
    y = x * jax.lax.rsqrt(jnp.mean(jnp.square(x), axis=tuple(range(-count, 0)), keepdims=True) + eps)
    return y if weight is None else y * weight


def norm_of_batch(x, weight=None, bias=None, eps=1e-5):
    return with_channels(normalized(x, (0, *range(2, x.ndim)), eps), weight, bias)


def norm_of_instances(x, weight=None, bias=None, eps=1e-5):
    return with_channels(normalized(x, tuple(range(2, x.ndim)), eps), weight, bias)


def norm_of_groups(x, groups, weight=None, bias=None, eps=1e-5):
    grouped = x.reshape(x.shape[0], groups, -1)
    return with_channels(normalized(grouped, -1, eps).reshape(x.shape), weight, bias)


def huber(x, delta):
    size = jnp.abs(x)
    return jnp.where(size < delta, 0.5 * jnp.square(x), delta * (size - 0.5 * delta))


def class_losses(logits, target, label_smoothing=0.0):
    log = jax.nn.log_softmax(logits, axis=1)
    if target.ndim == logits.ndim:
        return -jnp.sum(log * target, axis=1)
    wanted = jax.nn.one_hot(target, logits.shape[1], axis=1, dtype=logits.dtype)
    wanted = wanted * (1 - label_smoothing) + label_smoothing / logits.shape[1]
    return -jnp.sum(log * wanted, axis=1)


def distance(x, y, p=2.0, eps=1e-6):
    return jnp.sum(jnp.abs(x - y + eps) ** p, axis=-1) ** (1 / p)


def triplet_losses(anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6):
    return jnp.maximum(distance(anchor, positive, p, eps) - distance(anchor, negative, p, eps) + margin, 0)


def cosine(x, y, axis=1, eps=1e-8):
    sizes = jnp.linalg.norm(x, axis=axis) * jnp.linalg.norm(y, axis=axis)
    return jnp.sum(x * y, axis=axis) / jnp.maximum(sizes, eps)


def attention(q, k, v, is_causal=False, scale=None):
    scores = jnp.matmul(q, jnp.swapaxes(k, -2, -1)) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -jnp.inf)
    return jnp.matmul(jax.nn.softmax(scores, axis=-1), v)


def of_each(value, count):
    return (value,) * count if isinstance(value, int) else tuple(value)


def windows(x, function, start, kernel, stride, padding, dilation=1):
    rank = x.ndim - 2
    return jax.lax.reduce_window(
        x,
        start,
        function,
        (1, 1, *of_each(kernel, rank)),
        (1, 1, *of_each(kernel if stride is None else stride, rank)),
        ((0, 0), (0, 0), *((side, side) for side in of_each(padding, rank))),
        window_dilation=(1, 1, *of_each(dilation, rank)),
    )


def max_pool(x, kernel, stride=None, padding=0, dilation=1):
    return windows(x, jax.lax.max, -jnp.inf, kernel, stride, padding, dilation)


def average_pool(x, kernel, stride=None, padding=0):
    count = 1
    for size in of_each(kernel, x.ndim - 2):
        count *= size
    return windows(x, jax.lax.add, 0.0, kernel, stride, padding) / count


def mean_of_each(x):
    return jnp.mean(x, axis=tuple(range(2, x.ndim)), keepdims=True)


def convolution(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    rank = x.ndim - 2
    layout = "".join("DHW"[3 - rank :])
    y = jax.lax.conv_general_dilated(
        x,
        weight,
        of_each(stride, rank),
        [(side, side) for side in of_each(padding, rank)],
        rhs_dilation=of_each(dilation, rank),
        dimension_numbers=("NC" + layout, "OI" + layout, "NC" + layout),
        feature_group_count=groups,
    )
    return with_channels(y, None, bias)


def transposed_convolution(x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    rank = x.ndim - 2
    layout = "".join("DHW"[3 - rank :])
    reach = [
        d * (k - 1) - p
        for d, k, p in zip(of_each(dilation, rank), weight.shape[2:], of_each(padding, rank), strict=True)
    ]
    flipped = jnp.flip(weight, axis=tuple(range(2, x.ndim)))
    split = flipped.reshape(groups, weight.shape[0] // groups, *weight.shape[1:])
    y = jax.lax.conv_general_dilated(
        x,
        jnp.swapaxes(split, 1, 2).reshape(-1, weight.shape[0] // groups, *weight.shape[2:]),
        (1,) * rank,
        [(low, low + more) for low, more in zip(reach, of_each(output_padding, rank), strict=True)],
        lhs_dilation=of_each(stride, rank),
        rhs_dilation=of_each(dilation, rank),
        dimension_numbers=("NC" + layout, "OI" + layout, "NC" + layout),
        feature_group_count=groups,
    )
    return with_channels(y, None, bias)
