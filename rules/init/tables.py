"""`evolve import tokamax TABLE --name KERNEL`: tuned block sizes of a module's tables become a kernel's tuned.json.

The module has dictionaries in the style of tokamax and marin:

    TUNED_BLOCK_SIZES = {"TPU v5p": {("bfloat16", "small-vocab"): BlockSizes(b_block_size=1024, …), …}, …}
    SHAPE_BUCKETS = [ShapeBucket(name="small-vocab", b_min=512, b_max=2048, …), …]

Modules of tpu-inference and JSON files of tokamax are read, too (table_forms.py). A module is read, and not run. A
field goes to the parameter of the same letter (b_block_size, BLOCK_B), and a range goes to the dimension (b_min and
b_max, B). An entry's bucket is that of the range's middle, because a search in tuned.json takes the nearest bucket.
Sizes that were tuned for another kernel are only a beginning for this one. So an entry has the kind "told", and no
times.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeGuard

from init.source import Wrong, one_line
from init.table_forms import DEFAULT_DEVICE, json_rows, module_rows
from init.table_module import Module
from init.table_rows import Row

_STEM = re.compile(r"_?(?:block|tile)s?_?(?:size)?_?")
_FORMAT = "evolve-tuned-1"  # kernels/tuned.py


def rows_of(path: Path, inputs: Sequence[tuple[str, Sequence[str]]] = ()) -> list[Row]:
    """Returns all entries of a table; `inputs`: the kernel's arrays, with the names of their axes. Raises Wrong."""
    try:
        return json_rows(path, inputs) if path.suffix == ".json" else _rows_of(Module(path))
    except (RecursionError, MemoryError) as error:
        raise Wrong(f"{path}: it is nested too deeply") from error
    except ValueError as error:
        # An integer has too many digits to be shown.
        raise Wrong(f"{path}: {error}") from error


def _range(module: Module, node: ast.expr, fields: dict[str, Any], letter: str) -> tuple[int, int]:
    """Returns the bounds of a bucket's dimension."""
    least, most = (fields.get(f"{letter}_{end}") for end in ("min", "max"))
    if type(least) is not int or type(most) is not int or not 0 <= least <= most < 2**63:
        raise module.wrong(node, f"'{one_line(letter)}' has no bounds: expected whole numbers, the smaller first")
    return least, most


def _rows_of(module: Module) -> list[Row]:
    path = module.path
    table = module.first(lambda name, value: name.upper().startswith("TUNED") and isinstance(value, ast.Dict))
    buckets = module.first(lambda name, value: "BUCKET" in name and isinstance(value, (ast.List, ast.Tuple)))
    if not isinstance(table, ast.Dict):
        raise Wrong(f"{path}: no dictionary TUNED_…")
    if not isinstance(buckets, (ast.List, ast.Tuple)):
        return module_rows(module, table)
    ranges: dict[str, dict[str, tuple[int, int]]] = {}
    for node in buckets.elts:
        fields = module.fields(node)
        letters = [name.removesuffix("_min") for name in fields if name.endswith("_min")]
        if not isinstance(name := fields.get("name"), str):
            raise module.wrong(node, "expected a bucket with a name, a text")
        ranges[name] = {one: _range(module, node, fields, one) for one in letters}
    found = []
    for device, entries in zip(table.keys, table.values, strict=True):
        if device is None or not isinstance(entries, ast.Dict):
            raise module.wrong(entries, "expected a dictionary of a device's entries")
        for key, sizes in zip(entries.keys, entries.values, strict=True):
            pair = module.value(key) if key is not None else None
            if not _is_pair(pair) or pair[1] not in ranges:
                shown = one_line(ast.unparse(key)) if key is not None else "None"
                raise module.wrong(entries, f"{shown} is not a pair of a dtype and a known bucket")
            fields = module.fields(sizes)
            odd = [name for name, size in fields.items() if type(size) is not int]
            if odd:
                raise module.wrong(sizes, f"'{one_line(odd[0])}' is not a whole number")
            found.append(Row(module.device(device), pair[0], ranges[pair[1]], fields))
    return found


def _is_pair(found: Any) -> TypeGuard[tuple[str, str]]:
    """Whether a value is a pair of texts, the first of which is printable."""
    is_of_texts = isinstance(found, tuple) and len(found) == 2 and all(isinstance(one, str) for one in found)
    return is_of_texts and found[0].isprintable()


def _stem(name: str) -> str:
    return _STEM.sub("", name.lower())


