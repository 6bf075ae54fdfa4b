"""Tests of `evolve import tokamax`: a module with tuned block sizes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from init import tables

_MODULE = """
raise RuntimeError("nobody runs this")
ANY = "default"
class BlockSizes:
    b_block_size: int
    h_block_size: int = 0
class ShapeBucket:
    name: str
    b_min: int
    b_max: int
    v_min: int
    v_max: int
TUNED_BLOCK_SIZES: dict = {
    ANY: {("bfloat16", "small"): BlockSizes(128, 64)},
    "TPU v5p": {
        ("bfloat16", "small"): BlockSizes(128, h_block_size=64),
        ("float32", "large"): BlockSizes(b_block_size=256),
        ("float32", "small"): BlockSizes(b_block_size=4096),
    },
}
SHAPE_BUCKETS = [
    ShapeBucket("small", 512, 2048, 4096, 16384),
    ShapeBucket(name="large", b_min=4096, b_max=4096, v_min=120000, v_max=131072),
]
"""
Capture = pytest.CaptureFixture[str]
_ROWS = {"ROWS": {"values": [8]}}
_SPEC: dict[str, Any] = {"dimensions": ["B", "V"], "parameters": {"BLOCK_B": {"values": [128, 256]}, **_ROWS}}


def run(folder: Path, capsys: Capture, text: str = _MODULE, spec: Any = None) -> tuple[int, str, str]:
    (folder / "table.py").write_text(text)
    words = [f"--from={folder / 'table.py'}", "--kernel=loss", f"--spec={json.dumps(spec or _SPEC)}"]
    code = tables.main([*words, f"--table={folder / 'tuned.json'}"])
    return code, *capsys.readouterr()


def test_entries_go_to_the_middle_of_their_ranges(tmp_path: Path, capsys: Capture) -> None:
    code, said, _ = run(tmp_path, capsys)
    report = json.loads(said)
    assert (code, report["entries"]) == (0, 2)
    table = json.loads((tmp_path / "tuned.json").read_text())
    found = {
        (one["dtype"], one["kind"]): (one["device"], one["bucket"], one["block_sizes"]) for one in table["entries"]
    }
    assert found == {
        ("bfloat16", "told"): ("TPU v5p", {"B": 1024, "V": 8192}, {"BLOCK_B": 128}),
        ("float32", "told"): ("TPU v5p", {"B": 4096, "V": 131072}, {"BLOCK_B": 256}),
    }
    assert sorted(report["notices"]) == [
        "'h_block_size' belongs to no parameter (2 of 4)",
        "entries are left out: BLOCK_B=4096 is not one of the spec's values (1 of 4)",
        "entries are left out: they name no device (1 of 4)",
    ]


def test_what_was_found_here_stays(tmp_path: Path, capsys: Capture) -> None:
    ours = {"device": "TPU v5p", "dtype": "bfloat16", "bucket": {"B": 1024, "V": 8192}, "block_sizes": {"BLOCK_B": 256}}
    table = {"format": "evolve-tuned-1", "kernel": "loss", "entries": [ours | {"kind": "modelled"}]}
    (tmp_path / "tuned.json").write_text(json.dumps(table))
    _, said, _ = run(tmp_path, capsys)
    assert json.loads(said)["entries"] == 1
    entries = json.loads((tmp_path / "tuned.json").read_text())["entries"]
    assert [one["kind"] for one in entries] == ["modelled", "told"]


@pytest.mark.parametrize(
    ("text", "spec", "words"),
    [
        ("x = 1\n", None, "no dictionary TUNED_"),
        ("def\n", None, "invalid syntax"),
        (_MODULE.replace('"large")', '"larger")'), None, "('float32', 'larger') is not a pair"),
        (_MODULE.replace("(128, 64)", "(128, 64, 2)"), None, "the fields of BlockSizes are unknown"),
        (_MODULE.replace("4096)", "size())"), None, "'b_block_size' is not a whole number"),
        (_MODULE.replace('"TPU v5p":', "SELF:") + "SELF = SELF\n", None, "'SELF' is defined by itself"),
        (_MODULE.replace('"TPU v5p":', "ONE:") + "ONE = TWO\nTWO = ONE\n", None, "'ONE' is defined by itself"),
        (_MODULE.replace('"TPU v5p":', '"TPU\x1b":'), None, "'TPU?' is not a device's name"),
        (_MODULE.replace('"TPU v5p":', "5:"), None, "they name no device (4 of 4)"),
        (_MODULE + f"X = {9000 * '-'}1\n", None, "it is nested too deeply"),
        (_MODULE.replace("(128, 64)", f"(128, {400 * '-'}1)"), None, "it is nested too deeply"),
        (_MODULE.replace("(128, 64)", f"(128, {'+'.join(600 * '1')})"), None, "it is nested too deeply"),
        (_MODULE.replace("(128, 64)", f"(128, {{[]: 0x{5000 * 'f'}}})"), None, "Exceeds the limit"),
        (_MODULE.replace("BlockSizes(128, 64)", "5"), None, "expected a call with fields"),
        (_MODULE + "\0", None, "null bytes"),
        (_MODULE.replace('Bucket("small"', "Bucket([]"), None, "expected a bucket with a name"),
        (_MODULE.replace('Bucket("small"', "Bucket({[]}"), None, "'{[]}' is not a literal"),
        (_MODULE.replace('ShapeBucket("small", 512, 2048, 4096, 16384)', "[]"), None, "expected a call with fields"),
        (_MODULE.replace("512, 2048", '"x", 2048'), None, "'b' has no bounds"),
        (_MODULE.replace("512, 2048", "512, 1e400"), None, "'b' has no bounds"),
        (_MODULE.replace("512, 2048", "-512, 2048"), None, "'b' has no bounds"),
        (_MODULE.replace(", v_max=131072", ""), None, "'v' has no bounds"),
        (_MODULE.replace('"bfloat16", "small"', '["bfloat16"], ["small"]'), None, "is not a pair"),
        (_MODULE, {"dimensions": ["B", "V", "D"], "parameters": _SPEC["parameters"]}, "dimension D has no range"),
        (_MODULE, {"dimensions": ["B", "V"], "parameters": _ROWS}, "none of their fields is a parameter"),
    ],
)
def test_what_is_no_such_table_is_refused_in_words(
    tmp_path: Path, capsys: Capture, text: str, spec: Any, words: str
) -> None:
    code, _, said = run(tmp_path, capsys, text, spec)
    assert code == 2
    assert words in said
    assert len(said.splitlines()) == 1
    assert not (tmp_path / "tuned.json").exists()


_MATMUL: dict[str, Any] = {
    "dimensions": ["M", "N", "K"],
    "inputs": {"x": {"shape": ["M", "K"], "dtype": "bfloat16"}, "y": {"shape": ["K", "N"], "dtype": "bfloat16"}},
    "parameters": {"BLOCK_M": {"values": [128, 512]}, "BLOCK_K": {"values": [512]}},
}
_ENTRY = ("TPU7x", "bfloat16", {"M": 1024, "N": 4096, "K": 512}, {"BLOCK_M": 128, "BLOCK_K": 512})
_COMMENTS = """
# Key:
#   - m: int, rows
#   - k: int
#   - n: int
#   - lhs_dtype: str
# Value:
#   - tm: int, m-dimension tile size
#   - tk: int
TUNED_BLOCK_SIZES = {(1024, 512, 4096, "bfloat16"): (128, 256 * 2)}
"""
_CLASSES = """
class TunedKey(NamedTuple):
    tpu_version: int
    m: int
    n: int
    k: int
    x_q_dtype: str
