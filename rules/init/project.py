"""The place of a new kernel in a project: its folder, its files, and the report on it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from init.source import Wrong
from init.trial import Refusal


@dataclass(frozen=True)
class Place:
    """The place of a new kernel."""

    root: Path
    name: str

    @property
    def folder(self) -> Path:
        """The kernel's own folder."""
        return self.root / "kernels" / self.name

    @property
    def pipeline(self) -> Path:
        """The pipeline of its first campaign."""
        return self.root / "pipelines" / f"{self.name}-v7x.yaml"

    def from_pipeline(self, file: str) -> str:
        """Returns the path of a file of the folder, as the pipeline names it."""
        return os.path.relpath(self.folder / file, self.pipeline.parent)

    @property
    def proposals(self) -> Path:
        """The folder of people's proposals."""
        return self.pipeline.with_name(f"{self.pipeline.stem}-proposals")

    def check_free(self) -> None:
        """Raises Wrong if a file or folder would be overwritten."""
        for path in (self.folder, self.pipeline):
            if path.exists():
                raise Wrong(f"{path} exists already")

    def write(self, files: dict[str, str]) -> None:
        """Writes files by their names in the folder, and the pipeline by the name ""."""
        self.folder.mkdir(parents=True)
        for name, text in files.items():
            target = self.pipeline if not name else self.folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)

    def report(self, sizes: dict[str, int], files: dict[str, str], refused: Refusal | None) -> dict[str, Any]:
        """Returns the report that `evolve` shows."""
        return {
            "name": self.name,
            "folder": str(self.folder),
            "pipeline": str(self.pipeline),
            "dimensions": sizes,
            "files": sorted(name for name in files if name),
            **({"refused": refused._asdict()} if refused else {}),
        }
