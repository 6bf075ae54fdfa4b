"""Functions of PyTorch that are more than a line of JAX. A translated text contains those that it calls, unchanged.

Arrays have their channels in axis 1, as in PyTorch.
"""

# ruff: noqa: D103 - each is what PyTorch has under its name

import jax
import jax.numpy as jnp


def linear(x, weight, bias=None):
    y = jnp.matmul(x, weight.T)
    return y if bias is None else y + bias


def exact_gelu(x):
    # PyTorch's formula. jax.nn.gelu is not called, because it uses erfc, which Mosaic does not have.
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


def norm_of_instances(x, rank, weight=None, bias=None, eps=1e-5):
    return with_channels(normalized(x, tuple(range(-rank, 0)), eps), weight, bias)


def norm_of_groups(x, groups, weight=None, bias=None, eps=1e-5):
    grouped = x.reshape(x.shape[0], groups, -1)
    return with_channels(normalized(grouped, -1, eps).reshape(x.shape), weight, bias)


def huber(x, delta):
    size = jnp.abs(x)
    return jnp.where(size < delta, 0.5 * jnp.square(x), delta * (size - 0.5 * delta))


def class_losses(logits, target, label_smoothing=0.0):
    log = jax.nn.log_softmax(logits, axis=1)
    if target.ndim == logits.ndim:
        target = target * (1 - label_smoothing) + label_smoothing / logits.shape[1]
        return -jnp.sum(log * target, axis=1)
    wanted = jax.nn.one_hot(target, logits.shape[1], axis=1, dtype=logits.dtype)
    wanted = wanted * (1 - label_smoothing) + label_smoothing / logits.shape[1]
    return -jnp.sum(log * wanted, axis=1)


def hinge_losses(x, target, margin=1.0):
    return jnp.where(target != 1, jnp.maximum(margin - x, 0), 0) + jnp.where(target != -1, x, 0)


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


def multi_head(query, key, value, weights, heads, batch_first=False, mask=None):
    w_in, b_in, w_out, b_out = weights if len(weights) == 4 else (weights[0], None, weights[1], None)
    if not batch_first:
        query, key, value = (jnp.swapaxes(one, 0, 1) for one in (query, key, value))
    w_each = jnp.split(w_in, 3)
    b_each = (None,) * 3 if b_in is None else jnp.split(b_in, 3)
    q, k, v = (linear(one, w, b) for one, w, b in zip((query, key, value), w_each, b_each, strict=True))
    q, k, v = (jnp.swapaxes(one.reshape(*one.shape[:2], heads, -1), 1, 2) for one in (q, k, v))
    scores = jnp.matmul(q, jnp.swapaxes(k, -2, -1)) * q.shape[-1] ** -0.5
    if mask is not None:
        scores = jnp.where(mask, -jnp.inf, scores) if mask.dtype == bool else scores + mask
    shares = jax.nn.softmax(scores, axis=-1)
    y = jnp.swapaxes(jnp.matmul(shares, v), 1, 2).reshape(query.shape)
    y = linear(y, w_out, b_out)
    return (y if batch_first else jnp.swapaxes(y, 0, 1)), jnp.mean(shares, axis=1)


def transformer_layer(x, weights, heads, activation, batch_first=False, norm_first=False, eps=1e-5):
    attended, (w_up, b_up, w_down, b_down), scales = weights[:4], weights[4:8], (weights[8:10], weights[10:])
    between = jax.nn.relu if activation == "relu" else exact_gelu

    def attention_of(y):
        return multi_head(y, y, y, attended, heads, batch_first)[0]

    def forward_of(y):
        return linear(between(linear(y, w_up, b_up)), w_down, b_down)

    for function, (scale, shift) in zip((attention_of, forward_of), scales, strict=True):
        if norm_first:
            x = x + function(norm_of_last(x, 1, scale, shift, eps))
        else:
            x = norm_of_last(x + function(x), 1, scale, shift, eps)
    return x


def recurrent(cell, x, starts, weights, has_biases, directions, batch_first):
    if x.ndim != 3:
        raise ValueError("an array of steps, batches and features was expected")
    x = jnp.swapaxes(x, 0, 1) if batch_first else x
    count = 4 if has_biases else 2
    layers = [weights[at : at + count] for at in range(0, len(weights), count)]
    if starts is None:
        zeros = jnp.zeros((len(layers), x.shape[1], weights[1].shape[1]), x.dtype)
        starts = (zeros,) * (2 if cell is lstm_cell else 1)
    if starts[0].shape[0] != len(layers):
        raise ValueError(f"{len(layers)} states to start from were expected, and not {starts[0].shape[0]}")
    ends = []
    for first in range(0, len(layers), directions):
        outputs = []
        for at in range(first, first + directions):
            w_in, w_own, b_in, b_own = layers[at] if has_biases else (*layers[at], 0, 0)

            def step(state, gates, w_own=w_own, b_own=b_own):
                state = cell(gates, jnp.matmul(state[0], w_own.T) + b_own, state)
                return state, state[0]

            start = tuple(one[at] for one in starts)
            end, output = jax.lax.scan(step, start, jnp.matmul(x, w_in.T) + b_in, reverse=at > first)
            ends.append(end)
            outputs.append(output)
        x = outputs[0] if directions == 1 else jnp.concatenate(outputs, axis=-1)
    return (jnp.swapaxes(x, 0, 1) if batch_first else x), tuple(jnp.stack(one) for one in zip(*ends, strict=True))


