"""`evolve init`: a new kernel's folder and pipeline from a JAX function.

The function's inputs are given by flags in their order, such as `--input 'x=bfloat16[M=4096, K=1024]'`. Or a function
of the file returns the inputs as arrays or shapes, in their order or by their names. It takes no arguments and is
called `inputs`, `get_inputs`, `create_inputs` or `example_inputs`. A size without a name becomes a dimension if the
function takes other sizes, too. Otherwise it stays a number.

The file is the user's own and is trusted: it is run as it is. If anything is wrong, nothing is written, the exit code
is 2, and a line on stderr says what is wrong.
"""

from __future__ import annotations

import argparse
import inspect
import json
import keyword
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import numpy as np

from init.blocks import cut_of, small_sizes
from init.dimensions import Task, Tensor, Unclear, named, only_free, outputs_of, shapes_given, structs
from init.folder import files_of, read_source
from init.project import Place
from init.ranges import with_ranges
from init.source import DTYPE_NAMES, Given, Wrong, called, function_of
from init.stand_ins import with_stand_ins
from init.trial import refusal_of

GIVERS = ("inputs", "get_inputs", "create_inputs", "example_inputs")
_INPUT = re.compile(r"\s*(?P<name>[A-Za-z_]\w*)\s*=\s*(?P<dtype>\w+)\s*\[(?P<axes>[^\]]*)\]\s*")
_AXIS = re.compile(r"(?:(?P<name>[A-Za-z]\w*)\s*(?:=\s*(?P<size>\d+))?|(?P<fixed>\d+))")


def inputs_said(said: Sequence[str]) -> tuple[tuple[Tensor, ...], dict[str, int]]:
    """Returns the inputs and sizes of `--input` flags."""
    found, sizes = [], dict[str, int]()
    for text in said:
        match = _INPUT.fullmatch(text)
        if match is None:
            raise Wrong(f"--input '{text}': expected NAME=DTYPE[SIZES], such as x=bfloat16[M=4096, K=1024]")
        try:
            dtype = jax.numpy.dtype(match["dtype"]).name
        except TypeError as error:
            full = DTYPE_NAMES.get(match["dtype"])
            raise Wrong(
                f"--input '{text}': '{match['dtype']}' is not a dtype" + (f": write {full}" if full else "")
            ) from error
        axes: list[str | int] = []
        for word in filter(None, (part.strip() for part in match["axes"].split(","))):
            axis = _AXIS.fullmatch(word)
            if axis is None:
                raise Wrong(f"--input '{text}': '{word}' is not a size such as 1024, M or M=1024")
            if axis["size"] and sizes.setdefault(axis["name"], int(axis["size"])) != int(axis["size"]):
                raise Wrong(f"--input '{text}': {axis['name']} is {sizes[axis['name']]} already")
            axes.append(int(axis["fixed"]) if axis["fixed"] else axis["name"])
        found.append(Tensor(match["name"], dtype, tuple(axes)))
    unknown = [axis for one in found for axis in one.axes if isinstance(axis, str) and axis not in sizes]
    if unknown:
        raise Wrong(f"--input: no size is given for {unknown[0]}, such as {unknown[0]}=1024")
    return tuple(found), sizes


