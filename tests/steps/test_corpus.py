"""The corpus: honest kernels pass, cheats do not, and do where what catches them is broken."""

from __future__ import annotations

import functools
from typing import Any

import pytest
from conftest import THOROUGH
from corpus import DEFENCES, HERE, Entry, Judge, Task, entries

HONEST = entries(HERE / "honest")
CHEATS = entries(HERE / "cheats")
QUICK = {"honest/flat/tanh", "honest/matmul/plain", "honest/small/scaled"}

judge = Judge()


@functools.cache
def _task(name: str) -> Task:
    return Task(HERE / "tasks" / name)


def _with_marks() -> list[Any]:
    """All entries; by default only a few honest ones are judged, and the first cheat for each defence."""
    seen: set[str] = set()
    params = []
    for entry in [*HONEST, *CHEATS]:
        is_quick = str(entry) in QUICK if entry in HONEST else not seen.issuperset(entry.caught_by)
        seen.update(entry.caught_by)
        params.append(pytest.param(entry, marks=() if is_quick else THOROUGH))
    return params


@pytest.mark.parametrize("entry", _with_marks(), ids=str)
def test_every_kernel_comes_to_its_verdict(entry: Entry) -> None:
    report = judge(entry.path.read_bytes(), _task(entry.task))
    got = "ok" if report["verdict"] == "ok" else report["kind"]
    assert got == entry.verdict, report


@THOROUGH
@pytest.mark.parametrize("entry", [e for e in CHEATS if e.caught_by and e.verdict != "ok"], ids=str)
def test_a_cheat_passes_where_its_defences_are_broken(entry: Entry) -> None:
    report = judge(entry.path.read_bytes(), _task(entry.task), entry.caught_by)
    assert report["verdict"] == "ok", report


def test_every_defence_is_broken_once() -> None:
    assert {name for entry in CHEATS for name in entry.caught_by} == set(DEFENCES)


def test_a_forged_program_is_not_the_one_that_is_judged() -> None:
    path, task = HERE / "cheats" / "matmul" / "forged_program.py", _task("matmul")
    forged = path.read_bytes()
    honest = forged.replace(b"\n_forge()\n", b"\n")
    assert honest != forged
    right = judge(honest, task)["programs"]
    assert judge(forged, task)["programs"] == right
    # Nobody sees it but in what a TPU would run: the contract finds that it does nothing.
    assert judge(forged, task, ("one_jaxpr",))["kind"] == "contract"
    report = judge(forged, task, ("one_jaxpr", "inside"))
    assert report["verdict"] == "ok"
    assert report["programs"] != right