@dataclass(frozen=True)
class Kernel:
    """The part of a spec that a table refers to."""

    parameters: dict[str, tuple[str, set[int]]]  # by their letters: names, and the values that they may have
    dimensions: dict[str, str]  # by their letters

    @staticmethod
    def of(spec: dict[str, Any]) -> Kernel:
        """Reads the kernel of a spec.yaml."""
        parameters = (spec.get("parameters") or {}).items()
        return Kernel(
            {_stem(name): (name, set(one.get("values", []))) for name, one in parameters},
            {str(name).lower(): str(name) for name in spec.get("dimensions") or []},
        )

    def parameter_of(self, field: str) -> str | None:
        """Returns the parameter of a field: BLOCK_M for block_m, tile_m, bm and tm."""
        stem = _stem(field)
        short = stem[1:] if re.fullmatch("[bt][a-z]", stem) else ""
        return next((self.parameters[one][0] for one in (stem, short) if one in self.parameters), None)

    def block_sizes(self, row: Row) -> dict[str, int]:
        """Returns the fields that are parameters."""
        known = {self.parameter_of(field): size for field, size in row.sizes.items()}
        return {name: known[name] for name, _ in sorted(self.parameters.values()) if name in known}

    def refusals(self, row: Row) -> list[str]:
        """Returns the reasons why the row has no meaning for the kernel; empty: it has a meaning."""
        if row.left:
            return [row.left]
        found = [] if row.device.startswith(("TPU", "NVIDIA", "AMD")) else ["they name no device"]
        found += [] if row.dtype else ["they name no dtype"]
        found += [
            f"dimension {name} has no range" for letter, name in self.dimensions.items() if letter not in row.ranges
        ]
        allowed, sizes = dict(self.parameters.values()), self.block_sizes(row)
        odd = [f"{name}={size}" for name, size in sizes.items() if size not in allowed[name]]
        found += [f"{one} is not one of the spec's values" for one in odd]
        return found or ([] if sizes else ["none of their fields is a parameter"])

    def bucket(self, row: Row) -> dict[str, int]:
        """Returns the bucket of the middle of the row's ranges."""
        middle = {name: math.isqrt(math.prod(row.ranges[letter])) for letter, name in self.dimensions.items()}
        return {name: 1 << max(size - 1, 0).bit_length() for name, size in middle.items()}


def entries_of(rows: list[Row], kernel: Kernel, evidence: str, notices: list[str]) -> list[dict[str, Any]]:
    """Returns the rows as entries of a tuned.json; `notices` get the parts without a meaning for the kernel."""
    left = Counter[str]()
    found = []
    for row in rows:
        left.update(
            f"'{one_line(field)}' belongs to no parameter"
            for field in (*row.sizes, *row.dropped)
            if field in row.dropped or kernel.parameter_of(field) is None
        )
        refused = kernel.refusals(row)
        left.update(f"entries are left out: {reason}" for reason in refused)
        if refused:
            continue
        found.append(
            {
                "device": row.device,
                "dtype": row.dtype,
                "bucket": kernel.bucket(row),
                "block_sizes": kernel.block_sizes(row),
                "kind": "told",
                "times": [],
                "evidence": evidence,
            }
        )
    notices.extend(f"{reason} ({count} of {len(rows)})" for reason, count in left.items())
    return found


def _inputs_of(spec: dict[str, Any]) -> list[tuple[str, list[str]]]:
    """Returns a spec's inputs, and the axes of their shapes."""
    return [
        (str(name), [str(axis) for axis in one.get("shape", [])]) for name, one in (spec.get("inputs") or {}).items()
    ]


def _key(entry: dict[str, Any]) -> str:
    return json.dumps([entry["device"], entry["dtype"], entry["bucket"]], sort_keys=True)


def main(argv: list[str]) -> int:
    """Writes the table; prints how many entries, as JSON."""
    parser = argparse.ArgumentParser(prog="tables")
    parser.add_argument("--from", dest="origin", required=True)
    for flag in ("--kernel", "--spec", "--table"):
        parser.add_argument(flag, required=True)
    args = parser.parse_args(argv)
    path, table = Path(args.origin), Path(args.table)
    notices: list[str] = []
    try:
        spec = json.loads(args.spec)
        rows = rows_of(path, _inputs_of(spec))
        if rows and not any(row.device for row in rows):
            notices.append(f"the table names no device: its entries are taken for {DEFAULT_DEVICE}")
            rows = [replace(row, device=DEFAULT_DEVICE) for row in rows]
        if rows and not any(row.dtype for row in rows):
            dtype = str(next(iter((spec.get("inputs") or {"": {}}).values())).get("dtype", ""))
            notices.append(f"the table names no dtype: its entries are taken for {dtype}")
            rows = [replace(row, dtype=dtype) for row in rows]
        if not rows:
            raise Wrong(f"{path}: the table has no entries")
        evidence = hashlib.sha256(path.read_bytes()).hexdigest()[:32]
        entries = entries_of(rows, Kernel.of(spec), evidence, notices)
        if not entries:
            raise Wrong(f"{path}: no entry applies to '{args.kernel}': {'; '.join(notices)}")
    except Wrong as why:
        print(f"tables: {one_line(str(why), 1000)}", file=sys.stderr)
        return 2
    known = json.loads(table.read_text())["entries"] if table.exists() else []
    # Known entries stay, because nobody has measured the new entries here.
    ours = {_key(one): one for one in known}
    merged = {_key(one): one for one in entries} | ours
    added = len(merged) - len(ours)
    text = {"format": _FORMAT, "kernel": args.kernel, "entries": [merged[key] for key in sorted(merged)]}
    table.write_text(json.dumps(text, indent=2, sort_keys=True) + "\n")
    print(json.dumps({"table": str(table), "entries": added, "notices": notices}))
    return 0
