"""A row of a table of tuned block sizes, whatever form the table has."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """Block sizes for a device, a dtype and a range of sizes, as the table has them."""

    device: str
    dtype: str
    ranges: dict[str, tuple[int, int]]  # by the names of dimensions, in small letters
    sizes: dict[str, int]  # by the names of fields
    dropped: tuple[str, ...] = ()  # fields that are not whole numbers
    left: str = ""  # why the row cannot be used; empty: no reason is known
