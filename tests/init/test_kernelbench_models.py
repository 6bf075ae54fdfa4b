"""Tests of KernelBench's third level: models in models, lists of layers, loops over them, heads, and recurrence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from init.kernelbench import Problem, Translated
from init.source import Wrong

FILE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


n, k = 9, 2


def swish(x, beta=1.0):
    return x * torch.sigmoid(beta * x)


def scaled(x, by=k):
    return x * by


def raised(x):
    x += 1
    return x


class Chain(nn.Sequential):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4, bias=False)


class Doubled(nn.Sequential):
    def forward(self, x):
        for layer in self:
            x = x + layer(x)
        return x


class Block(nn.Module):
    def __init__(self, width, is_open=False):
        super().__init__()
        self.fc = nn.Linear(width, width, bias=False)
        if is_open:
            self.gate = nn.Linear(width, width)
        self.apply(self._init_weights)

    def _init_weights(self, m):
        nn.init.zeros_(m.weight)

    def mixed(self, x):
        return self.gate(x) if hasattr(self, "gate") else x

    def forward(self, x, mask=None):
        assert x.dim() == 2
        y = swish(self.fc(x))
        if mask is not None:
            y = y * mask
        return self.mixed(y)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {init}

    def forward(self, x):
        {text}


def get_inputs():
    return [torch.randn({shape})]


def get_init_inputs():
    return []
"""


@pytest.fixture
def translated(tmp_path: Path) -> Callable[..., Translated]:
    def made(init: str, text: str, shape: str = "6, 4") -> Translated:
        path = tmp_path / "3_Model.py"
        lines = [one.replace("\n", "\n        ") for one in (init, text)]
        path.write_text(FILE.format(init=lines[0], text=lines[1], shape=shape))
        return Translated.read(Problem.read(path))

    return made


def drawn(shape: tuple[int, ...], seed: int) -> Any:
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def given(found: Translated) -> tuple[list[Any], dict[str, Any]]:
    """Returns the output of the function, and its inputs by name."""
    arrays = {name: drawn(one.shape, at) for at, (name, one) in enumerate(found.samples.items())}
    return jax.jit(found.function())(*arrays.values()), arrays


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def swish(x: Any) -> Any:
    return x * sigmoid(x)


def softmax(x: Any) -> Any:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def test_a_model_in_a_model_is_a_function_of_its_own(translated: Callable[..., Translated]) -> None:
    init = "self.a, self.b, self.c = Block(4), Block(4), Block(4, is_open=True)"
    found = translated(init, "return self.c(self.b(self.a(x)))")
    assert list(found.samples) == ["x", "a_fc_weight", "b_fc_weight", "c_fc_weight", "c_gate_weight", "c_gate_bias"]
    y, of = given(found)
    z = swish(swish(of["x"] @ of["a_fc_weight"].T) @ of["b_fc_weight"].T)
    assert np.allclose(y, swish(z @ of["c_fc_weight"].T) @ of["c_gate_weight"].T + of["c_gate_bias"], 1e-4, 1e-5)
    # Two blocks that do the same become one function; the third block becomes another function.
    assert found.text.count("def block(") == found.text.count("def block_2(") == 1
    assert "def block_3" not in found.text
    # The function does not test conditions that are known for a model.
    assert "mask" not in found.text.replace("mask = None", "")
    assert "hasattr" not in found.text


def test_what_every_model_of_pytorch_has_is_not_taken_for_missing(translated: Callable[..., Translated]) -> None:
    assert "relu" not in translated("pass", "return torch.relu(x) if hasattr(self, 'other') else x").text
    with pytest.raises(Wrong):
        translated("pass", "return torch.relu(x) if hasattr(self, 'state_dict') else x")


