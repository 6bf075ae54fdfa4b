"""Tests of expect: the oracle computes with float64, whatever the reference's text is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from conftest import FORKS
from corpus import LIMITS, SECRET
from test_audit import SIGNATURE

from judge import comparison, judge_inputs, values
from process.child import run_in_child
from steps import expect

pytestmark = FORKS

# Ways to write a dtype: for each, an import, and the least and greatest distance of the reference from the oracle.
_DTYPES = {
    "jnp.float32": ("import jax.numpy as jnp", 1e-9, 1e-6),
    "float32": ("from jax.numpy import float32", 1e-9, 1e-6),
    "'float32'": ("", 1e-9, 1e-6),
    "jnp.float16": ("import jax.numpy as jnp", 1e-5, 1e-2),
    "'bfloat16'": ("", 1e-4, 1e-1),
    "ml_dtypes.bfloat16": ("import ml_dtypes", 1e-4, 1e-1),
    "rounded": ("from ml_dtypes import bfloat16 as rounded", 1e-4, 1e-1),
}


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize("compute", [expect.expected, expect.expected_at_places])
def test_the_oracle_does_not_round_as_the_reference_does(dtype: str, compute: Any, tmp_path: Path) -> None:
    imported, least, most = _DTYPES[dtype]
    body = f"def f(x, y):\n    return x.astype({dtype}) * y.astype({dtype})\n"
    (tmp_path / "reference.py").write_text(f"{imported}\n\n\n{body}")

    def work() -> bytes:
        return expect.pack(compute(expect.functions(str(tmp_path / "reference.py"), "f"), SIGNATURE, SECRET))

    expected = comparison.read_expected(run_in_child(work, LIMITS).answer)
    first = judge_inputs.PUBLIC if compute is expect.expected else judge_inputs.TIMED[0]
    error = next(value for name, value in expected.items() if re.match(rf"{first.name}\.0.*error", name))
    assert least < error < most


def test_so_it_is_at_float32_where_a_large_case_has_narrow_outputs(tmp_path: Path) -> None:
    text = "def f(x, y):\n    return x.astype('bfloat16') * y\n"
    (tmp_path / "reference.py").write_text(text)
    narrow = {**SIGNATURE, "outputs": [{**SIGNATURE["outputs"][0], "dtype": "bfloat16"}]}

    def work() -> bytes:
        functions = expect.functions(str(tmp_path / "reference.py"), "f")
        return expect.pack(expect.expected_at_places(functions, narrow, SECRET))

    expected = comparison.read_expected(run_in_child(work, LIMITS).answer)
    assert 1e-4 < next(value for name, value in expected.items() if name.endswith(".error")) < 1e-1


def test_what_asks_for_a_dtype_itself_means_that_dtype(tmp_path: Path) -> None:
    text = "import jax\nimport jax.numpy as jnp\n\n\ndef f(x, y):\n    tiny = jnp.finfo(jnp.bfloat16).eps\n"
    text += "    bits = jnp.full(x.shape, 16256, 'uint16')\n"
    text += "    return x * tiny + y * jax.lax.bitcast_convert_type(bits, jnp.bfloat16)\n"
    (tmp_path / "reference.py").write_text(text)
    functions = expect.functions(str(tmp_path / "reference.py"), "f")

    def work() -> bytes:
        return expect.pack(expect.expected(functions, SIGNATURE, SECRET))

    expected = comparison.read_expected(run_in_child(work, LIMITS).answer)
    assert expected[f"{judge_inputs.PUBLIC.name}.0.error"] < 1e-6


def test_where_needles_overflow_the_places_are_of_other_normal_inputs(tmp_path: Path) -> None:
    (tmp_path / "reference.py").write_text("import jax.numpy as jnp\n\n\ndef f(x, y):\n    return jnp.exp(x) * y\n")

    def work() -> bytes:
        functions = expect.functions(str(tmp_path / "reference.py"), "f")
        return expect.pack(expect.expected_at_places(functions, SIGNATURE, SECRET))

    expected = comparison.read_expected(run_in_child(work, LIMITS).answer)
    assert values.known_groups(expected) == [(0, judge_inputs.TIMED[0]), (1, judge_inputs.AGAIN)]
