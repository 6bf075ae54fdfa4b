"""Normalise: what makes another canonical source, and what does not."""

from __future__ import annotations

import pytest

import normalise

SOURCE = '''"""Doc."""
import os  # why
X = 1


def f(a, b=2):
    """What it does."""
    # how
    return (a +
            b)
'''


def test_comments_docstrings_and_layout_do_not_count() -> None:
    plain = "import os\nX=1\ndef f(a,b = 2): return a+b\n"
    assert normalise.canonical(SOURCE, "k", False) == normalise.canonical(plain, "k", False)


@pytest.mark.parametrize(("find", "replace"), [("X = 1", "X = 2"), ("a +", "a -"), ("b=2", "b=3")])
def test_code_counts(find: str, replace: str) -> None:
    changed = SOURCE.replace(find, replace)
    assert normalise.canonical(SOURCE, "k", False) != normalise.canonical(changed, "k", False)


def test_a_function_of_its_docstring_alone_stays_a_function() -> None:
    assert normalise.canonical('def f():\n    "x"\n', "k", False) == "def f():\n    pass\n"


def test_markers_keep_their_place() -> None:
    source = "import os\n# EVOLVE-BLOCK-START\nX = 1  # note\n# EVOLVE-BLOCK-END\nY = 2\n"
    lines = normalise.canonical(source, "k", True).splitlines()
    assert lines == ["import os", "# EVOLVE-BLOCK-START", "X = 1", "# EVOLVE-BLOCK-END", "Y = 2"]
    assert normalise.canonical(normalise.canonical(source, "k", True), "k", True).splitlines() == lines
