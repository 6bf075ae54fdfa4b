"""The rewrites of a kernel's source, by kind. Pure: the same source, the same rewrites, in the same order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from rewrites.rewrite_record import Rewrite
from rewrites.rewrites_of_call import buffering, grid_orders, semantics
from rewrites.rewrites_of_loop import hoisting, unrolling
from rewrites.rewrites_of_mask import ragged_edges
from rewrites.rewrites_of_product import loops, operand_orders, parts
from rewrites.rewrites_of_sum import accumulators, end_steps, scratch_types
from source import normalise
from source.source_text import Source

KINDS: dict[str, Callable[[Source], Iterator[Rewrite]]] = {
    "grid order": grid_orders,
    "semantics": semantics,
    "buffering": buffering,
    "accumulator": accumulators,
    "end steps": end_steps,
    "scratch type": scratch_types,
    "ragged edge": ragged_edges,
    "parts": parts,
    "loop": loops,
    "operand order": operand_orders,
    "unrolling": unrolling,
    "hoisting": hoisting,
}


@lru_cache(maxsize=256)
def canonical(text: str) -> str:
    """Returns the canonical form, as the step normalise writes it for a variant."""
    return normalise.canonical(text, "kernel.py")


def _all_of(transform: Callable[[Source], Iterator[Rewrite]], source: Source) -> list[Rewrite]:
    """Returns the rewrites of a transformation; nothing if names refer to each other in a circle, or too deeply."""
    try:
        return list(transform(source))
    except RecursionError:
        return []


def rewrites(text: str) -> dict[str, list[Rewrite]]:
    """Returns all legal rewrites of a source, by kind; omits kinds without any. Empty: the source is not understood."""
    try:
        source = Source(text)
        original = canonical(text)
    except (SyntaxError, ValueError, RecursionError):
        return {}
    out: dict[str, list[Rewrite]] = {}
    for kind, transform in KINDS.items():
        found: dict[str, Rewrite] = {}
        for rewritten in _all_of(transform, source):
            try:
                form = canonical(rewritten.text)
            except (SyntaxError, ValueError):
                continue  # a transformation got it wrong; a round has other rewrites
            if form != original:
                found.setdefault(form, rewritten)
        if found:
            out[kind] = list(found.values())
    return out
