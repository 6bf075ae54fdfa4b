"""Tables of tuned block sizes in the forms of tpu-inference's modules and of tokamax's JSON files.

tpu-inference has four forms. Keys and values are tuples, whose names come from a comment above the table (`# key:`, `#
value:`) or from classes of the module. Or they are calls with fields. Or they are nested dictionaries by device, whose
keys are numbers, or texts such as "q_head-8_kv_head-4". tokamax has `{arguments: {configuration: times}}`, where
arguments and configuration are JSON in texts.
"""

from __future__ import annotations

import ast
import json
import re
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from init.source import Wrong, json_of, one_line
from init.table_module import Module
from init.table_rows import Row

_DTYPES = {
    "bf16": "bfloat16",
    "f16": "float16",
    "f32": "float32",
    "f8e4m3fn": "float8_e4m3fn",
    "f8e5m2": "float8_e5m2",
    **{f"{letter}{bits}": f"{name}{bits}" for letter, name in (("i", "int"), ("u", "uint")) for bits in (4, 8, 16, 32)},
}
_NAMED_DTYPE = re.compile("bfloat16|float(?:8_e4m3fn|8_e5m2|16|32)|u?int(?:4|8|16|32)")
_PAIR = re.compile(r"([A-Za-z][A-Za-z_]*?)[-_](\d+)(?![A-Za-z0-9])")
_ARRAY = re.compile(r"(\w+)\[([\d,]*)\]")
# JAX's names of devices that have other names in tables.
_DEVICES = {"TPU v7": "TPU7x", "TPU v7x": "TPU7x", "TPU v6": "TPU v6 lite", "TPU v6e": "TPU v6 lite"}
_DEVICES |= {"TPU v5e": "TPU v5 lite"}
# The device of a table of tpu-inference that names no device.
DEFAULT_DEVICE = "TPU7x"


def json_rows(path: Path, inputs: Sequence[tuple[str, Sequence[str]]]) -> list[Row]:
    """Returns the rows of a JSON file of tokamax; `inputs`: the kernel's arrays, with the names of their axes."""
    table = json_of(path)
    if not isinstance(table, dict) or not all(isinstance(configs, dict) for configs in table.values()):
        raise Wrong(f"{path}: expected an object of objects: {{arguments: {{configuration: times}}}}")
    device = _device_of_folder(path.absolute().parent.name)
    return [_json_row(path, device, text, configs, inputs) for text, configs in table.items()]


def _json_row(
    path: Path, device: str, text: str, configs: dict[str, Any], inputs: Sequence[tuple[str, Sequence[str]]]
) -> Row:
    arguments = _object(path, text)
    arrays = {name: found for name, one in arguments.items() if (found := _array(one)) is not None}
    dtype = next((one[0] for one in arrays.values()), "")
    bound = _bound(arrays, inputs)
    if bound is None:
        return Row(device, dtype, {}, {}, left="their arrays are not the kernel's")
    if not configs:
        return Row(device, dtype, {}, {}, left="nothing was tuned for them")
    best = min(configs, key=lambda one: _median(configs[one]))
    fields = _object(path, best)
    sizes = {name: value for name, value in fields.items() if type(value) is int}
    return Row(device, dtype, bound, sizes, tuple(name for name in fields if name not in sizes))


