"""The result of a transformation: a rewritten source, and a line that says how it differs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from source.source_text import Edit, Source


@dataclass(frozen=True)
class Rewrite:
    """A rewritten source, and one short line that says how it differs."""

    description: str
    text: str


def rewrite(source: Source, description: str, edits: Iterable[Edit]) -> Iterator[Rewrite]:
    """Yields the source with the edits made; nothing without edits, or if one of them leaves the EVOLVE block."""
    edits = list(edits)
    text = source.edited(edits) if edits else None
    if text is not None and text != source.text:
        yield Rewrite(description, text)
