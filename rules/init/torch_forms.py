"""PyTorch's names in JAX: tables, and nothing else.

A form is a lambda's text: its arguments are PyTorch's, with their defaults, and its body is the JAX expression that
replaces the call. An argument that the body does not use must have its default. `reduced(x, how)` is the mean, the sum
or x itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from init.torch_in_jax import of_each

# Arguments that change no result.
WITHOUT_MEANING = {"inplace", "device", "requires_grad", "non_blocking", "memory_format", "copy", "_stacklevel"}
# JAX forms of functions of torch, torch.nn.functional and torch.special, and of methods, with the tensor in front.
FORMS = {
    "matmul": "input, other: jnp.matmul(input, other)",
    "mm": "input, mat2: jnp.matmul(input, mat2)",
    "bmm": "input, mat2: jnp.matmul(input, mat2)",
    "mv": "input, vec: jnp.matmul(input, vec)",
    "dot": "input, tensor: jnp.dot(input, tensor)",
    "outer": "input, vec2: jnp.outer(input, vec2)",
    "einsum": "equation, *operands: jnp.einsum(equation, *operands)",
    "addmm": "input, mat1, mat2, beta=1, alpha=1: beta * input + alpha * jnp.matmul(mat1, mat2)",
    "linear": "input, weight, bias=None: linear(input, weight, bias)",
    "t": "input: input.T",
    "transpose": "input, dim0, dim1: jnp.swapaxes(input, dim0, dim1)",
    "swapaxes": "input, axis0, axis1: jnp.swapaxes(input, axis0, axis1)",
    "permute": "input, *dims: jnp.transpose(input, dims)",
    "reshape": "input, *shape: input.reshape(shape)",
    "view": "input, *shape: input.reshape(shape)",
    "flatten": "input, start_dim=0: input.reshape(input.shape[:start_dim] + (-1,))",
    "tensor": "data, dtype=None: jnp.asarray(data, dtype=dtype)",
    "expand": "input, *size: expanded_of(input, size)",
    "expand_as": "input, other: jnp.broadcast_to(input, other.shape)",
    "split": "input, split_size, dim=0: split(input, split_size, dim)",
    "chunk": "input, chunks, dim=0: chunks(input, chunks, dim)",
    "unbind": "input, dim=0: unbound(input, dim)",
    "unfold": "input, dimension, size, step: unfolded(input, dimension, size, step)",
    "repeat_interleave": "input, repeats, dim=None: jnp.repeat(input, repeats, axis=dim)",
    "pad": "input, pad, mode='constant', value=0: padded(input, pad, value)",
    "zeros": "*size, dtype=None: jnp.zeros(size, dtype=dtype)",
    "ones": "*size, dtype=None: jnp.ones(size, dtype=dtype)",
    "arange": "*bounds, dtype=None: jnp.arange(*bounds, dtype=dtype)",
    "eye": "n, dtype=None: jnp.eye(n, dtype=dtype)",
    "repeat": "input, *repeats: jnp.tile(input, repeats)",
    "unsqueeze": "input, dim: jnp.expand_dims(input, dim)",
    "squeeze": "input, dim=None: jnp.squeeze(input, axis=dim)",
    "contiguous": "input: input",
    "clone": "input: input",
    "detach": "input: jax.lax.stop_gradient(input)",
    "flip": "input, *dims: jnp.flip(input, axis=dims)",
    "roll": "input, shifts, dims=None: jnp.roll(input, shifts, axis=dims)",
    "narrow": "input, dim, start, length: jax.lax.slice_in_dim(input, start, start + length, axis=dim)",
    "select": "input, dim, index: jnp.take(input, index, axis=dim)",
    "cat": "tensors, dim=0: jnp.concatenate(tensors, axis=dim)",
    "concat": "tensors, dim=0: jnp.concatenate(tensors, axis=dim)",
    "stack": "tensors, dim=0: jnp.stack(tensors, axis=dim)",
    "size": "input, dim=None: size_of(input, dim)",
    "dim": "input: input.ndim",
    "numel": "input: input.size",
    "zeros_like": "input, dtype=None: jnp.zeros_like(input, dtype=dtype)",
    "ones_like": "input, dtype=None: jnp.ones_like(input, dtype=dtype)",
    "full_like": "input, fill_value, dtype=None: jnp.full_like(input, fill_value, dtype=dtype)",
    "where": "condition, input, other: jnp.where(condition, input, other)",
    "masked_fill": "input, mask, value: jnp.where(mask, value, input)",
    "tril": "input, diagonal=0: jnp.tril(input, diagonal)",
    "triu": "input, diagonal=0: jnp.triu(input, diagonal)",
    "diag": "input, diagonal=0: jnp.diag(input, diagonal)",
    "to": "input, dtype=None: cast_of(input, dtype)",
    "cuda": "input: input",
    "cpu": "input: input",
    "type_as": "input, other: input.astype(other.dtype)",
    "float": "input: input.astype(jnp.float32)",
    "half": "input: input.astype(jnp.bfloat16)",
    "double": "input: input.astype(jnp.float32)",
    "long": "input: input.astype(jnp.int32)",
    "bfloat16": "input: input.astype(jnp.bfloat16)",
    "bool": "input: input.astype(jnp.bool_)",
    "int": "input: input.astype(jnp.int32)",
    # Functions that compute element by element.
    "relu": "input, inplace=False: jax.nn.relu(input)",
    "relu6": "input, inplace=False: jax.nn.relu6(input)",
    "leaky_relu": "input, negative_slope=0.01, inplace=False: jax.nn.leaky_relu(input, negative_slope)",
    "sigmoid": "input: jax.nn.sigmoid(input)",
    "logsigmoid": "input: jax.nn.log_sigmoid(input)",
    "tanh": "input: jnp.tanh(input)",
    "gelu": "input, approximate='none': gelu_of(input, approximate)",
    "silu": "input, inplace=False: jax.nn.silu(input)",
    "mish": "input, inplace=False: jax.nn.mish(input)",
    "selu": "input, inplace=False: jax.nn.selu(input)",
    "elu": "input, alpha=1.0, inplace=False: jax.nn.elu(input, alpha)",
    "celu": "input, alpha=1.0, inplace=False: jax.nn.celu(input, alpha)",
    "hardsigmoid": "input, inplace=False: jnp.clip(input / 6 + 0.5, 0, 1)",
    "hardswish": "input, inplace=False: input * jnp.clip(input / 6 + 0.5, 0, 1)",
    "hardtanh": "input, min_val=-1.0, max_val=1.0, inplace=False: jnp.clip(input, min_val, max_val)",
    "softplus": "input, beta=1.0, threshold=20.0: "
    "jnp.where(beta * input > threshold, input, jax.nn.softplus(beta * input) / beta)",
    "softsign": "input: jax.nn.soft_sign(input)",
    "tanhshrink": "input: input - jnp.tanh(input)",
    "clamp": "input, min=None, max=None: jnp.clip(input, min, max)",
    "clip": "input, min=None, max=None: jnp.clip(input, min, max)",
    "abs": "input: jnp.abs(input)",
    "exp": "input: jnp.exp(input)",
    "expm1": "input: jnp.expm1(input)",
    "log": "input: jnp.log(input)",
    "log1p": "input: jnp.log1p(input)",
    "log2": "input: jnp.log2(input)",
    "sqrt": "input: jnp.sqrt(input)",
    "rsqrt": "input: jax.lax.rsqrt(input)",
    "square": "input: jnp.square(input)",
    "reciprocal": "input: 1 / input",
    "sin": "input: jnp.sin(input)",
    "cos": "input: jnp.cos(input)",
    "erf": "input: jax.lax.erf(input)",
    "sign": "input: jnp.sign(input)",
    "floor": "input: jnp.floor(input)",
    "ceil": "input: jnp.ceil(input)",
    "round": "input: jnp.round(input)",
    "neg": "input: -input",
    "pow": "input, exponent: input**exponent",
    "add": "input, other, alpha=1: input + alpha * other",
    "sub": "input, other, alpha=1: input - alpha * other",
    "mul": "input, other: input * other",
    "div": "input, other, rounding_mode=None: input / other",
    "maximum": "input, other: jnp.maximum(input, other)",
    "minimum": "input, other: jnp.minimum(input, other)",
    "logical_not": "input: jnp.logical_not(input)",
    "isnan": "input: jnp.isnan(input)",
    # Functions that work along one axis or over all axes.
    "softmax": "input, dim, dtype=None, _stacklevel=3: jax.nn.softmax(input, axis=dim)",
    "log_softmax": "input, dim, dtype=None, _stacklevel=3: jax.nn.log_softmax(input, axis=dim)",
    "softmin": "input, dim, dtype=None, _stacklevel=3: jax.nn.softmax(-input, axis=dim)",
    "logsumexp": "input, dim, keepdim=False: jax.nn.logsumexp(input, axis=dim, keepdims=keepdim)",
    "sum": "input, dim=None, keepdim=False, dtype=None: jnp.sum(input, axis=dim, keepdims=keepdim, dtype=dtype)",
    "mean": "input, dim=None, keepdim=False, dtype=None: jnp.mean(input, axis=dim, keepdims=keepdim, dtype=dtype)",
    "prod": "input, dim=None, keepdim=False, dtype=None: jnp.prod(input, axis=dim, keepdims=keepdim, dtype=dtype)",
    "amax": "input, dim=None, keepdim=False: jnp.max(input, axis=dim, keepdims=keepdim)",
    "amin": "input, dim=None, keepdim=False: jnp.min(input, axis=dim, keepdims=keepdim)",
    "max": "input, dim=None, keepdim=False: with_places(jnp.max, jnp.argmax, input, dim, keepdim)",
    "min": "input, dim=None, keepdim=False: with_places(jnp.min, jnp.argmin, input, dim, keepdim)",
    "argmax": "input, dim=None, keepdim=False: jnp.argmax(input, axis=dim, keepdims=keepdim)",
    "argmin": "input, dim=None, keepdim=False: jnp.argmin(input, axis=dim, keepdims=keepdim)",
    "var": "input, dim=None, unbiased=True, keepdim=False: "
    "jnp.var(input, axis=dim, keepdims=keepdim, ddof=int(unbiased))",
    "std": "input, dim=None, unbiased=True, keepdim=False: "
    "jnp.std(input, axis=dim, keepdims=keepdim, ddof=int(unbiased))",
    "cumsum": "input, dim, dtype=None: jnp.cumsum(input, axis=dim, dtype=dtype)",
    "cumprod": "input, dim, dtype=None: jnp.cumprod(input, axis=dim, dtype=dtype)",
    "norm": "input, p='fro', dim=None, keepdim=False: norm_of(input, p, dim, keepdim)",
    "normalize": "input, p=2.0, dim=1, eps=1e-12: input / jnp.maximum(norm_of(input, p, dim, True), eps)",
    "any": "input, dim=None, keepdim=False: jnp.any(input, axis=dim, keepdims=keepdim)",
    "all": "input, dim=None, keepdim=False: jnp.all(input, axis=dim, keepdims=keepdim)",
    "layer_norm": "input, normalized_shape, weight=None, bias=None, eps=1e-05: "
    "norm_of_last(input, len(normalized_shape), weight, bias, eps)",
    "rms_norm": "input, normalized_shape, weight=None, eps=1.1920929e-07: "
    "rms_of_last(input, len(normalized_shape), weight, eps)",
    "group_norm": "input, num_groups, weight=None, bias=None, eps=1e-05: "
    "norm_of_groups(input, num_groups, weight, bias, eps)",
    "scaled_dot_product_attention": "query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, "
    "enable_gqa=False: attention(query, key, value, is_causal, scale)",
    "cosine_similarity": "x1, x2, dim=1, eps=1e-08: cosine(x1, x2, dim, eps)",
    "pairwise_distance": "x1, x2, p=2.0, eps=1e-06, keepdim=False: distance(x1, x2, p, eps)",
    # Losses.
    "mse_loss": "input, target, size_average=None, reduce=None, reduction='mean': "
    "reduced(jnp.square(input - target), reduction)",
    "l1_loss": "input, target, size_average=None, reduce=None, reduction='mean': "
    "reduced(jnp.abs(input - target), reduction)",
    "smooth_l1_loss": "input, target, size_average=None, reduce=None, reduction='mean', beta=1.0: "
    "reduced(huber(input - target, beta) / beta, reduction)",
    "huber_loss": "input, target, reduction='mean', delta=1.0: reduced(huber(input - target, delta), reduction)",
    "cross_entropy": "input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, "
    "reduction='mean', label_smoothing=0.0: reduced(class_losses(input, target, label_smoothing), reduction)",
    "kl_div": "input, target, size_average=None, reduce=None, reduction='mean', log_target=False: "
    "reduced(jax.scipy.special.xlogy(target, target) - target * input, reduction, input)",
    "hinge_embedding_loss": "input, target, margin=1.0, size_average=None, reduce=None, reduction='mean': "
    "reduced(hinge_losses(input, target, margin), reduction)",
    "binary_cross_entropy_with_logits": "input, target, weight=None, size_average=None, reduce=None, "
    "reduction='mean': reduced(jax.nn.softplus(input) - target * input, reduction)",
    "triplet_margin_loss": "anchor, positive, negative, margin=1.0, p=2.0, eps=1e-06, swap=False, "
    "size_average=None, reduce=None, reduction='mean': "
    "reduced(triplet_losses(anchor, positive, negative, margin, p, eps), reduction)",
    "max_pool": "input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False: "
    "max_pool(input, kernel_size, stride, padding, dilation, ceil_mode)",
    "avg_pool": "input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, "
    "divisor_override=None: average_pool(input, kernel_size, stride, padding)",
    "adaptive_avg_pool": "input, output_size: pooled_to(input, output_size, rank)",
    "conv": "input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1: "
    "convolution(input, weight, bias, stride, padding, dilation, groups)",
    "conv_transpose": "input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1: "
    "transposed_convolution(input, weight, bias, stride, padding, output_padding, groups, dilation)",
}
# Other names that PyTorch has for the same functions.
ALSO = {
    "multiply": "mul",
    "subtract": "sub",
    "divide": "div",
    "true_divide": "div",
    "negative": "neg",
    "absolute": "abs",
    "swish": "silu",
    "concatenate": "cat",
    "expit": "sigmoid",
    **{f"{name}{rank}d": name for name in ("conv", "conv_transpose") for rank in (1, 2, 3)},
}
# Attributes of tensors that stay, because JAX's arrays have them, too.
ATTRIBUTES = {"T", "mT", "shape", "ndim", "dtype"}
DTYPES = {
    "float": "float32",
    "float32": "float32",
    "bfloat16": "bfloat16",
    "int8": "int8",
    "uint8": "uint8",
    "int16": "int16",
    "int": "int32",
    "int32": "int32",
    "bool": "bool_",
}
# Substitutes of types that JAX has only in its x64 mode, or that a TPU does not have, by all names of these types.
NARROWED = {
    "float64": "float32",
    "double": "float32",
    "int64": "int32",
    "long": "int32",
    "float16": "bfloat16",
    "half": "bfloat16",
}
# Layers without weights: how many arguments a call takes, and the layer's form. The form takes the arguments of the
# call, and then those that the layer was made with.
PLAIN_LAYERS = {
    "ReLU": (1, "relu"),
    "ReLU6": (1, "relu6"),
    "LeakyReLU": (1, "leaky_relu"),
    "Sigmoid": (1, "sigmoid"),
    "LogSigmoid": (1, "logsigmoid"),
    "Tanh": (1, "tanh"),
    "GELU": (1, "gelu"),
    "SiLU": (1, "silu"),
    "Mish": (1, "mish"),
    "SELU": (1, "selu"),
    "ELU": (1, "elu"),
    "CELU": (1, "celu"),
    "Hardsigmoid": (1, "hardsigmoid"),
    "Hardswish": (1, "hardswish"),
    "Hardtanh": (1, "hardtanh"),
    "Softplus": (1, "softplus"),
    "Softsign": (1, "softsign"),
    "Tanhshrink": (1, "tanhshrink"),
    "Softmax": (1, "softmax"),
    "LogSoftmax": (1, "log_softmax"),
    "Softmin": (1, "softmin"),
    "CosineSimilarity": (2, "cosine_similarity"),
    "PairwiseDistance": (2, "pairwise_distance"),
    "MSELoss": (2, "mse_loss"),
    "L1Loss": (2, "l1_loss"),
    "SmoothL1Loss": (2, "smooth_l1_loss"),
    "HuberLoss": (2, "huber_loss"),
    "CrossEntropyLoss": (2, "cross_entropy"),
    "KLDivLoss": (2, "kl_div"),
    "HingeEmbeddingLoss": (2, "hinge_embedding_loss"),
    "BCEWithLogitsLoss": (2, "binary_cross_entropy_with_logits"),
    "TripletMarginLoss": (3, "triplet_margin_loss"),
    **{f"MaxPool{rank}d": (1, f"max_pool_layer{rank}d") for rank in (1, 2, 3)},
    **{f"AvgPool{rank}d": (1, f"avg_pool{rank}d") for rank in (1, 2, 3)},
    **{f"AdaptiveAvgPool{rank}d": (1, f"adaptive_avg_pool{rank}d") for rank in (1, 2, 3)},
    "Flatten": (1, "flatten_layer"),
}
# Layers that differ from the functions: Flatten in a default, MaxPool in the order of two arguments.
FORMS["flatten_layer"] = FORMS["flatten"].replace("start_dim=0", "start_dim=1")
FORMS["max_pool_layer"] = FORMS["max_pool"].replace(
    "ceil_mode=False, return_indices=False", "return_indices=False, ceil_mode=False"
)
# Windows have as many sides as the name says, so that an array of another rank is rejected.
for _name in ("max_pool", "max_pool_layer", "avg_pool", "adaptive_avg_pool"):
    _form = FORMS.pop(_name)
    for _rank in (1, 2, 3):
        _of_rank = _form.replace("pool(input, kernel_size", f"pool(input, sides_of(kernel_size, {_rank})")
        FORMS[f"{_name}{_rank}d"] = _of_rank.replace("output_size, rank)", f"output_size, {_rank})")


@dataclass(frozen=True)
class Weighted:
    """A layer with weights.

    `shapes` gives the weights' shapes by the layer's own arguments; a false value means that there is no such weight.
    `call` is the text of the layer's result, in which `weights` is a tuple of all weights.
    """

    shapes: Callable[..., dict[str, Any]]
    call: str
    inputs: str = "x"


def _norm_shapes(num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = True) -> dict[str, Any]:
    return {"weight": affine and (num_features,), "bias": affine and (num_features,)}


def _plain_norm_shapes(
    num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False
) -> dict[str, Any]:
    return _norm_shapes(num_features, affine=affine)


def _layer_norm_shapes(
    normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True
) -> dict[str, Any]:
    sides = of_each(normalized_shape, 1)
    return {"weight": elementwise_affine and sides, "bias": elementwise_affine and bias and sides}


def _group_norm_shapes(num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True) -> dict[str, Any]:
    return _norm_shapes(num_channels, affine=affine)


def _linear_shapes(in_features: int, out_features: int, bias: bool = True) -> dict[str, Any]:
    return {"weight": (out_features, in_features), "bias": bias and (out_features,)}


def _conv_shapes(rank: int) -> Callable[..., dict[str, Any]]:
    def shapes(
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> dict[str, Any]:
        sides = of_each(kernel_size, rank)
        return {"weight": (out_channels, in_channels // groups, *sides), "bias": bias and (out_channels,)}

    return shapes


def _attention_shapes(
    embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, batch_first: bool = False
) -> dict[str, Any]:
    return {
        "in_proj_weight": (3 * embed_dim, embed_dim),
        "in_proj_bias": bias and (3 * embed_dim,),
        "out_proj.weight": (embed_dim, embed_dim),
        "out_proj.bias": bias and (embed_dim,),
    }


def _transformer_shapes(
    d_model: int,
    nhead: int,
    dim_feedforward: int = 2048,
    dropout: float = 0.1,
    activation: str = "relu",
    layer_norm_eps: float = 1e-5,
    batch_first: bool = False,
    norm_first: bool = False,
) -> dict[str, Any]:
    return {
        **{f"self_attn.{name}": shape for name, shape in _attention_shapes(d_model, nhead).items()},
        **{f"linear1.{name}": shape for name, shape in _linear_shapes(d_model, dim_feedforward).items()},
        **{f"linear2.{name}": shape for name, shape in _linear_shapes(dim_feedforward, d_model).items()},
        **{f"norm{at}.{name}": shape for at in (1, 2) for name, shape in _norm_shapes(d_model).items()},
    }


def _recurrent_shapes(gates: int) -> Callable[..., dict[str, Any]]:
    def shapes(
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
    ) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for layer in range(num_layers):
            width = input_size if layer == 0 else hidden_size * (1 + bidirectional)
            for end in [f"_l{layer}", f"_l{layer}_reverse"][: 1 + bidirectional]:
                found[f"weight_ih{end}"] = (gates * hidden_size, width)
                found[f"weight_hh{end}"] = (gates * hidden_size, hidden_size)
                found[f"bias_ih{end}"] = found[f"bias_hh{end}"] = bias and (gates * hidden_size,)
        return found

    return shapes


def _transposed_shapes(rank: int) -> Callable[..., dict[str, Any]]:
    def shapes(
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
    ) -> dict[str, Any]:
        sides = of_each(kernel_size, rank)
        return {"weight": (in_channels, out_channels // groups, *sides), "bias": bias and (out_channels,)}

    return shapes


WEIGHTED_LAYERS = {
    "Linear": Weighted(_linear_shapes, "linear(x, weight, bias)"),
    "LayerNorm": Weighted(_layer_norm_shapes, "norm_of_last(x, len(normalized_shape), weight, bias, eps)"),
    "GroupNorm": Weighted(_group_norm_shapes, "norm_of_groups(x, num_groups, weight, bias, eps)"),
    "MultiheadAttention": Weighted(
        _attention_shapes,
        "multi_head(query, key, value, weights, num_heads, batch_first, attn_mask)",
        "query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None",
    ),
    "TransformerEncoderLayer": Weighted(
        _transformer_shapes,
        "transformer_layer(src, weights, nhead, activation, batch_first, norm_first, layer_norm_eps)",
        "src, src_mask=None",
    ),
    "GRU": Weighted(
        _recurrent_shapes(3), "gru(input, hx, weights, bias, 1 + bidirectional, batch_first)", "input, hx=None"
    ),
    "LSTM": Weighted(
        _recurrent_shapes(4), "lstm(input, hx, weights, bias, 1 + bidirectional, batch_first)", "input, hx=None"
    ),
}
for _rank in (1, 2, 3):
    WEIGHTED_LAYERS |= {
        f"BatchNorm{_rank}d": Weighted(_norm_shapes, "norm_of_batch(x, weight, bias, eps)"),
        f"InstanceNorm{_rank}d": Weighted(_plain_norm_shapes, f"norm_of_instances(x, {_rank}, weight, bias, eps)"),
        f"Conv{_rank}d": Weighted(
            _conv_shapes(_rank), "convolution(x, weight, bias, stride, padding, dilation, groups)"
        ),
        f"ConvTranspose{_rank}d": Weighted(
            _transposed_shapes(_rank),
            "transposed_convolution(x, weight, bias, stride, padding, output_padding, groups, dilation)",
        ),
    }
# Layers with a narrower meaning here than in PyTorch, and this meaning.
LAYER_NOTICES = {
    f"BatchNorm{rank}d": "normalizes by the batch at hand, as in training: running statistics are not kept"
    for rank in (1, 2, 3)
}