LISTS = [
    ("for layer in self.parts:\n    x = torch.relu(layer(x))\nreturn x", ["parts_0", "parts_1"]),
    ("for i in range(len(self.parts)):\n    x = F.relu(self.parts[i](x))\nreturn x", ["parts_0", "parts_1"]),
    (
        "for i, layer in enumerate(self.parts):\n    if i >= 0:\n        x = layer(x).relu()\nreturn x",
        ["parts_0", "parts_1"],
    ),
    ("for i in range(2):\n    x = getattr(self, f'part{i}')(x).relu()\nreturn x", ["part0", "part1"]),
    ("last = self.parts[-1]\nreturn last(self.parts[0](x).relu()).relu()", ["parts_0", "parts_1"]),
    ("layer = self.named['one']\nx = layer(x).relu()\nreturn self.named.two(x).relu()", ["named_one", "named_two"]),
    ("return self.chain(x)", ["chain_0", "chain_2"]),
]
TOLD = """one, two = nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False)
self.parts = nn.ModuleList([one]).append(two)
self.part0, self.part1 = one, two
self.named = nn.ModuleDict({'one': one, 'two': two})
self.chain = nn.Sequential(one, nn.ReLU(), two, nn.ReLU())"""


@pytest.mark.parametrize(("text", "names"), LISTS)
def test_loops_over_layers_are_unrolled(translated: Callable[..., Translated], text: str, names: list[str]) -> None:
    found = translated(TOLD, text)
    y, of = given(found)
    first, second = list(found.samples)[1:]
    assert [first, second] == [f"{name}_weight" for name in names]
    x = np.maximum(of["x"] @ of[first].T, 0)
    assert np.allclose(y, np.maximum(x @ of[second].T, 0), 1e-4, 1e-5)


def test_lists_of_arrays_stay_lists(translated: Callable[..., Translated]) -> None:
    init = "self.layers = nn.ModuleList([nn.Linear(4, 4, bias=False), nn.Linear(8, 4, bias=False)])"
    text = "seen = [x]\nfor layer in self.layers:\n    seen.append(layer(x))\n    x = torch.cat(seen, 1)\nreturn x"
    y, of = given(translated(init, text))
    first = np.concatenate([of["x"], of["x"] @ of["layers_0_weight"].T], 1)
    assert np.allclose(y, np.concatenate([first, first @ of["layers_1_weight"].T], 1), 1e-4, 1e-5)


def test_heads_of_a_list_are_written_out(translated: Callable[..., Translated]) -> None:
    init = "self.heads = nn.ModuleList([nn.Linear(4, 2, bias=False) for _ in range(3)])"
    y, of = given(translated(init, "return torch.cat([head(x) for head in self.heads], dim=-1)"))
    assert np.allclose(y, np.concatenate([of["x"] @ of[f"heads_{at}_weight"].T for at in range(3)], 1), 1e-4, 1e-5)


def relu(x: Any) -> Any:
    return np.maximum(x, 0)


TWO = """self.a, self.b = nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False)
self.parts = nn.ModuleList([self.a, self.b])"""
# Code that could be mistaken for other code.
LIKE_OTHERS: list[tuple[str, str, list[str], Callable[..., Any]]] = [
    ("pass", "n = x.shape[1]\nif n > 5:\n    x = x * 2\nreturn x", [], lambda x: x),
    ("pass", "k = 5\nreturn scaled(x) + k", [], lambda x: 2 * x + 5),
    ("pass", "d = 1\nreturn torch.max(x, dim=d)[0]", [], lambda x: x.max(1)),
    ("pass", "return x.where(x > 0, 0.0)", [], relu),
    (
        TWO,
        "for one in self.parts:\n    x = one(x)\n    if one is not self.parts[-1]:\n        x = x.relu()\nreturn x",
        ["parts_0_weight", "parts_1_weight"],
        lambda x, a, b: relu(x @ a.T) @ b.T,
    ),
    (TWO, "return self.parts[0](self.b(self.a(x)))", ["a_weight", "b_weight"], lambda x, a, b: x @ a.T @ b.T @ a.T),
    ("self.f = Chain()", "return self.f(x)", ["f_fc_weight"], lambda x, w: x @ w.T),
    ("self.f = Doubled(nn.ReLU())", "return self.f(x)", [], lambda x: x + relu(x)),
    (
        TWO + "\nself.f = nn.Sequential(*list(nn.Sequential(self.a, self.b, nn.ReLU()).children())[:-2])",
        "return self.f(x)",
        ["f_0_weight"],
        lambda x, w: x @ w.T,
    ),
    (
        "self.fc_1 = nn.Linear(4, 4, bias=False)\nself.fc = nn.ModuleList([nn.ReLU(), nn.Linear(4, 4, bias=False)])",
        "return self.fc_1(self.fc[1](x))",
        ["fc_1_weight", "fc_1_weight_"],
        lambda x, a, b: x @ a.T @ b.T,
    ),
    (
        "self.f = nn.ModuleList([nn.ReLU()])\nself.f[0] = nn.Tanh()",
        "for f in self.f:\n    x = f(x)\nreturn x",
        [],
        np.tanh,
    ),
    (
        "self.register_buffer('hidden', torch.tril(torch.ones(4, 4)) == 0)",
        "return x.masked_fill(self.hidden[0], 7.0)",
        [],
        lambda x: np.where([False, True, True, True], 7, x),
    ),
    ("self.w = torch.tensor([1.0, 2.0, 3.0, float('inf')])", "return x / self.w", [], lambda x: x / [1, 2, 3, np.inf]),
    ("pass", "r = x\nx = x * 2\nx += 1\nreturn x * r", [], lambda x: (2 * x + 1) * x),
]


