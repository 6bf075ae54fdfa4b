"""Tests of KernelBench problems: each becomes an equivalent JAX function over dimensions, or is refused."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from init import imports, kernelbench
from init.kernelbench import Problem, Translated
from init.source import Imported, Wrong

PROBLEM = """
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import nn as layers


class Model(nn.Module):
    '''What it does.'''

    def __init__({init}):
        super().__init__()
        {body}

    def forward(self, {arguments}):
        {text}


rows = 24
columns = 16
{sizes}


def get_inputs():
    return [{inputs}]


def get_init_inputs():
    return [{given}]
"""
X = "torch.rand(rows, columns) * 2 - 1"
Read = Callable[..., Imported]
Translate = Callable[..., Translated]


def written(path: Path, text: str, **words: str) -> Path:
    told = {"init": "self", "body": "pass", "arguments": "x", "inputs": X, "given": "", "sizes": ""} | words
    path.write_text(PROBLEM.format(text=text.replace("\n", "\n        "), **told))
    return path


@pytest.fixture
def read(tmp_path: Path) -> Read:
    return lambda text, **words: kernelbench.read(written(tmp_path / "7_SomeTask_.py", text, **words), {})


@pytest.fixture
def translated(tmp_path: Path) -> Translate:
    def made(text: str, **words: str) -> Translated:
        return Translated.read(Problem.read(written(tmp_path / "7_SomeTask_.py", text, **words)))

    return made


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def softmax(x: Any, axis: int = -1) -> Any:
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def scaled(x: Any, axis: Any, eps: float = 1e-5) -> Any:
    return (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + eps)


def drawn(*shape: int) -> Any:
    return np.random.default_rng(len(shape)).standard_normal(shape, np.float32)


FUNCTIONS: list[tuple[str, Callable[..., Any]]] = [
        ("return torch.relu(x)", lambda x: np.maximum(x, 0)),
        ("return F.leaky_relu(x, negative_slope=0.2)", lambda x: np.where(x > 0, x, 0.2 * x)),
        ("return x * torch.sigmoid(x)", lambda x: x * sigmoid(x)),
        ("return F.hardtanh(x, min_val=-0.5)", lambda x: np.clip(x, -0.5, 1)),
        ("return F.hardsigmoid(x)", lambda x: np.clip(x / 6 + 0.5, 0, 1)),
        ("return F.softplus(x, beta=2)", lambda x: np.log1p(np.exp(2 * x)) / 2),
        ("return F.elu(x, alpha=0.5)", lambda x: np.where(x > 0, x, 0.5 * np.expm1(x))),
        ("return torch.softmax(x, dim=0)", lambda x: softmax(x, 0)),
        ("return F.log_softmax(x, dim=1)", lambda x: np.log(softmax(x))),
        ("return torch.max(x, dim=1)[0]", lambda x: x.max(1)),
        ("value, place = x.min(1, keepdim=True)\nreturn value + place", lambda x: x.min(1, keepdims=True)
         + x.argmin(1)[:, None]),
        ("return torch.max(x, x.T.t() * 2)", lambda x: np.maximum(x, 2 * x)),
        ("return torch.argmax(x, dim=-1)", lambda x: x.argmax(-1)),
        ("return x.mean([0, 1])", lambda x: x.mean()),
        ("return torch.var(x, 1)", lambda x: x.var(1, ddof=1)),
        ("return x / torch.norm(x, p=2, dim=1, keepdim=True)", lambda x: x / np.linalg.norm(x, axis=1, keepdims=True)),
        ("return x / x.norm()", lambda x: x / np.linalg.norm(x)),
        ("return torch.norm(x, p=1, dim=0)", lambda x: np.abs(x).sum(0)),
        ("return torch.cumsum(x.flip(1), dim=1).flip(1)", lambda x: x[:, ::-1].cumsum(1)[:, ::-1]),
        ("return torch.min(x, torch.tensor(0.5, device=x.device)).flatten()", lambda x: np.minimum(x, 0.5).reshape(-1)),
        ("return x.cumprod(dim=1)", lambda x: x.cumprod(1)),
        ("y = x.narrow(1, 0, x.size(1) - 1)\n"
         "return torch.cat((torch.zeros_like(x.select(1, 0).unsqueeze(1)), y), dim=1)",
         lambda x: np.concatenate([np.zeros_like(x[:, :1]), x[:, :-1]], 1)),
        ("return torch.clamp(1 - x, min=0)", lambda x: np.maximum(1 - x, 0)),
        ("y: torch.Tensor = x.view(x.size(0), -1, 4)\nreturn y.permute(1, 0, 2).contiguous()",
         lambda x: x.reshape(24, -1, 4).transpose(1, 0, 2)),
        ("return torch.triu(torch.matmul(x, x.transpose(0, 1)))", lambda x: np.triu(x @ x.T)),
        ("return torch.einsum('ij,kj->ik', x, x)", lambda x: x @ x.T),
        ("return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))",
         lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))),
        ("distance = x.to(torch.float32) * rows\nreturn distance", lambda x: x * 24),
        ("a, b = x.split(10, dim=1)\nreturn a[:, :6] * b", lambda x: x[:, :6] * x[:, 10:]),
        ("a, b, c = torch.split(x, [2, 4, 10], dim=1)\nreturn torch.cat((c, b, a), 1)",
         lambda x: np.concatenate([x[:, 6:], x[:, 2:6], x[:, :2]], 1)),
        ("a, b = x.chunk(2, dim=-1)\nreturn a - b", lambda x: x[:, :8] - x[:, 8:]),
        ("first, *_ = x.view(3, 8, 16).unbind(0)\nreturn first", lambda x: x[:8]),
        ("return x.unfold(1, 4, 3)", lambda x: np.stack([x[:, s : s + 4] for s in range(0, 13, 3)], 1)),
        ("return x.unfold(-1, 2, 1)", lambda x: np.stack([x[:, s : s + 2] for s in range(15)], 1)),
        ("return torch.softmax(x, 1).sum((0, 1))", lambda x: softmax(x).sum()),
        ("return F.pad(x, (1, 2))", lambda x: np.pad(x, ((0, 0), (1, 2)))),
        ("return x[:, :1].expand(-1, 5)", lambda x: np.repeat(x[:, :1], 5, 1)),
        ("return x.to(x.device) + torch.arange(16, device=x.device)", lambda x: x + np.arange(16)),
        ("return F.normalize(x, dim=1)", lambda x: x / np.linalg.norm(x, axis=1, keepdims=True)),
]  # fmt: skip


def test_functions_of_torch_give_what_they_give_there(translated: Translate) -> None:
    made = [translated(text).function() for text, _ in FUNCTIONS]
    x = drawn(24, 16)
    # For speed, all functions are compiled as one function.
    for found, (text, expected) in zip(jax.jit(lambda x: [one(x) for one in made])(x), FUNCTIONS, strict=True):
        assert np.allclose(found, expected(x), 1e-4, 1e-5), text


def huber(x: Any) -> Any:
    return np.where(np.abs(x) < 1, x * x / 2, np.abs(x) - 0.5)


LOSSES: list[tuple[str, Callable[..., Any]]] = [
        ("return F.mse_loss(x, y)", lambda x, y: ((x - y) ** 2).mean()),
        ("return F.l1_loss(x, y, reduction='sum')", lambda x, y: np.abs(x - y).sum()),
        ("return F.smooth_l1_loss(x, y)", lambda x, y: huber(x - y).mean()),
        ("return F.kl_div(x, y * y, reduction='batchmean')", lambda x, y: (y * y * (np.log(y * y) - x)).sum() / 24),
        ("return F.kl_div(x - y, y * y, reduction='batchmean')", lambda x, y: (y * y * (np.log(y * y) - x + y)).sum()
         / 24),
        ("return F.hinge_embedding_loss(x, y)", lambda x, y: (np.maximum(1 - x, 0) + x).mean()),
        ("return F.cross_entropy(x, y * y, label_smoothing=0.5)",
         lambda x, y: -((y * y / 2 + 0.5 / 16) * np.log(softmax(x))).sum(1).mean()),
        ("return F.cosine_similarity(x, y)", lambda x, y: (x * y).sum(1)
         / np.linalg.norm(x, axis=1) / np.linalg.norm(y, axis=1)),
]  # fmt: skip


def test_losses_give_what_they_give_there(translated: Translate) -> None:
    made = [translated(text, arguments="x, y", inputs=f"{X}, {X}").function() for text, _ in LOSSES]
    x, y = drawn(24, 16), drawn(24, 16)[::-1]
    for found, (text, expected) in zip(jax.jit(lambda x, y: [one(x, y) for one in made])(x, y), LOSSES, strict=True):
        assert np.allclose(found, expected(x, y), 1e-4, 1e-5), text


def test_classes_are_whole_numbers_below_a_dimension(read: Read) -> None:
    found = read("return F.cross_entropy(x, y)", arguments="x, y", inputs=f"{X}, torch.randint(0, columns, (rows,))")
    x, y = drawn(24, 16), np.arange(24) % 16
    assert np.allclose(found.function(x, y), -np.log(softmax(x))[np.arange(24), y].mean(), 1e-4)
    assert [(one.name, one.dtype, one.axes, one.range) for one in found.inputs] == [
        ("x", "float32", ("ROWS", "COLUMNS"), ""),
        ("y", "int32", ("ROWS",), "0, COLUMNS - 1"),
    ]
    assert "'y' is int64 there, and int32 here" in found.notices


def windows(x: Any, weight: Any, stride: int, padding: int, dilation: int) -> Any:
    """Computes a convolution in one dimension, by its definition."""
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding)))
    reach = dilation * (weight.shape[2] - 1)
    starts = range(0, x.shape[2] - reach, stride)
    return np.stack([np.einsum("bct,oct->bo", x[:, :, s : s + reach + 1 : dilation], weight) for s in starts], -1)


def scattered(x: Any, weight: Any, stride: int, padding: int) -> Any:
    """Computes a transposed convolution, by its definition, with two groups."""
    kernel, half = weight.shape[2], x.shape[1] // 2
    out = np.zeros((x.shape[0], 2 * weight.shape[1], (x.shape[2] - 1) * stride + kernel))
    for group in (0, 1):
        rows = slice(group * half, (group + 1) * half)
        to = slice(group * weight.shape[1], (group + 1) * weight.shape[1])
        for at in range(x.shape[2]):
            out[:, to, at * stride : at * stride + kernel] += np.einsum("bc,cok->bok", x[:, rows, at], weight[rows])
    return out[:, :, padding : out.shape[2] - padding]


IMAGE = {"inputs": "torch.rand(rows, columns, 10)"}
LAYERS: list[tuple[str, dict[str, str], dict[str, tuple[int, ...]], Callable[..., Any]]] = [
    ("nn.Linear(columns, 5)", {}, {"f_weight": (5, 16), "f_bias": (5,)}, lambda x, w, b: x @ w.T + b),
    ("layers.GELU(approximate='tanh')", {}, {},
     lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))),
    ("nn.Sequential(nn.ReLU(inplace=True), nn.Softmax(dim=1))", {}, {}, lambda x: softmax(np.maximum(x, 0))),
    ("nn.LayerNorm(columns)", {}, {"f_weight": (16,), "f_bias": (16,)}, lambda x, w, b: scaled(x, -1) * w + b),
    ("nn.BatchNorm1d(columns, affine=False)", {}, {}, lambda x: scaled(x, 0)),
    ("nn.InstanceNorm1d(columns)", IMAGE, {}, lambda x: scaled(x, 2)),
    ("nn.GroupNorm(4, columns, affine=False)", IMAGE, {},
     lambda x: scaled(x.reshape(24, 4, 40), 2).reshape(24, 16, 10)),
    ("nn.MaxPool1d(3, stride=2, padding=1)", IMAGE, {},
     lambda x: np.stack([x[:, :, max(s, 0) : s + 3].max(2) for s in range(-1, 9, 2)], -1)),
    ("nn.MaxPool1d(4, stride=3, ceil_mode=True)", IMAGE, {},
     lambda x: np.stack([x[:, :, s : s + 4].max(2) for s in (0, 3, 6)], -1)),
    ("nn.MaxPool1d(3, stride=3, ceil_mode=True)", IMAGE, {},
     lambda x: np.stack([x[:, :, s : s + 3].max(2) for s in (0, 3, 6, 9)], -1)),
    ("nn.Sequential(nn.AdaptiveAvgPool1d(1), nn.Flatten())", IMAGE, {}, lambda x: x.mean(2)),
    ("nn.AvgPool1d(5)", IMAGE, {}, lambda x: x.reshape(24, 16, 2, 5).mean(3)),
    ("nn.Conv1d(columns, 6, 3, stride=2, padding=2, dilation=2, bias=False)", IMAGE, {"f_weight": (6, 16, 3)},
     lambda x, w: windows(x, w, 2, 2, 2)),
    ("nn.ConvTranspose1d(columns, 6, 4, stride=3, padding=1, groups=2, bias=False)", IMAGE, {"f_weight": (16, 3, 4)},
     lambda x, w: scattered(x, w, 3, 1)),
]  # fmt: skip


def test_weights_of_a_layer_are_inputs(translated: Translate) -> None:
    made, arrays = [], []
    for layer, words, weights, _ in LAYERS:
        found = translated("return self.f(x)", body=f"self.f = {layer}", **words)
        assert {name: one.shape for name, one in found.samples.items() if name != "x"} == weights
        assert any("weights are inputs" in line for line in found.notices) == bool(weights)
        made.append(found.function())
        arrays.append([drawn(24, 16, 10) if words else drawn(24, 16), *(drawn(*shape) for shape in weights.values())])
    given = jax.jit(lambda arrays: [one(*few) for one, few in zip(made, arrays, strict=True)])(arrays)
    for (layer, *_, expected), found_here, few in zip(LAYERS, given, arrays, strict=True):
        assert np.allclose(found_here, expected(*few), 1e-3, 1e-4), layer


def test_a_models_numbers_are_the_texts(read: Read) -> None:
    found = read(
        "return x * s / (x.abs().mean(dim=self.dim, keepdim=True) + self.eps) + self.scale",
        init="self, dim, eps=1e-2",
        body="self.dim, self.eps, self.scale = dim, eps, nn.Parameter(torch.ones(columns))",
        arguments="x, s",
        inputs=f"{X}, 3.5",
        given="1",
    )
    assert "    s = 3.5\n" in found.given.reference
    assert "jnp.mean(jnp.abs(x), axis=1, keepdims=True) + 0.01) + scale" in found.given.reference
    assert (found.entry, found.summary) == ("some_task", "What it does")
    assert "'s' is 3.5 always: it becomes a number of the function, not an input" in found.notices
    assert [one.axes for one in found.inputs] == [("ROWS", "COLUMNS"), ("COLUMNS",)]


def test_a_range_is_kept_where_the_function_needs_it(read: Read) -> None:
    free, bound = read("return torch.relu(x)"), read("return torch.log(x + 1)")
    assert (free.inputs[0].range, bound.inputs[0].range) == ("", "-1, 1")
    assert "drawn from a normal distribution, not from a range as there: x" in free.notices
    assert "torch" not in sys.modules


def test_what_inputs_are_besides_is_told(read: Read) -> None:
    found = read(
        "return torch.matmul(x, y) + z",
        arguments="x, y, z",
        inputs="torch.triu(torch.rand(n, n)), torch.randn(n, n).double(), torch.randint(0, 2, (n,)).float() * 2 - 1",
        sizes="n = 40\noutput_rtol = '1e-3'",
    )
    assert found.notices[:3] == [
        "'x' is upper triangular there, but is drawn without that here",
        "'y' is float64 there, and float32 here",
        "'z' is of whole numbers there, but is drawn without that here",
    ]
    # A name that stands for three dimensions is not given to any of them.
    assert [one.axes for one in found.inputs] == [("D0", "D1"), ("D1", "D2"), ("D2",)]
    assert (found.given.tolerance.rtol, found.given.tolerance.atol) == (1e-3, 1e-2)


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        (
            "y = x\nreturn torch.nn.functional.fold(x, 3)",
            {},
            "7_SomeTask_.py:18: 'torch.nn.functional.fold' cannot be translated",
        ),
        (
            "return x.scatter(1, x, x)",
            {},
            ":17: a tensor's 'scatter' cannot be translated to JAX: write its reference.py",
        ),
        (
            "return F.mse_loss(x, x, reduction=x)",
            {},
            "'torch.nn.functional.mse_loss' where 'reduction' is not a number",
        ),
        (
            "return torch.div(x, 2, rounding_mode='floor')",
            {},
            "'torch.div' with rounding_mode='floor' cannot be translated",
        ),
        ("x[0] = 1\nreturn x", {}, "'x[0] = …', which writes into an array, cannot be translated"),
        ("return self.f(x)[0]", {"body": "self.f = nn.RNN(3, 4)"}, "'self.f' (nn.RNN) cannot be translated to JAX"),
        ("return self.f(x)", {"body": "self.f = nn.Conv2d(1, 1, 1, padding='same')"}, "with padding='same'"),
        ("return self.f(x)", {"body": "self.f = nn.AdaptiveAvgPool2d((1, 2))"}, "with output_size=(1, 2)"),
        ("return x @ x", {}, "what it computes, in JAX: TypeError: dot_general"),
        ("return x", {"arguments": "x, y"}, "get_inputs gives nothing for 'y': expected an array or a number"),
        (
            "return x",
            {"inputs": "torch.linspace(0, 1, 9)"},
            "NotImplementedError: 'torch.linspace' is not supported here",
        ),
        ("return x.reshape(24, 16).sum()", {}, "it takes no other sizes than these"),
        ("return sizes", {"arguments": "sizes"}, "an input is called 'sizes', a name that the kernel uses itself"),
    ],
)
def test_what_has_no_form_is_refused(read: Read, text: str, words: dict[str, str], said: str) -> None:
    with pytest.raises(Wrong) as why:
        read(text, **words)
    assert said in str(why.value)


def test_a_file_without_a_model_is_none(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    with pytest.raises(Wrong, match="not a problem of KernelBench: it has no Model"):
        kernelbench.read(tmp_path / "a.py", {})


def test_a_kernel_is_made_that_gives_what_the_model_gives(
    read: Read, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    read("return self.f(x)", body="self.f = nn.Linear(columns, 5)")
    (tmp_path / "pipelines").mkdir()
    said = [f"--from={tmp_path / '7_SomeTask_.py'}", f"--root={tmp_path}", "--name=mine"]
    code = imports.main(["--format=kernelbench", *said])
    assert code == 0
    assert json.loads(capsys.readouterr().out)["dimensions"] == {"ROWS": 24, "COLUMNS": 16, "D2": 5}
    module: dict[str, Any] = {"__name__": "seed"}
    exec(compile((tmp_path / "kernels/mine/kernel.py").read_text(), "kernel.py", "exec", dont_inherit=True), module)
    x, w, b = drawn(24, 16), drawn(5, 16), drawn(5)
    assert np.allclose(module["some_task"](x, w, b), x @ w.T + b, 1e-4, 1e-5)