def inputs_given(module: Any, function: Callable[..., Any], entry: str) -> tuple[tuple[Tensor, ...], list[Any]]:
    """Returns the inputs that the user's file gives, with their sizes as numbers, and their arrays."""
    giver = next((getattr(module, name) for name in GIVERS if callable(getattr(module, name, None))), None)
    if giver is None:
        raise Wrong(
            f"the inputs are unknown: give --input for each, or add to the file a function {' or '.join(GIVERS[:2])}"
        )
    arrays = called(f"{giver.__name__}()", giver)
    names = list(inspect.signature(function).parameters)
    if isinstance(arrays, dict):
        takes = f"but '{entry}' takes {', '.join(names)}"
        if unknown := [name for name in arrays if name not in names]:
            raise Wrong(f"{giver.__name__}() gives '{unknown[0]}', {takes}")
        if missing := [name for name in names[: len(arrays)] if name not in arrays]:
            raise Wrong(f"{giver.__name__}() gives no '{missing[0]}', {takes}")
        arrays = [arrays[name] for name in names[: len(arrays)]]
    arrays = arrays if isinstance(arrays, (list, tuple)) else [arrays]
    if len(arrays) > len(names):
        raise Wrong(f"'{entry}' takes {len(names)} inputs, but {giver.__name__}() gives {len(arrays)}")
    for name, one in zip(names, arrays, strict=False):
        if not hasattr(one, "shape") or not hasattr(one, "dtype"):
            raise Wrong(f"{giver.__name__}() gives {one!r:.40} for '{name}': expected an array, or its shape and dtype")
    tensors = (
        Tensor(name, np.dtype(one.dtype).name, tuple(map(int, one.shape)))
        for name, one in zip(names, arrays, strict=False)
    )
    return tuple(tensors), list(arrays)


def task_of(module: Any, function: Callable[..., Any], entry: str, said: Sequence[str], notices: list[str]) -> Task:
    """Returns the function's task; `notices` get a line about anything that is not found out."""
    sizes: dict[str, int] = {}
    if said:
        inputs, sizes = inputs_said(said)
        values: list[Any] = [None] * len(inputs)
    else:
        inputs, values = inputs_given(module, function, entry)
    for one in inputs:
        if keyword.iskeyword(one.name) or one.name in ("sizes", "results", "values"):
            raise Wrong(f"an input is called '{one.name}', a name that the kernel uses itself")
    if shapes_given(function, structs(inputs, sizes)) is None:
        called(f"'{entry}' does not take these inputs", jax.eval_shape, function, *structs(inputs, sizes))
    if sizes:
        said_sizes = sizes
        inputs, sizes, fixed = only_free(function, inputs, sizes)
        notices += [f"'{entry}' takes no other {name}: it is always {said_sizes[name]}" for name in fixed]
    else:
        inputs, sizes = named(function, inputs)
    if not sizes:
        raise Wrong(f"'{entry}' takes no other sizes than these: there is nothing to search")
    inputs = with_ranges(function, inputs, sizes, values, notices)
    try:
        return Task(inputs, outputs_of(function, inputs, sizes), sizes)
    except Unclear as why:
        raise Wrong(f"'{entry}': {why}") from why


def main(argv: list[str]) -> int:
    """Writes the folder and the pipeline; prints which files, as JSON."""
    parser = argparse.ArgumentParser(prog="init")
    parser.add_argument("--from", dest="origin", required=True)
    parser.add_argument("--input", action="append", default=[])
    parser.add_argument("--without-api", action="store_true")
    for flag in ("--name", "--root"):
        parser.add_argument(flag, required=True)
    args = parser.parse_args(argv)
    path, _, entry = args.origin.rpartition(":")
    place, notices = Place(Path(args.root), args.name), list[str]()
    try:
        place.check_free()
        if not path or not Path(path).is_file():
            what = ":FUNCTION after the file" if Path(args.origin).is_file() else "FILE:FUNCTION of an existing file"
            raise Wrong(f"--from {args.origin}: expected {what}")
        module, function = function_of(Path(path), entry)
        task = task_of(module, function, entry, args.input, notices)
        cut, small = cut_of(function, task), small_sizes(function, task, ragged=False)
        source = read_source(Path(path).read_text(), path, entry, () if args.input else GIVERS)
        source = with_stand_ins(source, structs(task.inputs, small))
        files = files_of(place, source, function, task, cut, Given())
    except (Wrong, Unclear) as why:
        print(f"init: {why}", file=sys.stderr)
        return 2
    if args.without_api:
        del files["api.py"]
    place.write(files)
    refused = refusal_of(files["kernel.py"], task, entry, small, function, cut)
    print(json.dumps(place.report(task.sizes, files, refused) | {"notices": notices}))
    return 0
