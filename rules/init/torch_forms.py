"""What functions of PyTorch are in JAX: for each its arguments, as PyTorch has them, and a text with them in braces.

A method of a tensor is the function with the tensor first. Layers have the arguments of their constructors, and `x`.
"""

from __future__ import annotations

_AXES = "x, dim=None, keepdim=False, dtype=None"
_LOSS = "x, target, reduction='mean'"


def _reduced(name: str) -> tuple[str, str]:
    return _AXES, f"jnp.{name}({{x}}, axis={{dim}}, keepdims={{keepdim}})"


def _with_places(name: str) -> tuple[str, str]:
    rest = "({x}, {dim}, keepdims={keepdim})"
    return "x, dim, keepdim=False", f"(jnp.{name}{rest}, jnp.arg{name}{rest})"


def _alike(*names: str) -> dict[str, tuple[str, str]]:
    return {name: ("x", f"jnp.{name}({{x}})") for name in names}


FUNCTIONS: dict[str, tuple[str, str]] = {
    # Products.
    "matmul": ("x, y", "jnp.matmul({x}, {y})"),
    "mm": ("x, y", "jnp.matmul({x}, {y})"),
    "bmm": ("x, y", "jnp.matmul({x}, {y})"),
    "mv": ("x, y", "jnp.matmul({x}, {y})"),
    "dot": ("x, y", "jnp.dot({x}, {y})"),
    "outer": ("x, y", "jnp.outer({x}, {y})"),
    "einsum": ("formula, *x", "jnp.einsum({formula}, {x})"),
    # Shapes.
    "t": ("x", "{x}.T"),
    "transpose": ("x, a, b", "jnp.swapaxes({x}, {a}, {b})"),
    "permute": ("x, *dims", "jnp.transpose({x}, ({dims},))"),
    "reshape": ("x, *shape", "{x}.reshape({shape})"),
    "view": ("x, *shape", "{x}.reshape({shape})"),
    "flip": ("x, dims", "jnp.flip({x}, {dims})"),
    "squeeze": ("x, dim=None", "jnp.squeeze({x}, {dim})"),
    "unsqueeze": ("x, dim", "jnp.expand_dims({x}, {dim})"),
    "flatten": ("x, start_dim=0", "{x}.reshape(*{x}.shape[:{start_dim}], -1)"),
    "select": ("x, dim, index", "jnp.take({x}, {index}, axis={dim})"),
    "narrow": ("x, dim, start, length", "jax.lax.dynamic_slice_in_dim({x}, {start}, {length}, {dim})"),
    "cat": ("x, dim=0", "jnp.concatenate({x}, axis={dim})"),
    "stack": ("x, dim=0", "jnp.stack({x}, axis={dim})"),
    "triu": ("x, diagonal=0", "jnp.triu({x}, {diagonal})"),
    "tril": ("x, diagonal=0", "jnp.tril({x}, {diagonal})"),
    "diag": ("x, diagonal=0", "jnp.diag({x}, {diagonal})"),
    "zeros_like": ("x", "jnp.zeros_like({x})"),
    "ones_like": ("x", "jnp.ones_like({x})"),
    "contiguous": ("x", "{x}"),
    "clone": ("x", "{x}"),
    # Of each element.
    **_alike("exp", "log", "sqrt", "abs", "tanh", "sin", "cos", "sign", "square", "log1p", "expm1", "floor"),
    "neg": ("x", "-{x}"),
    "rsqrt": ("x", "jax.lax.rsqrt({x})"),
    "erf": ("x", "jax.lax.erf({x})"),
    "pow": ("x, y", "{x} ** {y}"),
    "add": ("x, y", "({x} + {y})"),
    "sub": ("x, y", "({x} - {y})"),
    "mul": ("x, y", "({x} * {y})"),
    "div": ("x, y", "({x} / {y})"),
    "maximum": ("x, y", "jnp.maximum({x}, {y})"),
    "minimum": ("x, y", "jnp.minimum({x}, {y})"),
    "where": ("condition, x, y", "jnp.where({condition}, {x}, {y})"),
    "clamp": ("x, min=None, max=None", "jnp.clip({x}, {min}, {max})"),
    "relu": ("x, inplace=False", "jax.nn.relu({x})"),
    "leaky_relu": ("x, negative_slope=0.01, inplace=False", "jax.nn.leaky_relu({x}, {negative_slope})"),
    "sigmoid": ("x", "jax.nn.sigmoid({x})"),
    "silu": ("x, inplace=False", "jax.nn.silu({x})"),
    "mish": ("x, inplace=False", "jax.nn.mish({x})"),
    "gelu": ("x, approximate='none'", "jax.nn.gelu({x}, approximate={approximate} == 'tanh')"),
    "selu": ("x, inplace=False", "jax.nn.selu({x})"),
    "elu": ("x, alpha=1.0, inplace=False", "jax.nn.elu({x}, {alpha})"),
    "relu6": ("x, inplace=False", "jax.nn.relu6({x})"),
    "hardsigmoid": ("x, inplace=False", "jax.nn.hard_sigmoid({x})"),
    "hardswish": ("x, inplace=False", "jax.nn.hard_swish({x})"),
    "hardtanh": ("x, min_val=-1.0, max_val=1.0, inplace=False", "jnp.clip({x}, {min_val}, {max_val})"),
    "softplus": ("x, beta=1.0, threshold=20.0", "jax.nn.softplus({beta} * {x}) / {beta}"),
    "softsign": ("x", "jax.nn.soft_sign({x})"),
    "logsigmoid": ("x", "jax.nn.log_sigmoid({x})"),
    # Along a dimension.
    "softmax": ("x, dim=-1, dtype=None", "jax.nn.softmax({x}, axis={dim})"),
    "log_softmax": ("x, dim=-1, dtype=None", "jax.nn.log_softmax({x}, axis={dim})"),
    "logsumexp": ("x, dim, keepdim=False", "jax.nn.logsumexp({x}, axis={dim}, keepdims={keepdim})"),
    "sum": _reduced("sum"),
    "mean": _reduced("mean"),
    "prod": _reduced("prod"),
    "amax": _reduced("max"),
    "amin": _reduced("min"),
    "argmax": _reduced("argmax"),
    "argmin": _reduced("argmin"),
    "max of all": ("x", "jnp.max({x})"),
    "min of all": ("x", "jnp.min({x})"),
    # With dim a pair, of which the second are the places.
    "max": (
        "x, dim, keepdim=False",
        "(jnp.max({x}, {dim}, keepdims={keepdim}), jnp.argmax({x}, {dim}, keepdims={keepdim}))",
    ),
    "min": (
        "x, dim, keepdim=False",
        "(jnp.min({x}, {dim}, keepdims={keepdim}), jnp.argmin({x}, {dim}, keepdims={keepdim}))",
    ),
    "std": ("x, dim=None, keepdim=False", "jnp.std({x}, axis={dim}, keepdims={keepdim}, ddof=1)"),
    "var": (
        "x, dim=None, keepdim=False, unbiased=True",
        "jnp.var({x}, axis={dim}, keepdims={keepdim}, ddof=int({unbiased}))",
    ),
    "norm": (
        "x, p=2, dim=None, keepdim=False",
        "jnp.sum(jnp.abs({x}) ** {p}, axis={dim}, keepdims={keepdim}) ** (1 / {p})",
    ),
    "normalize": (
        "x, p=2.0, dim=1, eps=1e-12",
        "{x} / jnp.maximum(jnp.sum(jnp.abs({x}) ** {p}, axis={dim}, keepdims=True) ** (1 / {p}), {eps})",
    ),
    "cumsum": ("x, dim, dtype=None", "jnp.cumsum({x}, axis={dim})"),
    "cumprod": ("x, dim, dtype=None", "jnp.cumprod({x}, axis={dim})"),
    "cosine_similarity": (
        "x, y, dim=1, eps=1e-8",
        "jnp.sum({x} * {y}, {dim})"
        " / jnp.maximum(jnp.linalg.norm({x}, axis={dim}) * jnp.linalg.norm({y}, axis={dim}), {eps})",
    ),
    # Losses; by default their mean.
    "mse_loss": (_LOSS, "jnp.mean(({x} - {target}) ** 2)"),
    "l1_loss": (_LOSS, "jnp.mean(jnp.abs({x} - {target}))"),
    "smooth_l1_loss": (
        "x, target, reduction='mean', beta=1.0",
        "jnp.mean(jnp.where(jnp.abs({x} - {target}) < {beta}, 0.5 * ({x} - {target}) ** 2 / {beta}, "
        "jnp.abs({x} - {target}) - 0.5 * {beta}))",
    ),
    "cross_entropy": (
        _LOSS,
        "-jnp.mean(jnp.take_along_axis(jax.nn.log_softmax({x}, axis=1), {target}[:, None], axis=1))",
    ),
    "kl_div": (
        "x, target, reduction='batchmean'",
        "jnp.sum({target} * (jnp.log({target}) - {x})) / {x}.shape[0]",
    ),
    "scaled_dot_product_attention": (
        "q, k, v",
        "jax.nn.softmax({q} @ jnp.swapaxes({k}, -1, -2) / {q}.shape[-1] ** 0.5, axis=-1) @ {v}",
    ),
}

# What their other reductions would be is not said by a text: those are refused.
REDUCTIONS = {"kl_div": "batchmean"}

# Layers without weights are functions by another name, with the arguments behind `x`.
LAYERS = {
    "ReLU": "relu",
    "LeakyReLU": "leaky_relu",
    "Sigmoid": "sigmoid",
    "Tanh": "tanh",
    "SiLU": "silu",
    "Mish": "mish",
    "GELU": "gelu",
    "SELU": "selu",
    "ELU": "elu",
    "ReLU6": "relu6",
    "Hardsigmoid": "hardsigmoid",
    "Hardswish": "hardswish",
    "Hardtanh": "hardtanh",
    "Softplus": "softplus",
    "Softsign": "softsign",
    "Softmax": "softmax",
    "LogSoftmax": "log_softmax",
    "Identity": "contiguous",
}
