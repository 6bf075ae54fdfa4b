"""Tests that a rewrite is not proposed if the contract would surely refuse it."""

from __future__ import annotations

from typing import Any

from conftest import FORKS
from rewritten import WHOLE_CONTRACTED

from rewrites.rewrite_choice import Parent, propose
from rewrites.rewrite_contract import Case, Permits
from rewrites.rewrites import rewrites

TERMS = {"outside": [], "operand": "bfloat16", "is_operand_said": False, "accumulator": "float32"}


def signature(m: int, n: int, k: int) -> dict[str, Any]:
    arrays = [("x", [m, k]), ("y", [k, n])]
    inputs = [{"name": name, "shape": shape, "dtype": "bfloat16"} for name, shape in arrays]
    return {"inputs": inputs, "outputs": [{"name": "out", "shape": [m, n], "dtype": "bfloat16"}]}


def permits(contracted: int, entry: str = "matmul") -> Permits:
    """Returns the permissions of a small checked case with this contracted dimension, and of a large timed case."""
    cases = [
        Case("check", signature(256, 256, contracted), TERMS, True),
        Case("timed", signature(2048, 2048, 1024), TERMS, False),
    ]
    return Permits(entry, cases)


def proposed(permitted: Permits) -> list[str]:
    """Returns the notes of the rewrites that nine places of a round get."""
    parent = Parent("v0000", WHOLE_CONTRACTED)
    return [one.note for one in propose([parent] * 9, 1, range(9), 1, set(), permitted.permits)]


REFUSED = ["contracted in 2 parts", "contracted in 4 parts"]


@FORKS
def test_what_no_checked_case_would_show_is_not_proposed() -> None:
    notes = proposed(permits(256))
    assert not [note for note in notes if any(words in note for words in REFUSED)]
    assert any("a loop over 2 parts" in note for note in notes)
    assert len(set(notes)) == 9


@FORKS
def test_it_is_proposed_where_a_checked_case_takes_the_same_way() -> None:
    permitted = permits(1024)
    in_parts = {one.description: one.text for one in rewrites(WHOLE_CONTRACTED)["parts"]}
    for words in REFUSED:
        (text,) = (text for note, text in in_parts.items() if words in note)
        assert permitted.permits(WHOLE_CONTRACTED, text)


@FORKS
def test_a_rewrite_that_cannot_be_traced_is_not_proposed() -> None:
    permitted = permits(256)
    broken = WHOLE_CONTRACTED.replace("preferred_element_type=jnp.float32", "preferred_element_type=jnp.float33")
    assert not permitted.permits(WHOLE_CONTRACTED, broken)


@FORKS
def test_the_parents_program_in_other_words_is_not_proposed() -> None:
    permitted = permits(256)
    same = WHOLE_CONTRACTED.replace("(128, 128), lambda i, j: (i, j)", "(64 + 64, 128), lambda i, j: (i, j)")
    assert same != WHOLE_CONTRACTED
    assert not permitted.permits(WHOLE_CONTRACTED, same)


@FORKS
def test_rewrites_of_a_kernel_that_is_refused_itself_are_not_held_against_it() -> None:
    permitted = permits(256, entry="other")
    (rewritten,) = rewrites(WHOLE_CONTRACTED)["operand order"]
    assert permitted.permits(WHOLE_CONTRACTED, rewritten.text)
