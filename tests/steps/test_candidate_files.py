"""Tests that no variant stops a round: a candidate's file that a C++ step cannot read leads to a verdict."""

from __future__ import annotations

import io
import json
import os
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

STEPS = Path(os.environ.get("EVOLVE", str(ROOT / "build" / "release" / "evolve"))).parent / "steps"

# Files whose content depends on a candidate's program: no JSON, endless nesting or numbers, or wrong types.
ODD = {
    "half a character": '{"kernels": {"a": "\\ud800"}}',
    "no JSON": "{",
    "nothing": "",
    "nested": "[" * 200_000 + "]" * 200_000,
    "text": '"kernels"',
    "runs that are none": '{"kernels": {"a": 3}}',
    "an operand too many": json.dumps({"kernels": {"a": [{"operands": {str(number): [1] for number in range(259)}}]}}),
    "an operand of a name": '{"kernels": {"a": [{"operands": {"first\\n\\u001b[2J": [1]}}]}}',
    "a number without end": '{"0": [1' + "0" * 400 + "]}",
}


def _run(folder: Path, step: str, **flags: str) -> None:
    words = [word for name, value in flags.items() for word in (f"--{name.replace('_', '-')}", value)]
    done = subprocess.run([str(STEPS / step), *words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.returncode, done.stderr)


@pytest.fixture
def compiled(tmp_path: Path) -> Path:
    """Returns a folder with a compiled program of no modules."""
    (tmp_path / "compile.json").write_text('{"verdict": "ok"}')
    (tmp_path / "cost.json").write_text('{"flops": 1, "bytes": 1}')
    (tmp_path / "operands.json").write_text('{"kernels": {}}')
    with tarfile.open(tmp_path / "dumps.tar.gz", "w:gz"):
        pass
    return tmp_path


def _modelled(folder: Path) -> list[dict[str, Any]]:
    """Returns the reports of analyze and trace on the folder's program."""
    files = {"compile": "compile.json", "dumps": "dumps.tar.gz", "operands": "operands.json", "target": "tpu7x"}
    _run(folder, "analyze", **files, cost="cost.json", out="facts.json")
    _run(folder, "trace", **files, out="timeline.json")
    timeline = json.loads((folder / "timeline.json").read_text())
    return [json.loads((folder / "facts.json").read_text()), timeline["otherData"]]


@pytest.mark.parametrize("name", ODD)
def test_odd_operands_are_not_modelled(compiled: Path, name: str) -> None:
    (compiled / "operands.json").write_text(ODD[name])
    for said in _modelled(compiled):
        assert (said["verdict"], said["kind"]) == ("rejected", "not_modelled")
        assert said["reason"].isprintable()


def test_odd_dumps_are_not_modelled(compiled: Path) -> None:
    """Uses dumps with half of a schedule, and with nested lists in the place of a report's table."""
    odd = {
        "jit_f.1/packed-bundles-post-ra.txt": b"0x0 \xff : { %s1",
        "jit_f/vmem.html": b"const DATA = {" + b"[" * 100_000 + b"};",
    }
    with tarfile.open(compiled / "dumps.tar.gz", "w:gz") as tar:
        for name, content in odd.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    for said in _modelled(compiled):
        assert (said["verdict"], said["kind"]) == ("rejected", "not_modelled")


def test_a_modelled_time_that_is_none_is_suspicious(tmp_path: Path) -> None:
    for seconds in (None, 0, -1, "1"):
        facts = {"verdict": "ok", "target": "tpu7x", "model": "m", "modelled": {"seconds": seconds}}
        (tmp_path / "facts.json").write_text(json.dumps(facts))
        _run(tmp_path, "time", facts="facts.json", out="time.json")
        said = json.loads((tmp_path / "time.json").read_text())
        assert (said["verdict"], said["kind"]) == ("rejected", "suspicious")


def test_a_program_that_cannot_be_read_is_its_variants_verdict(tmp_path: Path) -> None:
    """Checks that the variants with a forged program are rejected, and that the others go on."""
    good = '{"vars": [], "jaxprs": [{"eqns": []}], "consts": []}'
    forged = {"v0001": ODD["half a character"], "v0002": ODD["nested"], "v0003": good, "v0000": good}
    for name, text in forged.items():
        folder = tmp_path / name / "timed"
        folder.mkdir(parents=True)
        (folder / "jaxpr.json").write_text(text)
        (folder / "lower.json").write_text(json.dumps({"verdict": "ok", "programs": {"device": {"digest": name}}}))
        (folder / "contract.json").write_text('{"verdict": "ok"}')
        variant = {"id": name, "round": 1, "parameters": {}, "parents": []}
        (folder.parent / "variant.json").write_text(json.dumps(variant))
    spec = {"cases": [{"name": "timed", "tags": ["bench"], "weight": 1}], "parameters": {}}
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    files = {"spec": "spec.json", "seed_dir": "v0000", "round_dir": ".", "out": "all.json", "sketches_out": "sketches"}
    _run(tmp_path, "novelty", **files, least_distance="0.1", variants="v0001,v0002,v0003")
    said = {name: json.loads((tmp_path / name / "timed" / "novelty.json").read_text()) for name in sorted(forged)[1:]}
    for name in ("v0001", "v0002"):
        assert (said[name]["verdict"], said[name]["kind"]) == ("rejected", "contract")
        assert "the traced program 'timed' cannot be read" in said[name]["reason"]
    assert said["v0003"]["kind"] == "near-duplicate"  # a duplicate of the seed: only the digest differs
