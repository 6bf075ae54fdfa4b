"""Block sizes that were found for a kernel, by device, dtype and the sizes of its arrays.

`evolve tune` writes them into a kernel's tuned.json:

    {"format": "evolve-tuned-1", "kernel": "matmul",
     "parameters": {"BLOCK_M": [128, 256, 512, 1024], …}, "constraints": ["BLOCK_M * BLOCK_N <= 1048576", …],
     "entries": [
      {"device": "TPU7x", "dtype": "bfloat16", "bucket": {"M": 8192, "N": 8192, "K": 8192},
       "dtypes": {"x": "bfloat16", "y": "bfloat16"}, "block_sizes": {"BLOCK_M": 1024, …}, "kind": "modelled",
       "times": [{"case": "square_8192", "seconds": 0.00137, "seed_seconds": 0.00373}],
       "rounds": 4, "points": 64, "evidence": "…"}]}

`device` is JAX's `device_kind`, `dtype` that of the kernel's first input. A bucket has each dimension rounded up to a
power of two. `times` are those of the bucket's timed cases, for the tuned kernel and for its seed; `kind` says whether
they were modelled or measured. `rounds` and `points` say how much was searched. `evidence` is the digest of the
selection (engine/search/README.md) that they come from. `parameters` and `constraints` are those of the spec: an entry
that they do not allow is not served, whoever wrote it, and a warning says so. Entries from another system's table
(`evolve import tokamax`) have the kind "told", no times, and the digest of the table as evidence.
"""

from __future__ import annotations

import ast
import functools
import json
import math
import operator
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

FORMAT = "evolve-tuned-1"

# Sizes are not served from a bucket that is further away than this: in powers of two, added over all dimensions.
_FARTHEST = 4.0


def bucket_of(dims: Mapping[str, int]) -> dict[str, int]:
    """Rounds each size up to a power of two."""
    return {name: 1 << max(size - 1, 0).bit_length() for name, size in dims.items()}


def block_sizes(table: Path, device_kind: str, dtype: str, dims: Mapping[str, int]) -> dict[str, int]:
    """Returns the fields of BlockSizes from the sizes' own bucket, or from the nearest one; empty: none is near.

    They have the names of the spec's parameters, in lower case.
    """
    nearest: tuple[float, dict[str, Any]] | None = None
    for entry in _entries(table):
        if (entry["device"], entry["dtype"], entry["bucket"].keys()) != (device_kind, dtype, dims.keys()):
            continue
        far = _distance(bucket_of(dims), entry["bucket"])
        if far <= _FARTHEST and (nearest is None or far < nearest[0]):
            nearest = far, entry
    return {name.lower(): value for name, value in nearest[1]["block_sizes"].items()} if nearest else {}


def _distance(one: Mapping[str, int], other: Mapping[str, int]) -> float:
    return sum(abs(math.log2(one[name] / other[name])) for name in one)


@functools.cache
def _entries(table: Path) -> list[dict[str, Any]]:
    if not table.exists():
        return []
    read = json.loads(table.read_text())
    if read.get("format") != FORMAT:
        raise ValueError(f"{table}: its format is not {FORMAT}")
    found = []
    for entry in read["entries"]:
        why = _refusal(entry["block_sizes"], read.get("parameters", {}), read.get("constraints", []))
        if why:
            warnings.warn(f"{table}: the entry for {entry['bucket']} is not used: {why}", stacklevel=4)
        else:
            found.append(entry)
    return found


def _refusal(sizes: Mapping[str, int], parameters: Mapping[str, list[int]], constraints: list[str]) -> str:
    """Returns why block sizes are not allowed; empty: they are."""
    for name, value in sizes.items():
        if type(value) is not int or value <= 0:
            return f"{name} is {value!r}, which is not a size"
        if name in parameters and value not in parameters[name]:
            return f"{name} is {value}, not one of {', '.join(map(str, parameters[name]))}"
    for constraint in constraints:
        if not _value(ast.parse(_in_python(constraint), mode="eval").body, sizes):
            return f"{constraint} does not hold"
    return ""


_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": min,
    "max": max,
    "abs": abs,
    "cdiv": lambda a, b: -(-a // b),
    "ceil": math.ceil,
    "floor": math.floor,
    "sqrt": math.sqrt,
    "log2": math.log2,
}


def _in_python(formula: str) -> str:
    """Returns a formula of a spec (engine/core/expression.h) in Python; one with "?" is not read here."""
    return formula.replace("&&", " and ").replace("||", " or ").replace("^", "**").strip()


def _value(node: ast.expr, names: Mapping[str, int]) -> Any:
    """Returns the value of a formula."""

    def of(one: ast.expr) -> Any:
        return _value(one, names)

    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATORS[type(op)](of(left), of(right))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -of(operand)
        case ast.BoolOp(op=op, values=values):
            return (all if isinstance(op, ast.And) else any)(of(one) for one in values)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _OPERATORS[type(op)](of(left), of(right))
        case ast.Call(func=ast.Name(id=name), args=args) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*map(of, args))
    raise ValueError(f"{ast.unparse(node)}: not allowed in a formula")
