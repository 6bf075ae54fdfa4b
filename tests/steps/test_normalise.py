"""Tests of normalise: which edits change the canonical source, and which do not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import RULES

from source import normalise

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


NO_SOURCES = {
    "a pipe": "a source must be a regular file, but this is a pipe",
    "a device": "a source must be a regular file, but this is a device",
    "a folder": "a source must be a regular file, but this is a folder",
    "too much": "a source may have at most 1024 KiB, but this one has more",
}


def _make(what: str, path: Path) -> None:
    if what == "a pipe":
        os.mkfifo(path)
    elif what == "a device":
        path.symlink_to("/dev/zero")
    elif what == "a folder":
        path.mkdir()
    else:
        with path.open("wb") as file:
            file.truncate(2**40)


def _normalise(*words: str) -> subprocess.CompletedProcess[str]:
    """Runs the step as a program with a limit on its time and memory."""
    limits = ["prlimit", f"--as={2**30}", "timeout", "20"]
    step = [sys.executable, str(RULES / "source" / "normalise.py")]
    return subprocess.run([*limits, *step, *words], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("what", NO_SOURCES)
def test_what_is_no_source_is_said(tmp_path: Path, what: str) -> None:
    kernel, out = tmp_path / "kernel.py", tmp_path / "out.py"
    _make(what, kernel)
    words = ["--source", str(kernel), "--out", str(out)]
    done = _normalise(*words)
    assert (done.returncode, done.stderr) == (2, f"evolve: error: {kernel}: {NO_SOURCES[what]}\n")
    assert not out.exists()
    done = _normalise(*words, "--on-error", "keep", "--markers", *MARKERS)
    assert (done.returncode, done.stderr) == (0, "")
    assert out.read_text() == f"raise SyntaxError('{NO_SOURCES[what]}')\n"


def test_a_link_to_a_source_is_one(tmp_path: Path) -> None:
    kernel, out = tmp_path / "kernel.py", tmp_path / "out.py"
    (tmp_path / "mine.py").write_text(SOURCE)
    kernel.symlink_to("mine.py")
    assert normalise.main(["--source", str(kernel), "--out", str(out)]) == 0
    assert out.read_text() == normalise.canonical(SOURCE, "k")


def test_a_source_that_is_not_there_is_an_error_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--source", str(tmp_path / "k.py"), "--out", str(tmp_path / "out.py"), "--on-error", "keep"]
    assert normalise.main(words) == 2
    assert capsys.readouterr().err == f"evolve: error: {tmp_path / 'k.py'}: No such file or directory\n"


def test_a_seed_without_its_block_is_told_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kernel = tmp_path / "kernel.py"
    kernel.write_text("# EVOLVE-BLOCK-START\nX = 1\n")
    out = tmp_path / "out.py"
    assert normalise.main(["--source", str(kernel), "--out", str(out), "--markers", *MARKERS]) == 2
    error = capsys.readouterr().err
    assert error == f"evolve: error: {kernel}: no EVOLVE block: no comment at the start of a line has '{MARKERS[1]}'\n"
    assert not out.exists()