class TunedValue(NamedTuple):
    block_m: int
    block_k: int
    n_lane_multiplier: int = 1
TUNED_BLOCK_SIZES_RAW = {(7, 1024, 4096, 512, "bfloat16"): (128, 512)}
"""
_CALLS = """
class TuningKey:
    m: int
    n: int
    k: int
    dtype: str = "bfloat16"
class TunableParams:
    block_m: int
    block_k: int
tuned_params_mapping: dict = {TuningKey(m=1024, n=4096, k=512): TunableParams(128, block_k=512)}
"""
_NESTED = """
# key
#   - device_name
#     - m
#       - q_{dtype}
# value:
#   - (bm, bk)
TUNED_BLOCK_SIZES = {"TPU v7": {1024: {"q_bfloat16": {"n-4096_k-512-sw-None": (128, 512)}}}}
"""


@pytest.mark.parametrize(
    ("text", "notices"),
    [
        (_COMMENTS, ["the table names no device: its entries are taken for TPU7x"]),
        (_CLASSES, []),
        (_CALLS, ["the table names no device: its entries are taken for TPU7x"]),
        (_NESTED, []),
    ],
)
def test_tables_are_read_in_all_forms(tmp_path: Path, capsys: Capture, text: str, notices: list[str]) -> None:
    code, said, error = run(tmp_path, capsys, text, _MATMUL)
    assert code == 0, error
    assert json.loads(said)["notices"] == notices
    (entry,) = json.loads((tmp_path / "tuned.json").read_text())["entries"]
    assert (entry["device"], entry["dtype"], entry["bucket"], entry["block_sizes"]) == _ENTRY


def test_a_table_whose_keys_have_no_names_says_what_to_write(tmp_path: Path, capsys: Capture) -> None:
    code, _, said = run(tmp_path, capsys, "TUNED = {(1024, 512): (128,)}", _MATMUL)
    assert code == 2
    assert "a key has 2 parts, but 0 names: write '# key:' above the table" in said


def run_json(folder: Path, capsys: Capture, table: Any, name: str = "tpu7x") -> tuple[int, str, str]:
    (folder / name).mkdir()
    path = folder / name / "table.json"
    path.write_text(table if isinstance(table, str) else json.dumps(table))
    words = [f"--from={path}", "--kernel=mm", f"--spec={json.dumps(_MATMUL)}", f"--table={folder / 'tuned.json'}"]
    return tables.main(words), *capsys.readouterr()


def _arguments(x: str, y: str) -> str:
    return json.dumps({"lhs": x, "rhs": y, "precision": ["DEFAULT", "DEFAULT"], "activation": None})


def test_tokamax_s_json_gives_the_fastest_configuration_of_each_arguments(tmp_path: Path, capsys: Capture) -> None:
    slow, fast = ({"tile_m": size, "tile_k": 512, "combine": False} for size in (512, 128))
    table = {
        _arguments("bf16[1024,512]", "bf16[512,4096]"): {
            json.dumps(slow): {"evaluation_times_ms": [3.0, 3.1, 9.0]},
            json.dumps(fast): {"evaluation_times_ms": [2.0, 2.1, 99.0]},
            json.dumps(slow | {"tile_k": 64}): {"evaluation_times_ms": [float("nan")]},
        },
        _arguments("bf16[1024,512]", "bf16[64,4096]"): {json.dumps(fast): {}},
        _arguments("bf16[2048,512]", "bf16[512,4096]"): {},
    }
    code, said, error = run_json(tmp_path, capsys, table)
    assert code == 0, error
    (entry,) = json.loads((tmp_path / "tuned.json").read_text())["entries"]
    assert (entry["device"], entry["dtype"], entry["bucket"], entry["block_sizes"]) == _ENTRY
    assert json.loads(said)["notices"] == [
        "'combine' belongs to no parameter (1 of 3)",
        "entries are left out: their arrays are not the kernel's (1 of 3)",
        "entries are left out: nothing was tuned for them (1 of 3)",
    ]


@pytest.mark.parametrize(
    ("table", "words"),
    [("", "not JSON"), ("[]", "expected an object of objects"), ('{"x": {}}', "'x' is not JSON"), ("{}", "no entries")],
)
def test_what_is_no_json_table_is_refused_in_words(tmp_path: Path, capsys: Capture, table: str, words: str) -> None:
    code, _, said = run_json(tmp_path, capsys, table)
    assert code == 2
    assert words in said
