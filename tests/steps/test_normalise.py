"""Normalise: what makes another canonical source, and what does not."""

from __future__ import annotations

from pathlib import Path

import pytest

import normalise

MARKERS = (normalise.START, normalise.END)
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
    assert normalise.canonical(SOURCE, "k") == normalise.canonical(plain, "k")


@pytest.mark.parametrize(("find", "replace"), [("X = 1", "X = 2"), ("a +", "a -"), ("b=2", "b=3")])
def test_code_counts(find: str, replace: str) -> None:
    changed = SOURCE.replace(find, replace)
    assert normalise.canonical(SOURCE, "k") != normalise.canonical(changed, "k")


def test_a_function_of_its_docstring_alone_stays_a_function() -> None:
    assert normalise.canonical('def f():\n    "x"\n', "k") == "def f():\n    pass\n"


def test_markers_keep_their_place() -> None:
    source = "import os\n# EVOLVE-BLOCK-START\nX = 1  # note\n# EVOLVE-BLOCK-END\nY = 2\n"
    lines = normalise.canonical(source, "k", MARKERS).splitlines()
    assert lines == ["import os", "# EVOLVE-BLOCK-START", "X = 1", "# EVOLVE-BLOCK-END", "Y = 2"]
    assert normalise.canonical(normalise.canonical(source, "k", MARKERS), "k", MARKERS).splitlines() == lines


def test_an_author_s_own_markers_become_the_canonical_ones() -> None:
    source = "import os\n# >>> tune\nX = 1\n# <<< tune\n"
    lines = normalise.canonical(source, "k", (">>> tune", "<<< tune")).splitlines()
    assert lines == ["import os", "# EVOLVE-BLOCK-START", "X = 1", "# EVOLVE-BLOCK-END"]


@pytest.mark.parametrize("text", [f"X = {9000 * '-'}1\n", f"X = {'+'.join(600 * 'Y')}\n"])
def test_what_is_nested_too_deeply_is_for_lower_to_judge(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    kernel, out = tmp_path / "kernel.py", tmp_path / "out.py"
    kernel.write_text(text)
    words = ["--source", str(kernel), "--out", str(out)]
    assert normalise.main(words) == 2
    assert capsys.readouterr().err == f"evolve: error: {kernel}: it is nested too deeply\n"
    assert normalise.main([*words, "--on-error", "keep"]) == 0
    assert out.read_text() == text


def test_a_seed_without_its_block_is_told_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kernel = tmp_path / "kernel.py"
    kernel.write_text("# EVOLVE-BLOCK-START\nX = 1\n")
    out = tmp_path / "out.py"
    assert normalise.main(["--source", str(kernel), "--out", str(out), "--markers", *MARKERS]) == 2
    error = capsys.readouterr().err
    assert error == f"evolve: error: {kernel}: no EVOLVE block: no comment at the start of a line has '{MARKERS[1]}'\n"
    assert not out.exists()
