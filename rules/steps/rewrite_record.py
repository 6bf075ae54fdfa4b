"""What a transformation gives: a source rewritten, and a line that says how."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from source_text import Edit, Source


@dataclass(frozen=True)
class Rewrite:
    """A rewritten source, and in one short line how it differs."""

    description: str
    text: str


def rewrite(source: Source, description: str, edits: Iterable[Edit]) -> Iterator[Rewrite]:
    """The source with the edits made; nothing where there are none, or one is not within the EVOLVE block."""
    edits = list(edits)
    text = source.edited(edits) if edits else None
    if text is not None and text != source.text:
        yield Rewrite(description, text)
