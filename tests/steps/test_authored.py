"""Tests of a variant in the words of the seed's author: unchanged code keeps its comments, docstrings and layout."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from conftest import ROOT

from delivery.authored import authored
from source.normalise import canonical

SEED = '''\
"""What it is."""
import jax  # the library

# How large blocks are.
BLOCK_M = 128   # rows
BLOCK_N = (
    256
)


def kernel(x_ref, o_ref, *,
           scale):
    """One block.

    And more.
    """
    # The scale comes first.
    x = x_ref[...] * scale
    y = x + 1  # one

    if scale:  # never 0
        o_ref[...] = y


@jax.jit
def run(x):
    return kernel(x, x, scale=2)   # twice
'''


def _as_made(*changes: tuple[str, str]) -> str:
    """Returns the canonical seed with these changes, as a campaign makes it."""
    text = canonical(SEED, "")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


def test_what_did_not_change_is_the_authors() -> None:
    assert authored(SEED, _as_made()) == SEED


@pytest.mark.parametrize(
    ("change", "old", "new"),
    [
        (("BLOCK_M = 128", "BLOCK_M = 512"), "BLOCK_M = 128   # rows", "BLOCK_M = 512   # rows"),
        (("BLOCK_N = 256", "BLOCK_N = 64"), "BLOCK_N = (\n    256\n)\n", "BLOCK_N = 64\n"),
        (("y = x + 1", "y = x + 2"), "y = x + 1  # one", "y = x + 2  # one"),
        (("y = x + 1", "y = x + 1\n    y = 2 * y"), "# one\n", "# one\n    y = 2 * y\n"),
        (("    y = x + 1\n", ""), "    y = x + 1  # one\n", ""),
        (("o_ref[...] = y", "o_ref[...] = x"), "o_ref[...] = y", "o_ref[...] = x"),
        (("import jax\n", "import jax\nimport math\n"), "# the library\n", "# the library\nimport math\n"),
        (("scale=2)", "scale=3)"), "scale=2)   # twice", "scale=3)   # twice"),
    ],
)
def test_what_changed_is_the_variants(change: tuple[str, str], old: str, new: str) -> None:
    variant = _as_made(change)
    text = authored(SEED, variant)
    assert text == SEED.replace(old, new, 1)
    assert canonical(text, "") == canonical(variant, "")


def test_what_a_model_wrote_beside_its_code_stays() -> None:
    variant = canonical(SEED, "").replace("    y = x + 1\n", "    # A better way:\n    y = (x\n         + 2)  # two\n")
    assert "    y = (x\n         + 2)  # two\n" in authored(SEED, variant)


@pytest.mark.parametrize(
    ("block", "made", "told"),
    [
        ("A = 1  # one\n", "NEW = 4\nA = 1\n", "NEW = 4\nA = 1  # one\n"),
        ("", "NEW = 4\n", "NEW = 4\n"),
        ("A = 1  # one\n", "A = 1\nNEW = 4\n", "A = 1  # one\nNEW = 4\n"),
    ],
)
def test_what_is_new_stays_in_the_block_that_it_is_in(block: str, made: str, told: str) -> None:
    around = "import jax  # it\n\n# EVOLVE-BLOCK-START\n{}# EVOLVE-BLOCK-END\n\nlast = 1  # the last\n"
    variant = f"import jax\n# EVOLVE-BLOCK-START\n{made}# EVOLVE-BLOCK-END\nlast = 1\n"
    assert authored(around.format(block), variant) == around.format(told)


def test_a_body_of_a_docstring_alone_may_get_another() -> None:
    seed = 'class Bad(Exception):\n    """It is bad."""\n'
    variant = "class Bad(Exception):\n    text = 1\n"
    assert canonical(authored(seed, variant), "") == canonical(variant, "")


@pytest.mark.parametrize("variant", ["x = (", "", "def kernel(): pass\n", "x = 1; y = 2\n"])
def test_who_has_nothing_of_the_seed_is_as_it_is(variant: str) -> None:
    text = authored(SEED, variant)
    assert text == variant or canonical(text, "") == canonical(variant, "")


@pytest.mark.parametrize("path", sorted((ROOT / "kernels").glob("*/kernel.py")), ids=lambda path: path.parent.name)
def test_our_own_kernels_keep_their_text(path: Path) -> None:
    seed = path.read_text()
    assert authored(seed, canonical(seed, "")) == seed
    # Changes each number in the kernel's own lines.
    for node in ast.parse(seed).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, int):
            name = ast.unparse(node.targets[0])
            made = re.sub(rf"^{name} = .*$", f"{name} = 7", canonical(seed, ""), flags=re.M)
            text = authored(seed, made)
            changed = [one for one, other in zip(text.splitlines(), seed.splitlines(), strict=True) if one != other]
            assert [line.split("=")[0].strip() for line in changed] == [name]