@pytest.mark.parametrize(("init", "text", "weights", "expected"), LIKE_OTHERS)
def test_what_a_name_means_is_what_it_means_there(
    translated: Callable[..., Translated], init: str, text: str, weights: list[str], expected: Callable[..., Any]
) -> None:
    found = translated(init, text)
    assert list(found.samples) == ["x", *weights]
    y, of = given(found)
    assert np.allclose(y, expected(*of.values()), 1e-4, 1e-5), found.text


CAUSAL = """B, T, C = x.size()
q, k, v = self.qkv(x).split(self.width, dim=2)
q, k, v = [one.view(B, T, self.heads, C // self.heads).transpose(1, 2) for one in (q, k, v)]
scores = (q @ k.transpose(-2, -1)) * k.size(-1) ** -0.5
scores = scores.masked_fill(self.mask[:, :, :T, :T] == 0, float('-inf'))
return (F.softmax(scores, dim=-1) @ v).transpose(1, 2).contiguous().view(B, T, C)"""


def test_a_mask_is_what_the_model_sets_and_no_input(translated: Callable[..., Translated]) -> None:
    init = "self.qkv, self.heads, self.width = nn.Linear(8, 24, bias=False), 2, 8\n"
    init += "self.register_buffer('mask', torch.tril(torch.ones(9, 9)).view(1, 1, 9, 9))"
    found = translated(init, CAUSAL, "3, 5, 8")
    assert list(found.samples) == ["x", "qkv_weight"]
    y, of = given(found)
    q, k, v = (one.reshape(3, 5, 2, 4).swapaxes(1, 2) for one in np.split(of["x"] @ of["qkv_weight"].T, 3, -1))
    scores = np.where(np.tril(np.ones((5, 5))) == 0, -np.inf, q @ k.swapaxes(2, 3) / 2)
    assert np.allclose(y, (softmax(scores) @ v).swapaxes(1, 2).reshape(3, 5, 8), 1e-4, 1e-5)


def test_attention_of_many_heads(translated: Callable[..., Translated]) -> None:
    found = translated(
        "self.f = nn.MultiheadAttention(8, 2, batch_first=True)", "y, _ = self.f(x, x, x)\nreturn y", "3, 5, 8"
    )
    y, of = given(found)
    qkv = np.split(of["x"] @ of["f_in_proj_weight"].T + of["f_in_proj_bias"], 3, -1)
    q, k, v = (one.reshape(3, 5, 2, 4).swapaxes(1, 2) for one in qkv)
    mixed = (softmax(q @ k.swapaxes(2, 3) / 2) @ v).swapaxes(1, 2).reshape(3, 5, 8)
    assert np.allclose(y, mixed @ of["f_out_proj_weight"].T + of["f_out_proj_bias"], 1e-4, 1e-5)


def _gru(x: Any, weights: list[Any]) -> Any:
    w, u, b, c = weights
    h, seen = np.zeros((x.shape[1], 3)), []
    for step in x:
        (r, z, n), (r_own, z_own, n_own) = np.split(step @ w.T + b, 3, -1), np.split(h @ u.T + c, 3, -1)
        z = sigmoid(z + z_own)
        h = (1 - z) * np.tanh(n + sigmoid(r + r_own) * n_own) + z * h
        seen.append(h)
    return np.stack(seen)


