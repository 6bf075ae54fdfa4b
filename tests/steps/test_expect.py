"""Expect: the oracle is at float64, whatever the reference's text says."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import FORKS
from corpus import LIMITS, SECRET
from test_audit import SIGNATURE

import check
import expect
import judge_inputs
from child import run_in_child

pytestmark = FORKS

_DTYPES = {
    "jnp.float32": "import jax.numpy as jnp",
    "float32": "from jax.numpy import float32",
    "'float32'": "",
}


@pytest.mark.parametrize("dtype", _DTYPES)
def test_the_oracle_does_not_round_as_the_reference_does(dtype: str, tmp_path: Path) -> None:
    body = f"def f(x, y):\n    return x.astype({dtype}) * y.astype({dtype})\n"
    (tmp_path / "reference.py").write_text(f"{_DTYPES[dtype]}\n\n\n{body}")

    def work() -> bytes:
        functions = expect.functions(str(tmp_path / "reference.py"), "f")
        return expect.pack(expect.expected(*functions, SIGNATURE, SECRET))

    expected = check.read_expected(run_in_child(work, LIMITS).answer)
    assert 1e-9 < expected[f"{judge_inputs.PUBLIC.name}.0.error"] < 1e-6
