"""Tests of the choice of an implementation, and of the messages about the others."""

from __future__ import annotations

import json
from pathlib import Path

import conftest  # noqa: F401 - finds the kernels
import pytest
from kernels import implementations, tuned
from kernels.implementations import Unsupported, call


def never(_: int) -> int:
    raise Unsupported("x is odd")


def twice(x: int) -> int:
    return 2 * x


KNOWN = {"never": never, "twice": twice}


def test_the_first_that_can_serves_and_the_others_say_why_not() -> None:
    assert call(KNOWN, "twice", 3) == 6
    with pytest.warns(UserWarning, match="'never': x is odd; trying 'twice'"):
        assert call(KNOWN, ("never", "twice"), 3) == 6
    with pytest.warns(UserWarning, match="trying 'lambda'|trying '<lambda>'"):
        assert call(KNOWN, ["never", lambda x: x + 1], 3) == 4
    assert call(KNOWN, twice, 3) == 6


def test_one_that_was_chosen_serves_or_is_an_error() -> None:
    with pytest.raises(ValueError, match="implementation 'never': x is odd"):
        call(KNOWN, "never", 3)
    with pytest.raises(ValueError, match="unknown implementation 'none'; known: never, twice"):
        call(KNOWN, ("twice", "none"), 3)
    with pytest.raises(ValueError, match="no implementation given"):
        call(KNOWN, [], 3)
    with (
        pytest.warns(UserWarning, match="x is odd"),
        pytest.raises(ExceptionGroup, match="all implementations failed") as failed,
    ):
        call(KNOWN, ("never", never), 3)
    assert [str(why) for why in failed.value.exceptions] == ["implementation 'never': x is odd"] * 2


def test_what_is_wrong_otherwise_is_not_hidden() -> None:
    with pytest.raises(TypeError):
        call({"fails": lambda: 1, "twice": twice}, ("fails", "twice"), 3)


def test_a_backend_that_is_not_there_is_named() -> None:
    assert implementations.on_backend("cpu", twice)(3) == 6
    with pytest.raises(Unsupported, match="needs the backend 'tpu', and JAX's default here is 'cpu'"):
        implementations.on_backend("tpu", twice)(3)


def entry(device: str, dtype: str, bucket: dict[str, int], block: int) -> dict[str, object]:
    return {
        "device": device,
        "dtype": dtype,
        "bucket": bucket,
        "block_sizes": {"BLOCK_M": block},
        "case": f"of {block}",
        "kind": "modelled",
    }


def test_block_sizes_are_those_of_the_bucket_or_of_the_nearest(tmp_path: Path) -> None:
    table = tmp_path / "tuned.json"
    assert tuned.block_sizes(table, "TPU7x", "bfloat16", {"M": 1000, "N": 1024}) == {}
    table = tmp_path / "there.json"
    entries = [
        entry("TPU7x", "bfloat16", {"M": 1024, "N": 1024}, 1),
        entry("TPU7x", "bfloat16", {"M": 8192, "N": 1024}, 2),
        entry("TPU7x", "float32", {"M": 1024, "N": 1024}, 3),
        entry("TPU v6 lite", "bfloat16", {"M": 1024, "N": 1024}, 4),
    ]
    table.write_text(json.dumps({"format": "evolve-tuned-1", "kernel": "k", "entries": entries}))

    def found(m: int, n: int, device: str = "TPU7x", dtype: str = "bfloat16") -> dict[str, int]:
        return tuned.block_sizes(table, device, dtype, {"M": m, "N": n})

    assert found(1000, 600) == {"block_m": 1}
    assert found(1025, 1024) == {"block_m": 1}  # 2,048 is one step from the first entry, two from the second
    assert found(4096, 1024) == {"block_m": 2}
    assert found(1024, 1024, dtype="float32") == {"block_m": 3}
    assert found(1024, 1024, device="TPU v6 lite") == {"block_m": 4}
    # Entries do not count if they are too far away, of another device, or of other dimensions.
    assert found(1024 * 64, 1) == {}
    assert found(1024, 1024, device="TPU v4") == {}
    assert tuned.block_sizes(table, "TPU7x", "bfloat16", {"M": 1024}) == {}


@pytest.mark.parametrize(
    ("sizes", "why"),
    [
        ({"BLOCK_M": 8192, "BLOCK_N": 128}, "BLOCK_M is 8192, not one of 128, 256"),
        ({"BLOCK_M": 256, "BLOCK_N": 256}, "BLOCK_M \\* BLOCK_N <= 32768 && .* does not hold"),
        ({"BLOCK_M": -128, "BLOCK_N": 128}, "BLOCK_M is -128, which is not a size"),
        ({"BLOCK_M": True, "BLOCK_N": 128}, "BLOCK_M is True, which is not a size"),
    ],
)
def test_what_the_spec_does_not_allow_is_not_served(tmp_path: Path, sizes: dict[str, int], why: str) -> None:
    table = tmp_path / "tuned.json"
    bucket = {"M": 1024}
    allowed = entry("TPU7x", "bfloat16", {"M": 2048}, 0) | {"block_sizes": {"BLOCK_M": 256, "BLOCK_N": 128}}
    text = {
        "format": "evolve-tuned-1",
        "kernel": "k",
        "parameters": {"BLOCK_M": [128, 256], "BLOCK_N": [128, 256]},
        "constraints": ["BLOCK_M * BLOCK_N <= 32768 && cdiv(BLOCK_M, 128) % 3 > 0 || BLOCK_N == 1"],
        "entries": [entry("TPU7x", "bfloat16", bucket, 0) | {"block_sizes": sizes}, allowed],
    }
    table.write_text(json.dumps(text))
    with pytest.warns(UserWarning, match=why):
        found = tuned.block_sizes(table, "TPU7x", "bfloat16", bucket)
    assert found == {"block_m": 256, "block_n": 128}


def test_a_table_of_another_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tuned.json").write_text('{"entries": []}')
    with pytest.raises(ValueError, match="its format is not evolve-tuned-1"):
        tuned.block_sizes(tmp_path / "tuned.json", "TPU7x", "bfloat16", {})
