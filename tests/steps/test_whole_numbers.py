"""Tests that whole numbers are drawn as a spec says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from judge import judge_inputs, whole_numbers
from judge.judge_inputs import SETS

SHAPE = [6, 12]


def _drawn(drawn: Any, **terms: Any) -> np.ndarray[Any, Any]:
    entry = {"name": "ids", "shape": SHAPE, "dtype": "int32", **terms}
    return judge_inputs.draw({"inputs": [entry], "outputs": []}, drawn, "secret")[0]


@pytest.mark.parametrize("drawn", SETS, ids=lambda one: one.name)
def test_values_are_what_the_spec_says_on_every_set(drawn: Any) -> None:
    along = {"sum": 40, "range": [0, 40]}
    np.testing.assert_array_equal(_drawn(drawn, **along).sum(axis=-1), 40)
    capped = _drawn(drawn, **(along | {"range": [1, 5]}))
    np.testing.assert_array_equal(capped.sum(axis=-1), 40)
    assert capped.min() >= 1
    assert capped.max() <= 5
    ordered = _drawn(drawn, **{"range": [0, 40], "are": ["sorted"]})
    assert (np.diff(ordered, axis=-1) >= 0).all()
    pages = _drawn(drawn, **{"range": [3, 15], "are": ["distinct"]})
    assert all(len(set(line)) == SHAPE[-1] for line in pages.tolist())
    assert pages.min() >= 3
    assert pages.max() <= 15
    assert (np.diff(_drawn(drawn, **{"range": [0, 20], "are": ["distinct", "sorted"]}), axis=-1) > 0).all()


def test_groups_are_empty_and_full_at_the_ends() -> None:
    ends = {drawn.name: _drawn(drawn, sum=40, range=[0, 40]) for drawn in SETS}
    assert ends["lowest"].tolist() == [[40] + [0] * 11] * 6
    assert ends["highest"].tolist() == [[0] * 11 + [40]] * 6
    # In the set "normal", some groups are empty, and no two lines are the same.
    assert (ends["normal"] == 0).any()
    assert len({tuple(line) for line in ends["normal"].tolist()}) == 6
    assert _drawn(SETS[0], range=[0, 9]).max() == 9
    floats = {"inputs": [{"name": "x", "shape": SHAPE, "dtype": "float32", "are": ["sorted"]}]}
    assert (np.diff(judge_inputs.draw(floats)[0], axis=-1) >= 0).all()


@pytest.mark.parametrize("secret", "abcdef")
def test_groups_are_empty_between_full_ones(secret: str) -> None:
    drawn = next(one for one in SETS if one.name == "sparse")
    shape = {"dtype": "int32", "range": [0, 8]}
    inputs = [
        {"name": "ids", "shape": [200], "are": ["sorted"], **shape},
        {"name": "sizes", "shape": [9], "sum": 200, **shape, "range": [0, 200]},
        {"name": "keys", "shape": [9], **shape, "range": [-(2**31), 2**31 - 1]},
    ]
    ids, sizes, keys = judge_inputs.draw({"inputs": inputs, "outputs": []}, drawn, secret)
    for full in (np.unique(ids), np.flatnonzero(sizes)):
        assert 2 <= full.size <= 7
        assert np.diff(full).max() > 1
    assert 2 <= len(np.unique(keys)) <= 8


SIZES = {"name": "sizes", "shape": [8], "dtype": "int32", "range": [0, 40], "sum": 40}


def _by_formula(text: str, shape: list[int], drawn: Any = SETS[1]) -> tuple[Any, Any]:
    entry = {"name": "it", "shape": shape, "dtype": "int32", "values": {"text": text, "dims": {"M": 40, "G": 8}}}
    sizes, found = judge_inputs.draw({"inputs": [SIZES, entry]}, drawn, "secret")
    assert found.dtype == np.int32
    whole = judge_inputs.draw_whole({"inputs": [SIZES, entry]})
    assert [None if one is None else one.shape for one in whole] == [sizes.shape, found.shape]
    return sizes, found


def test_an_input_is_what_its_formula_makes_of_those_before_it() -> None:
    for drawn in SETS:
        sizes, starts = _by_formula("concatenate(0, cumsum(sizes))", [9], drawn)
        assert starts.tolist() == [0, *np.cumsum(sizes).tolist()]
    sizes, ids = _by_formula("repeat(arange(G), sizes)", [40])
    assert ids.tolist() == np.repeat(np.arange(8), sizes).tolist()
    sizes, places = _by_formula("argsort(argsort(-sizes))", [8])
    assert sorted(places.tolist()) == list(range(8))
    sizes, kept = _by_formula("where(sizes >= 4, minimum(sizes, M // 8), -1)", [8])
    assert kept.tolist() == [min(size, 5) if size >= 4 else -1 for size in sizes.tolist()]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cumsum(sizes)", "its values have the shape [8], not [9]"),
        ("cumsum(later)", "it has no value: KeyError: 'later'"),
        ("open(sizes)", "it has no value: KeyError: 'open'"),
        ("sizes.tobytes()", "'sizes.tobytes()' is not allowed in a formula"),
        ("cumsum(sizes", "it has no value: SyntaxError"),
    ],
)
def test_a_formula_without_such_values_is_told(text: str, said: str) -> None:
    with pytest.raises(whole_numbers.Unsound) as found:
        _by_formula(text, [9])
    assert str(found.value).startswith(f"the values of the input 'it': {said}")
