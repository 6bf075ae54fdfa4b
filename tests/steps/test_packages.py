"""Tests of the packages of rules/: the arrows between them, and that no imports form a circle."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

from conftest import RULES

# The other packages that each package may import: the table of rules/README.md.
ARROWS = {
    "source": set(),
    "process": set(),
    "reports": {"process"},
    "programs": {"process", "reports", "source"},
    "interpreter": {"programs"},
    "judge": {"interpreter", "process", "programs", "reports"},
    "rewrites": {"judge", "process", "programs", "source"},
    "traces": {"reports"},
    "delivery": {"judge", "process", "programs", "reports", "source"},
    "steps": {"interpreter", "judge", "process", "programs", "reports", "rewrites", "source"},
    "init": {"judge", "programs", "reports"},
}


def _modules() -> dict[str, Path]:
    """Returns the modules' files by their names, for example "judge.mosaic"."""
    return {f"{path.parent.name}.{path.stem}": path for path in RULES.glob("*/*.py") if path.stem != "__init__"}


def _names_in(path: Path) -> Iterator[str]:
    """Yields the names that a file may import, anywhere in the file: for `from a import b`, both "a" and "a.b"."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


MODULES = _modules()
IMPORTS = {name: {other for other in _names_in(path) if other in MODULES} for name, path in MODULES.items()}


def test_every_module_is_in_a_package() -> None:
    assert {path.name for path in RULES.glob("*.py")} == {"__main__.py"}
    assert {path.parent.name for path in MODULES.values()} == set(ARROWS)
    assert all((RULES / package / "__init__.py").is_file() for package in ARROWS)


def test_an_empty_package_has_only_its_subject() -> None:
    for package in ARROWS:
        (only,) = ast.parse((RULES / package / "__init__.py").read_text(encoding="utf-8")).body
        assert isinstance(only, ast.Expr), package


def test_the_arrows_between_packages_are_those_of_the_table() -> None:
    found: dict[str, set[str]] = {package: set() for package in ARROWS}
    for name, others in IMPORTS.items():
        package = name.partition(".")[0]
        found[package] |= {other.partition(".")[0] for other in others} - {package}
    assert found == ARROWS


def test_no_imports_go_round_in_a_circle() -> None:
    assert len(list(TopologicalSorter(ARROWS).static_order())) == len(ARROWS)
    assert len(list(TopologicalSorter(IMPORTS).static_order())) == len(MODULES)


def test_a_step_program_is_imported_by_none() -> None:
    assert not {other for others in IMPORTS.values() for other in others if other.startswith("steps.")}
    assert all(
        "\ndef main(argv: list[str]) -> int:\n" in MODULES[name].read_text()
        for name in MODULES
        if name.startswith("steps.")
    )
