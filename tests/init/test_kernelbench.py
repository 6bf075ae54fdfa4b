"""What `evolve import kernelbench` makes of a PyTorch model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import imports
import jax.numpy as jnp
import kernelbench
import numpy as np
import pytest
from project import Place
from source import Imported, Wrong, executed

_PROBLEM = '''
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
    """A small model.

    Of several lines.
    """
    def __init__(self, wide, out{parameters}):
        super(Model, self).__init__()
        {made}

    def forward(self, {arguments}):
        """Forward."""
        {body}

rows = 32
wide = 48

def get_inputs():
    return [{inputs}]

def get_init_inputs():
    return [wide, 16]
'''


def problem(
    folder: Path,
    body: str,
    *,
    made: str = "pass",
    arguments: str = "x: torch.Tensor",
    inputs: str = "torch.randn(rows, wide)",
) -> Path:
    path = folder / "7_3D_Thing_.py"
    path.write_text(
        _PROBLEM.replace("{parameters}", "")
        .replace("{made}", made)
        .replace("{arguments}", arguments)
        .replace("{body}", body.replace("\n", "\n        "))
        .replace("{inputs}", inputs)
    )
    return path


def task(*args: Any, **options: Any) -> Imported:
    return kernelbench.read(problem(*args, **options), {})


X = np.linspace(-3, 3, 32 * 48, dtype=np.float32).reshape(32, 48)


def _sigmoid(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return torch.relu(x).sum(dim=1, keepdim=True)", np.maximum(X, 0).sum(1, keepdims=True)),
        ("return torch.max(x, dim=1)[0]", X.max(1)),
        ("return x.max(dim=0).indices", X.argmax(0)),
        ("return torch.max(x)", X.max()),
        ("y = torch.sigmoid(x)\nx = x * y\nreturn x / 2", X * _sigmoid(X) / 2),
        ("x += 1\nreturn x.view(x.size(0), -1).t()", (X + 1).T),
        ("return x / torch.norm(x, p='fro')", X / np.sqrt((X**2).sum())),
        ("return F.normalize(x, p=1, dim=1)", X / np.abs(X).sum(1, keepdims=True)),
        ("return torch.cumsum(x.flip(1), dim=1)", X[:, ::-1].cumsum(1)),
        ("return torch.clamp(x, min=-1) * math.pi", np.maximum(X, -1) * np.pi),
        ("return F.mse_loss(x, torch.zeros_like(x))", (X**2).mean()),
        ("return torch.einsum('ab,cb->ac', x, x)", X @ X.T),
        ("return torch.var(x, dim=1)", X.var(1, ddof=1)),
        ("return x.transpose(0, 1).permute(1, 0).unsqueeze(0)", X[None]),
        ("return F.softplus(x, beta=2.0)", np.log1p(np.exp(2 * X)) / 2),
    ],
)
def test_calls_give_what_pytorch_gives(tmp_path: Path, body: str, expected: np.ndarray[Any, Any]) -> None:
    found = task(tmp_path, body)
    np.testing.assert_allclose(found.function(jnp.asarray(X)), expected, rtol=2e-5, atol=2e-5)


def test_layers_are_functions_and_their_weights_inputs(tmp_path: Path) -> None:
    made = "self.fc = nn.Linear(wide, out); self.act = nn.LeakyReLU(0.2); self.ln = nn.LayerNorm(out)"
    made += "; self.p = nn.Parameter(torch.randn(1))"
    found = task(tmp_path, "return self.act(self.ln(self.fc(x))) * self.p", made=made)
    assert [(one.name, one.axes) for one in found.inputs] == [
        ("x", ("D0", "D1")),
        ("fc_weight", ("D2", "D1")),
        ("fc_bias", ("D2",)),
        ("ln_weight", ("D2",)),
        ("ln_bias", ("D2",)),
        ("p", (1,)),
    ]
    assert found.sizes == {"D0": 32, "D1": 48, "D2": 16}
    assert len(found.notices) == 5
    weight = np.linspace(-1, 1, 16 * 48).reshape(16, 48)
    y = X @ weight.T + 0.5
    y = (y - y.mean(-1, keepdims=True)) / np.sqrt(y.var(-1, keepdims=True) + 1e-5) * 2 + 0.25
    given = (X, weight, np.full(16, 0.5), np.full(16, 2.0), np.full(16, 0.25), np.full(1, 3.0))
    np.testing.assert_allclose(found.function(*given), np.where(y > 0, y, 0.2 * y) * 3, rtol=1e-3, atol=1e-3)


def test_inputs_have_the_bounds_that_they_are_drawn_in(tmp_path: Path) -> None:
    inputs = "torch.rand(rows, wide) * 2 - 1, torch.randint(0, 5, (rows,)), torch.rand(rows).half(), 3.5"
    found = task(tmp_path, "return x * scale + z[:, None], y", arguments="x, y, z, scale, unused=True", inputs=inputs)
    assert [(one.name, one.dtype, one.range) for one in found.inputs] == [
        ("x", "float32", "-1, 1"),
        ("y", "int32", "0, 4"),
        ("z", "float16", "0, 1"),
    ]
    assert "x * 3.5" in found.given.reference


def test_the_kernel_gives_the_same(tmp_path: Path) -> None:
    found = task(tmp_path, "return torch.softmax(x, dim=1)")
    assert found.name == "model_3d_thing"
    _, files = imports.files_for(found, Place(tmp_path / "project", "thing"))
    seed = executed(files["kernel.py"], Path("kernel.py"))
    np.testing.assert_allclose(seed.model_3d_thing(X), found.function(X), rtol=1e-5)
    assert "A small model" in files["spec.yaml"]


@pytest.mark.parametrize(
    ("body", "options", "words"),
    [
        ("return torch.fft.fft(x)", {}, r"Thing_.py:18: 'torch.fft' has no form in JAX"),
        ("return self.conv(x)", {"made": "self.conv = nn.Conv2d(3, 3, 3)"}, r":18: 'nn.Conv2d' has no form"),
        ("return F.mse_loss(x, x, reduction='sum')", {}, r"'mse_loss' with reduction='sum' has no form"),
        ("for i in x: pass\nreturn x", {}, r":18: 'for i in x:' has no form"),
        ("return torch.softmax(x, dim=1, odd=2)", {}, r":18: 'torch.softmax': "),
        ("return helper(x)", {}, r"'helper' has no form"),
        ("return x.foo", {}, r"a tensor's 'foo' has no form"),
        ("return x", {"inputs": "torch.linspace(0, 1, 3)"}, r"torch.linspace is not known"),
        ("return x", {"inputs": "'x'"}, r"an input is no tensor, and no number: 'x'"),
        ("return x", {"inputs": "torch.rand(2), torch.rand(2)"}, r"gives 2 inputs, and forward takes 1"),
    ],
)
def test_what_has_no_form_is_refused_in_words(tmp_path: Path, body: str, options: dict[str, str], words: str) -> None:
    with pytest.raises(Wrong, match=words):
        task(tmp_path, body, **options)
