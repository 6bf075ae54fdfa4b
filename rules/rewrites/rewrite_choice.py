"""The choice of a round's rewrites, drawn from the legal ones of its parents, kinds first. Pure; the same anywhere."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rewrites.rewrite_record import Rewrite
from rewrites.rewrites import canonical, rewrites

# If no rewrite of a parent is left, at most this many of its rewrites are rewritten once more.
_MAX_FIRSTS = 16


@dataclass(frozen=True)
class Parent:
    """A survivor of the round before, or the seed."""

    id: str
    text: str


@dataclass(frozen=True)
class Proposal:
    """A rewrite that is tried in a place of the round."""

    parent: Parent
    note: str
    text: str
    source: str  # the digest of its canonical source


class Draws:
    """Numbers that follow from a random seed, a round and a place; the same on every machine."""

    def __init__(self, *names: int) -> None:
        self._name = ".".join(map(str, names))
        self._count = 0

    def below(self, bound: int) -> int:
        """Returns a number from 0 to before `bound`. It is made from 256 bits, so hardly any number is favoured."""
        self._count += 1
        digest = hashlib.sha256(f"{self._name}/{self._count}".encode()).digest()
        return int.from_bytes(digest, "big") % bound


def source_digest(text: str) -> str:
    """Returns the SHA-256 of the canonical source, in hex; or of the text itself, if it is not Python."""
    with contextlib.suppress(SyntaxError, ValueError, RecursionError):
        text = canonical(text)
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()


# A function that decides from both texts whether a rewrite of a parent may be proposed.
Permits = Callable[[str, str], bool]


def propose(
    parents: Sequence[Parent],
    round_: int,
    places: Sequence[int],
    random_seed: int,
    known: set[str],
    permits: Permits = lambda parent, text: True,
) -> list[Proposal]:
    """Returns a proposal for each place, made from its parent; none is known, all differ, and all are permitted.

    If no rewrite of a parent is left, rewrites of its rewrites are tried; then the parent is repeated.
    """
    known = known | {source_digest(parent.text) for parent in parents}
    singles = {parent.id: _by_digest(parent.text) for parent in parents}
    out = []
    for parent, place in zip(parents, places, strict=True):
        draws = Draws(random_seed, round_, place)
        proposal = _draw(parent, "", singles[parent.id], known, draws, permits)
        proposal = proposal or _draw_pair(parent, singles[parent.id], known, draws, permits)
        if proposal is None:
            note = f"nothing new is left: repeats {parent.id}"
            proposal = Proposal(parent, note, parent.text, source_digest(parent.text))
        known.add(proposal.source)
        out.append(proposal)
    return out


_Rewrites = dict[str, list[tuple[str, Rewrite]]]


def _by_digest(text: str) -> _Rewrites:
    """Returns the rewrites of a source by kind, each with its digest."""
    return {kind: [(source_digest(one.text), one) for one in found] for kind, found in rewrites(text).items()}


def _draw(
    parent: Parent, before: str, found: _Rewrites, known: set[str], draws: Draws, permits: Permits
) -> Proposal | None:
    """Draws a kind with new rewrites, each with the same chance, and a rewrite of it, until one is permitted."""
    new = {kind: [one for one in of_kind if one[0] not in known] for kind, of_kind in found.items()}
    while kinds := [kind for kind, of_kind in new.items() if of_kind]:
        of_kind = new[kinds[draws.below(len(kinds))]]
        drawn = of_kind[draws.below(len(of_kind))]
        digest, rewritten = drawn
        if permits(parent.text, rewritten.text):
            return Proposal(parent, before + rewritten.description, rewritten.text, digest)
        of_kind.remove(drawn)
    return None


def _draw_pair(parent: Parent, found: _Rewrites, known: set[str], draws: Draws, permits: Permits) -> Proposal | None:
    """Draws a rewrite of a rewrite. The first of the two is drawn like a single one, whether known or not."""
    used: set[str] = set()
    for _ in range(_MAX_FIRSTS):
        first = _draw(parent, "", found, used, draws, permits)
        if first is None:
            return None
        used.add(first.source)
        second = _draw(parent, f"{first.note}; ", _by_digest(first.text), known, draws, permits)
        if second is not None:
            return second
    return None