def _object(path: Path, text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Wrong(f"{path}: '{one_line(text, 60)}' is not JSON") from error
    if not isinstance(found, dict):
        raise Wrong(f"{path}: '{one_line(text, 60)}' is not an object")
    return found


def _median(measured: Any) -> float:
    """Returns the median time of a configuration; a configuration without times comes last."""
    times = measured.get("evaluation_times_ms") if isinstance(measured, dict) else None
    known = [one for one in times if type(one) in (int, float) and 0 < one < 1e300] if isinstance(times, list) else []
    return statistics.median(known) if known else float("inf")


def _array(value: Any) -> tuple[str, list[int]] | None:
    """Returns the dtype and the shape of `bf16[4096,7168]`; None: the value is not an array."""
    match = _ARRAY.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    shape = [int(size) for size in match[2].split(",") if size]
    return _DTYPES.get(match[1], match[1]), shape


def _bound(
    arrays: dict[str, tuple[str, list[int]]], inputs: Sequence[tuple[str, Sequence[str]]]
) -> dict[str, tuple[int, int]] | None:
    """Returns the kernel's dimensions, from the arrays with its inputs' names, or else with their ranks, in order."""
    is_named = all(name in arrays for name, _ in inputs)
    left = list(arrays.values())
    found: dict[str, tuple[int, int]] = {}
    for name, axes in inputs:
        if is_named:
            shape = arrays[name][1]
        else:
            at = next((at for at, one in enumerate(left) if len(one[1]) == len(axes)), None)
            if at is None:
                continue
            shape = left.pop(at)[1]
        if len(shape) != len(axes):
            return None
        for axis, size in zip(axes, shape, strict=True):
            if axis.isidentifier() and not 0 < found.setdefault(axis.lower(), (size, size))[0] == size < 2**63:
                return None
    return found


def _device_of_folder(name: str) -> str:
    """Returns a device's name for JAX: "TPU v5 lite" for `tpu_v5_lite`, "NVIDIA B200" for `nvidia_b200`."""
    if name.startswith("tpu"):
        return "TPU" + name[len("tpu") :].replace("_", " ")
    return name.upper().replace("_", " ") if name.startswith(("nvidia_", "amd_")) else ""


def module_rows(module: Module, table: ast.Dict) -> list[Row]:
    """Returns the rows of a table in a module of tpu-inference."""
    keys, values = (_said_above(module, table, word) for word in ("key", "value"))
    classes = module.classes()
    keys = keys or _fields(classes, ("key",))
    is_of_class = not values
    values = values or _fields(classes, ("value", "params"))
    return [
        _row(module, node, path, value, keys, values, is_of_class) for node, path, value in _flat(module, table, ())
    ]


def _fields(classes: Sequence[tuple[str, list[str]]], ends: tuple[str, ...]) -> list[str]:
    """Returns the fields of the first class whose name has one of these ends."""
    return next((fields for name, fields in classes if name.lower().endswith(ends)), [])


def _flat(module: Module, table: ast.Dict, before: tuple[Any, ...]) -> Iterator[tuple[ast.expr, tuple[Any, ...], Any]]:
    """Yields each value, with the keys of all dictionaries around it."""
    for key, value in zip(table.keys, table.values, strict=True):
        if key is None:
            raise module.wrong(value, "a dictionary that is merged in with '**' is not read")
        path = (*before, module.value(key))
        if isinstance(value, ast.Dict):
            yield from _flat(module, value, path)
        else:
            yield value, path, module.value(value)


def _said_above(module: Module, table: ast.Dict, word: str) -> list[str]:
    """Returns the names of a tuple's parts, as a comment above the table lists them."""
    lines = module.text.splitlines()[: table.lineno - 1]
    above: list[str] = []
    while lines and (line := lines.pop().strip()).startswith("#"):
        above.insert(0, line.lstrip("# "))
    at = next((at for at, line in enumerate(above) if re.fullmatch(rf"{word}:?", line, re.IGNORECASE)), None)
    if at is None:
        return []
    names = []
    for line in above[at + 1 :]:
        match = re.match(r"- *\(?(\w+(?:, *\w+)*)", line)
        if match is None:
            break
        names += re.split(", *", match[1])
    return names


def _row(
    module: Module,
    node: ast.expr,
    path: tuple[Any, ...],
    value: Any,
    keys: list[str],
    values: list[str],
    is_of_class: bool,
) -> Row:
    device, dtype = "", ""
    ranges: dict[str, tuple[int, int]] = {}
    for name, part in _parts(module, node, path, keys):
        if name in ("tpu_version", "device_name", "device") or (isinstance(part, str) and part.startswith("TPU")):
            device = _device(part)
        elif isinstance(part, str):
            found = _NAMED_DTYPE.search(part)
            dtype = dtype or (found[0] if found else "")
            ranges |= {pair[1].strip("_").lower(): (int(pair[2]), int(pair[2])) for pair in _PAIR.finditer(part)}
        elif type(part) is int and 0 <= part < 2**63:
            ranges[name.lower()] = part, part
    if isinstance(value, tuple):
        # A class may have defaults for its last fields, so a call may have fewer values.
        if len(value) > len(values) or (len(value) < len(values) and not is_of_class):
            raise module.wrong(
                node, f"{len(value)} block sizes, but {len(values)} names: write '# value:' above the table"
            )
        value = dict(zip(values, value, strict=False))
    if not isinstance(value, dict):
        raise module.wrong(node, "expected block sizes: a tuple, or a call with fields")
    sizes = {str(name): size for name, size in value.items() if type(size) is int}
    return Row(device, dtype, ranges, sizes, tuple(str(name) for name in value if name not in sizes))


def _parts(module: Module, node: ast.expr, path: tuple[Any, ...], names: list[str]) -> Iterator[tuple[str, Any]]:
    """Yields the parts of a row's keys, with names; a bare number has the name of its place among the dictionaries."""
    for place, part in enumerate(path):
        if isinstance(part, dict):
            yield from part.items()
        elif isinstance(part, tuple):
            # The names may begin with those of the dictionaries around this one, such as the device's.
            own = names[place:] if len(names) == len(part) + place else names
            if len(own) != len(part):
                raise module.wrong(
                    node, f"a key has {len(part)} parts, but {len(own)} names: write '# key:' above the table"
                )
            yield from zip(own, part, strict=True)
        else:
            yield (names[place] if place < len(names) else ""), part


def _device(said: Any) -> str:
    if type(said) is int:
        said = f"TPU v{said}"
    return _DEVICES.get(said, said) if isinstance(said, str) and said.isprintable() else ""
