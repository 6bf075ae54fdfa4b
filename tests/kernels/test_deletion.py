"""Tests that deleting a kernel's folder breaks nothing else."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import FOLDERS, IS_FULL, ROOT

of_all = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)


def imported(path: Path) -> set[str]:
    """Returns the parts of all dotted names that a file imports."""
    words = set[str]()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            words.update(word for one in node.names for word in one.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            words.update((node.module or "").split("."), (one.name for one in node.names))
    return words


@of_all
def test_no_other_file_imports_it(folder: Path) -> None:
    own = {folder / "api.py", ROOT / "tests" / "kernels" / f"test_{folder.name}.py"}
    files = [path for place in ("kernels", "rules", "tests/kernels") for path in (ROOT / place).rglob("*.py")]
    assert [str(path) for path in files if path not in own and folder.name in imported(path)] == []


@of_all
def test_without_it_the_rest_is_found(folder: Path, tmp_path: Path) -> None:
    if not IS_FULL:
        pytest.skip("THOROUGH=all, as in .ci/full")
    for place in ("kernels", "pipelines", "rules", "tests/kernels", "tests/steps"):
        shutil.copytree(ROOT / place, tmp_path / place, ignore=shutil.ignore_patterns(".evolve", "__pycache__"))
    shutil.rmtree(tmp_path / "kernels" / folder.name)
    script = "source pipelines/setup.sh; first_pipeline"
    said = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert folder.name not in said
    assert (tmp_path / said.strip()).is_file()
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "tests/kernels"]
    done = subprocess.run(command, cwd=tmp_path, env=os.environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert (
        f"test_kernels.py::test_every_implementation_gives_what_the_oracle_gives[pallas_interpret-{folder.name}]"
        not in (done.stdout)
    )