def gru_cell(gates, own, state):
    (r, z, n), (r_own, z_own, n_own) = jnp.split(gates, 3, axis=-1), jnp.split(own, 3, axis=-1)
    z = jax.nn.sigmoid(z + z_own)
    n = jnp.tanh(n + jax.nn.sigmoid(r + r_own) * n_own)
    return ((1 - z) * n + z * state[0],)


def lstm_cell(gates, own, state):
    i, f, g, o = jnp.split(gates + own, 4, axis=-1)
    kept = jax.nn.sigmoid(f) * state[1] + jax.nn.sigmoid(i) * jnp.tanh(g)
    return jax.nn.sigmoid(o) * jnp.tanh(kept), kept


def gru(x, start, weights, has_biases=True, directions=1, batch_first=False):
    starts = None if start is None else (start,)
    y, ends = recurrent(gru_cell, x, starts, weights, has_biases, directions, batch_first)
    return y, ends[0]


def lstm(x, starts, weights, has_biases=True, directions=1, batch_first=False):
    return recurrent(lstm_cell, x, starts, weights, has_biases, directions, batch_first)


def expanded(x, size):
    own = (1,) * (len(size) - x.ndim) + x.shape
    return jnp.broadcast_to(x, tuple(side if to == -1 else to for side, to in zip(own, size, strict=True)))


def split(x, size, axis):
    sizes = size if isinstance(size, (tuple, list)) else (size,) * (x.shape[axis] // size)
    places = [sum(sizes[:at]) for at in range(1, len(sizes) + 1)]
    return jnp.split(x, [place for place in places if place < x.shape[axis]], axis=axis)


def chunks(x, count, axis):
    return split(x, -(-x.shape[axis] // count), axis)


def unbound(x, axis):
    return [jax.lax.index_in_dim(x, at, axis, keepdims=False) for at in range(x.shape[axis])]


def unfolded(x, axis, size, step):
    axis %= x.ndim
    starts = range(0, x.shape[axis] - size + 1, step)
    windows = [jax.lax.slice_in_dim(x, start, start + size, axis=axis) for start in starts]
    return jnp.moveaxis(jnp.stack(windows, axis=axis), axis + 1, -1)


def padded(x, pad, value=0):
    sides = [(pad[at], pad[at + 1]) for at in range(0, len(pad), 2)]
    return jnp.pad(x, [(0, 0)] * (x.ndim - len(sides)) + sides[::-1], constant_values=value)


def of_each(value, count):
    return (value,) * count if isinstance(value, int) else tuple(value)


def windows(x, function, start, kernel, stride, padding, dilation=1, is_whole=True):
    rank = x.ndim - 2
    ends = [0] * rank if is_whole else parts_of_windows(x.shape[2:], kernel, stride, padding, dilation)
    return jax.lax.reduce_window(
        x,
        start,
        function,
        (1, 1, *of_each(kernel, rank)),
        (1, 1, *of_each(kernel if stride is None else stride, rank)),
        ((0, 0), (0, 0), *((side, side + end) for side, end in zip(of_each(padding, rank), ends, strict=True))),
        window_dilation=(1, 1, *of_each(dilation, rank)),
    )


def parts_of_windows(sizes, kernel, stride, padding, dilation):
    # Returns, for each axis, how far the last window that begins before the end reaches beyond it.
    given = [of_each(one, len(sizes)) for one in (kernel, kernel if stride is None else stride, padding, dilation)]
    found = []
    for size, width, step, pad, spread in zip(sizes, *given, strict=True):
        reach = spread * (width - 1) + 1
        count = -(-(size + 2 * pad - reach) // step)
        count -= count * step >= size + pad
        found.append(max(0, count * step + reach - size - 2 * pad))
    return found


def max_pool(x, kernel, stride=None, padding=0, dilation=1, ceil_mode=False):
    return windows(x, jax.lax.max, -jnp.inf, kernel, stride, padding, dilation, not ceil_mode)


def average_pool(x, kernel, stride=None, padding=0):
    count = 1
    for size in of_each(kernel, x.ndim - 2):
        count *= size
    return windows(x, jax.lax.add, 0.0, kernel, stride, padding) / count


def mean_of_each(x, rank):
    return jnp.mean(x, axis=tuple(range(-rank, 0)), keepdims=True)


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