def _lstm(x: Any, weights: list[Any]) -> Any:
    w, u, b, c = weights
    h = kept = np.zeros((x.shape[1], 3))
    seen = []
    for step in x:
        i, f, g, o = np.split(step @ w.T + b + h @ u.T + c, 4, -1)
        kept = sigmoid(f) * kept + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(kept)
        seen.append(h)
    return np.stack(seen)


@pytest.mark.parametrize(("kind", "cell"), [("GRU", _gru), ("LSTM", _lstm)])
def test_recurrent_layers_go_both_ways(translated: Callable[..., Translated], kind: str, cell: Any) -> None:
    found = translated(f"self.f = nn.{kind}(4, 3, num_layers=2, bidirectional=True)", "return self.f(x)[0]", "7, 5, 4")
    y, of = given(found)
    x, weights = of["x"], list(of.values())[1:]
    for at in (0, 8):
        ways = cell(x, weights[at : at + 4]), cell(x[::-1], weights[at + 4 : at + 8])[::-1]
        x = np.concatenate(ways, -1)
    assert np.allclose(y, x, 1e-4, 1e-5)


@pytest.mark.parametrize(
    ("init", "text", "said"),
    [
        (
            "self.h = torch.randn(4)",
            "return x + self.h",
            ": 'self.h', which is drawn when the model is made, cannot be translated",
        ),
        ("pass", "self.seen = x\nreturn x", "'self.seen = …', which changes the model, cannot be translated"),
        ("pass", "return self.absent(x)", ": 'self.absent', which __init__ does not set, cannot be translated to JAX"),
        ("self.f = nn.ModuleList([Block(4)])", "return self.f(x)", "'self.f' (nn.ModuleList) cannot be translated"),
        (
            "self.f = nn.ModuleList([Block(4)])",
            "for f in self.f:\n    break\nreturn x",
            "a loop over layers that ends early",
        ),
        (
            TWO,
            "f = self.a\nfor one in self.parts:\n    x = f(x)\n    f = one\nreturn x",
            "'f', which is one layer here and",
        ),
        (TWO, "if x.sum() > 0:\n    f = self.a\nreturn f(x)", "'f', which is one layer here and another elsewhere,"),
        (
            TWO,
            "i = 7\nfor i, f in enumerate(self.parts):\n    x = f(x)\nreturn x * i",
            "whose '(i, f)' is set elsewhere, too",
        ),
        (TWO, "for f in self.parts:\n    x = sum([f * x for f in range(2)])\nreturn x", "'f' is set elsewhere, too"),
        ("pass", "said = {'dim': 1}\nreturn torch.sum(x, **said)", "whose keywords are not written out"),
        ("pass", "return F.unfold(x, 2, 1, 1)", "'torch.nn.functional.unfold' cannot be translated"),
        (
            "pass",
            "y = x.view(-1)\ny += 1\nreturn x.view(-1) + y",
            "'y … =', which changes what another name may have, too",
        ),
        ("pass", "return raised(x * 1) + x", "'x … =', which changes what another name may have, too"),
        ("pass", "y = F.relu(x, inplace=True)\nreturn x + y", "'x', which was changed in place through another name"),
        ("self.f = nn.ReLU(inplace=True)", "return self.f(x) + x", "'x', which was changed in place"),
        ("self.eval()", "return x", "evaluation mode (`eval()`) is not supported"),
        ("self.n = 0", "self.n += 1\nreturn x", "'self.n … =', which changes what is not a name"),
        (
            "self.f = nn.Sequential(nn.ReLU())",
            "return self.f(input=x)",
            "'self.f' (nn.Sequential) cannot be translated",
        ),
        (
            "pass",
            "for d in range(2):\n    x = x + torch.max(x, d)[0]\nreturn x",
            "along 'd', which may be another axis",
        ),
        ("pass", "return x.var(False)", "with dim=False cannot be translated"),
        ("pass", "return scaled(x, **{})", "whose keywords are not written out"),
        ("self.f = Block(4)", "return self.f(x, x, x)", "'self.f' with 3 arguments cannot be translated"),
        ("self.f = nn.Fold(4, 2)", "return self.f(x)", "'self.f' (nn.Fold) cannot be translated to JAX"),
    ],
)
def test_what_has_no_form_says_where(translated: Callable[..., Translated], init: str, text: str, said: str) -> None:
    with pytest.raises(Wrong) as why:
        translated(init, text)
    assert said in str(why.value)
