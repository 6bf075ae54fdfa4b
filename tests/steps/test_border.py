"""Tests of facts that C++ and Python both state: the two sides agree."""

from __future__ import annotations

import re

import pytest
from conftest import ROOT, RULES

from init import imports, tables
from judge import outside, whole_numbers
from source import normalise
from steps import measure


def _text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def _said(path: str, pattern: str) -> str:
    """Returns the group of the only match of a pattern in a file."""
    found = re.findall(pattern, _text(path), re.DOTALL)
    assert len(found) == 1, f"{path}: {pattern}: {len(found)} matches"
    return str(found[0])


TUNED = _said("kernels/tuned.py", r'\nFORMAT = "([^"]*)"\n')


def _words(path: str, pattern: str) -> set[str]:
    return set(re.findall(r'"(\w+)"', _said(path, pattern)))


@pytest.mark.parametrize(
    ("path", "name", "here"),
    [
        ("engine/campaign/target.cc", r"\.protocol", measure.PROTOCOL),
        ("engine/campaign/tuned.cc", "kFormat", TUNED),
        ("engine/search/proposal/mutation.h", "kBlockStart", normalise.START),
        ("engine/search/proposal/mutation.h", "kBlockEnd", normalise.END),
    ],
)
def test_a_word_is_the_same_on_both_sides(path: str, name: str, here: str) -> None:
    assert _said(path, rf'{name} = "([^"]*)"') == here


def test_samples_are_in_the_format_that_is_read() -> None:
    assert _said("engine/search/selection/decision.cc", r'"format", json\(\)\) != "([^"]*)"') == measure.FORMAT


def test_tables_are_imported_in_the_format_of_tuned_sizes() -> None:
    assert tables._FORMAT == TUNED


@pytest.mark.parametrize(
    ("name", "here"), [("min_flops", imports._LEAST_INSIDE), ("max_outside_flops", imports._MOST_OUTSIDE)]
)
def test_the_defaults_of_a_contract_are_the_same(name: str, here: float) -> None:
    assert float(_said("engine/campaign/spec.h", rf"double {name} = ([0-9.]+);")) == here


def test_a_source_may_be_equally_large() -> None:
    assert 1 << int(_said("engine/steps/adopt.cc", r"kLargestSource = 1 << (\d+);")) == normalise._MOST_BYTES


def test_formulas_have_the_same_functions() -> None:
    known = _words(
        "engine/campaign/spec_values.cc", r"whole_numbers\.py\.\n\s*std::vector<std::string> known = {(.*?)};"
    )
    assert known == set(whole_numbers._FUNCTIONS)


def test_a_contract_has_the_same_words_for_what_is_outside_of_kernels() -> None:
    assert _words("engine/campaign/spec.cc", r"known_outside\(\) {(.*?)};") == set(outside.WORDS)


def test_the_programs_of_the_steps_are_those_that_edges_run() -> None:
    named = set(
        re.findall(r'{\.name = "(\w+)", \.program = Program::python', _text("engine/campaign/generator/step_edge.cc"))
    )
    ruled = set(
        re.findall(r"^rule (\w+)\n  command = \$python_word \$arguments$", _text("rules/steps.ninja"), re.MULTILINE)
    )
    assert named == ruled == {path.stem for path in (RULES / "steps").glob("*.py")} - {"__init__"}
