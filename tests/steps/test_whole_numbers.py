"""Whole numbers are drawn as a spec says them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import judge_inputs
from judge_inputs import SETS

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
    # Of others, some groups are empty, and no two lines are alike.
    assert (ends["normal"] == 0).any()
    assert len({tuple(line) for line in ends["normal"].tolist()}) == 6
    assert _drawn(SETS[0], range=[0, 9]).max() == 9
    floats = {"inputs": [{"name": "x", "shape": SHAPE, "dtype": "float32", "are": ["sorted"]}]}
    assert (np.diff(judge_inputs.draw(floats)[0], axis=-1) >= 0).all()
