"""What `evolve import tokamax` makes of a module with tuned block sizes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tables

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
        "entries are left out: BLOCK_B=4096 is none of the spec's values (1 of 4)",
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
        ("x = 1\n", None, "there is no dictionary TUNED_"),
        ("def\n", None, "invalid syntax"),
        (_MODULE.replace('"large")', '"larger")'), None, "('float32', 'larger') is no pair"),
        (_MODULE.replace("(128, 64)", "(128, 64, 2)"), None, "the fields of BlockSizes are not known here"),
        (_MODULE.replace("4096)", "size())"), None, "'b_block_size' is no whole number"),
        (_MODULE.replace('"TPU v5p":', "SELF:") + "SELF = SELF\n", None, "'SELF' stands for itself"),
        (_MODULE.replace('"TPU v5p":', "ONE:") + "ONE = TWO\nTWO = ONE\n", None, "'ONE' stands for itself"),
        (_MODULE.replace('"TPU v5p":', '"TPU\x1b":'), None, "'TPU?' is no device's name"),
        (_MODULE.replace('"TPU v5p":', "5:"), None, "they name no device (4 of 4)"),
        (_MODULE + f"X = {9000 * '-'}1\n", None, "it is nested too deeply"),
        (_MODULE.replace("(128, 64)", f"(128, {400 * '-'}1)"), None, "it is nested too deeply"),
        (_MODULE.replace("(128, 64)", f"(128, {'+'.join(600 * '1')})"), None, "it is nested too deeply"),
        (_MODULE.replace("(128, 64)", f"(128, {{[]: 0x{5000 * 'f'}}})"), None, "Exceeds the limit"),
        (_MODULE.replace("BlockSizes(128, 64)", "5"), None, "expected a call with fields"),
        (_MODULE + "\0", None, "null bytes"),
        (_MODULE.replace('Bucket("small"', "Bucket([]"), None, "expected a bucket with a name"),
        (_MODULE.replace('Bucket("small"', "Bucket({[]}"), None, "'{[]}' is no literal"),
        (_MODULE.replace('ShapeBucket("small", 512, 2048, 4096, 16384)', "[]"), None, "expected a call with fields"),
        (_MODULE.replace("512, 2048", '"x", 2048'), None, "'b' has no bounds"),
        (_MODULE.replace("512, 2048", "512, 1e400"), None, "'b' has no bounds"),
        (_MODULE.replace("512, 2048", "-512, 2048"), None, "'b' has no bounds"),
        (_MODULE.replace(", v_max=131072", ""), None, "'v' has no bounds"),
        (_MODULE.replace('"bfloat16", "small"', '["bfloat16"], ["small"]'), None, "is no pair"),
        (_MODULE, {"dimensions": ["B", "V", "D"], "parameters": _SPEC["parameters"]}, "dimension D has no range"),
        (_MODULE, {"dimensions": ["B", "V"], "parameters": _ROWS}, "no field of theirs is a parameter"),
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
