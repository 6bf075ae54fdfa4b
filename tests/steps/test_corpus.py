"""Tests of the corpus: honest kernels pass; cheats pass only when the defences that catch them are broken."""

from __future__ import annotations

import functools
import os
from typing import Any

import pytest
from conftest import FORKS, FULL, IS_FULL, THOROUGH
from corpus import DEFENCES, HERE, Entry, Judge, Task, entries

pytestmark = FORKS

HONEST = entries(HERE / "honest")
# Kernels as engineers write them today; some are JAX's own.
STYLES = entries(HERE / "styles")
CHEATS = entries(HERE / "cheats")
QUICK = {"honest/matmul/plain"}
# The whole corpus takes more than an hour. So CI judges one style, every fourth honest kernel, the first cheat for each
# defence, and every second one of the other cheats, but not the kernels in LONG. .ci/full judges all kernels.
IN_CI = {"styles/layer_norm/kernel"}
LONG = {
    "cheats/first/lowest_without_a_start",
    "cheats/scale_shift_large/carried_over_parallel",
    "cheats/scale_shift_large/copies_over_what_is_read",
    "honest/attention/block_table",
    "honest/attention/flash",
    "honest/attention/loop",
    "honest/gathered_rows/one_wait",
    "honest/heads_first/semaphores",
    "honest/local_attention/splash",
    "honest/matmul/loop_outside",
    "honest/matmul/pipeline",
    "honest/newton_schulz/in_scratch",
    "honest/rms_norm/two_kernels",
    "honest/router/two_maxima",
    "honest/scale_shift/alias_after_two_blocks",
    "honest/scale_shift/core_map",
    "honest/scale_shift/mesh",
}

judge = Judge()


@functools.cache
def _task(name: str) -> Task:
    return Task(HERE / "tasks" / name)


def _first_of_each(cheats: list[Entry]) -> list[Entry]:
    """Returns the first cheat for each defence."""
    seen: set[str] = set()
    first = []
    for entry in cheats:
        if not seen.issuperset(entry.caught_by):
            first.append(entry)
        seen.update(entry.caught_by)
    return first


def _with_marks() -> list[Any]:
    """Returns all entries; the default run judges only one honest entry, and the first cheat for each defence."""
    quick = {*QUICK, *map(str, _first_of_each(CHEATS))}
    others = [entry for entry in CHEATS if str(entry) not in quick]
    in_ci = {str(entry) for entry in [*HONEST[::4], *others[::3]]} - LONG | IN_CI

    def marks(name: str) -> Any:
        return () if name in quick else THOROUGH if name in in_ci else FULL

    return [pytest.param(entry, marks=marks(str(entry))) for entry in [*HONEST, *CHEATS, *STYLES]]


def _held_by_defences() -> list[Entry]:
    """Returns cheats that pass without their defences: in .ci/full all, in CI a fifth of the first for each defence."""
    held = [entry for entry in CHEATS if entry.caught_by and entry.verdict != "ok"]
    return held if IS_FULL else _first_of_each(held)[::5]


@pytest.mark.parametrize("entry", _with_marks(), ids=str)
def test_every_kernel_comes_to_its_verdict(entry: Entry) -> None:
    report = judge(entry.path.read_bytes(), _task(entry.task))
    got = "ok" if report["verdict"] == "ok" else report["kind"]
    assert got == entry.verdict, report


@THOROUGH
def test_one_core_judges_as_many_do() -> None:
    """Judges on one core. With a thread for each core, XLA would wait for itself in a callback of the interpreter."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        report = Judge()((HERE / "honest" / "matmul" / "accumulates.py").read_bytes(), _task("matmul"))
    finally:
        os.sched_setaffinity(0, cores)
    assert report["verdict"] == "ok", report


@THOROUGH
@pytest.mark.parametrize("entry", _held_by_defences(), ids=str)
def test_a_cheat_passes_where_its_defences_are_broken(entry: Entry) -> None:
    report = judge(entry.path.read_bytes(), _task(entry.task), entry.caught_by)
    assert report["verdict"] == "ok", report


def test_every_defence_is_broken_once() -> None:
    assert {name for entry in CHEATS for name in entry.caught_by} == set(DEFENCES)


@THOROUGH
def test_a_forged_program_is_not_the_one_that_is_judged() -> None:
    path, task = HERE / "cheats" / "matmul" / "forged_program.py", _task("matmul")
    forged = path.read_bytes()
    honest = forged.replace(b"\n_forge()\n", b"\n")
    assert honest != forged
    right = judge(honest, task, ("imports",))["programs"]
    assert judge(forged, task, ("imports",))["programs"] == right
    # The forgery shows only in the program for a TPU. The contract finds that this program does nothing.
    assert judge(forged, task, ("imports", "one_jaxpr", "surroundings"))["kind"] == "contract"
    report = judge(forged, task, ("imports", "one_jaxpr", "surroundings", "inside"))
    assert report["verdict"] == "ok"
    assert report["programs"] != right
