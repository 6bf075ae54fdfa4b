"""`evolve import FORMAT FILE`: a kernel's folder and pipeline from a task of another system.

Each format has a reader in a module of its own. This module turns the reader's task into files as `evolve init` writes
them. If anything is wrong, nothing is written, the exit code is 2, and a line on stderr says what is wrong. Stdout has
a report as JSON: the dimensions, the files, and `notices`. Each notice is a line about a setting that has no meaning
here, or another meaning.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax

from init import glaucis, kerlever, kernelbench, maxkernel
from init.blocks import Cut, cut_of, halved_sizes, small_sizes
from init.dimensions import Task, Unclear, outputs_of, structs
from init.flops import flops_of
from init.folder import Source, files_of, read_source
from init.init import GIVERS
from init.project import Place
from init.ranges import with_ranges
from init.source import Imported, Wrong, called
from init.stand_ins import with_stand_ins
from init.trial import Refusal, refusal_of, seed_programs
from judge import outside, surroundings
from programs import program

# The defaults of a contract's min_flops and max_outside_flops (engine/campaign/spec.h).
_LEAST_INSIDE, _MOST_OUTSIDE = 0.75, 0.05


def narrowed(found: Imported) -> Imported:
    """Returns the task with dtypes that a TPU's kernels take."""
    if any(one.dtype == "float16" for one in found.inputs):
        found.notices.append("TPU kernels do not take float16: its inputs are bfloat16 here")
    inputs = tuple(replace(one, dtype={"float16": "bfloat16"}.get(one.dtype, one.dtype)) for one in found.inputs)
    return replace(found, inputs=inputs)


def task_of(found: Imported) -> Task:
    """Returns the task over its dimensions."""
    called(found.path, jax.eval_shape, found.function, *structs(found.inputs, found.sizes))
    outputs = outputs_of(found.function, found.inputs, found.sizes)
    names = found.given.outputs
    if len(names) == len(outputs):
        outputs = tuple(replace(one, name=name) for one, name in zip(outputs, names, strict=True))
    given = [None] * len(found.inputs)
    inputs = with_ranges(found.function, found.inputs, found.sizes, given, found.notices)
    return Task(inputs, outputs, found.sizes)


def contract_of(found: Imported, task: Task, notices: list[str]) -> dict[str, float | list[str]]:
    """Returns the terms of a contract that an imported kernel needs and this project's kernels do not."""
    least, most = 1.0, 0.0
    words: dict[str, str] = {}
    for sizes in (*(case.sizes for case in found.given.cases[:1]), halved_sizes(task)):
        try:
            closed, packed = seed_programs(found.given.seed, task, found.entry, sizes)
            words |= outside.survey(closed.jaxpr)
        except outside.Refused as refused:
            notices.append(f"the judge will reject the seed: {refused}")
            return {}
        except Exception:  # noqa: BLE001 - the report says later what was refused
            return {}
        with program.opened(packed) as module:
            survey = surroundings.survey(module)
        flops = flops_of(found.function, task, sizes)
        least, most = min(least, survey.surely_inside / flops), max(most, survey.work.flops.most / flops)
    terms: dict[str, float | list[str]] = {}
    # The limits are rounded to twentieths, so that the contract allows a little more than the seed needs.
    if most > _MOST_OUTSIDE:
        terms["max_outside_flops"] = math.ceil(20 * most) / 20
    if least < _LEAST_INSIDE:
        terms["min_flops"] = math.floor(20 * least) / 20
    if terms:
        shares = f"{100 * most:.0f} % of the task's operations outside of kernels, and {100 * least:.0f} % within"
        notices.append(f"the seed does {shares}: its contract allows that")
    if words:
        terms["outside"] = sorted(words)
        notices.append(f"the seed has {', '.join(sorted(words))} outside of kernels: its contract allows that")
    return terms


# A reader gets the given path, and the YAML of its file, if the file is YAML.
READERS: dict[str, Callable[[Path, dict[str, Any]], Imported]] = {
    "glaucis": glaucis.read,
    "kerlever": kerlever.read,
    "kernelbench": kernelbench.read,
    "maxkernel": maxkernel.read,
}


def files_for(found: Imported, place: Place) -> tuple[Task, dict[str, str], Refusal | None]:
    """Returns the task, its files, and the reason against the seed; None: there is no reason."""
    task = task_of(found)
    given = replace(found.given, learnings=place.from_pipeline("learnings.md") if found.learnings else "")
    if given.seed:
        given = replace(given, contract=contract_of(found, task, found.notices))
        source = Source(found.path, "", "", found.entry, found.summary or found.name)
    else:
        source = read_source(given.reference, found.path, found.entry, GIVERS)
        source = with_stand_ins(source, structs(task.inputs, small_sizes(found.function, task, ragged=False)))
        given = replace(given, reference="")
    cut = Cut() if given.seed else cut_of(found.function, task)
    files = files_of(place, source, found.function, task, cut, given)
    sizes = halved_sizes(task) if given.seed else small_sizes(found.function, task, ragged=False)
    refused = refusal_of(files["kernel.py"], task, found.entry, sizes, found.function, None if given.seed else cut)
    return task, files | ({"learnings.md": found.learnings} if found.learnings else {}), refused


def _checked(report: dict[str, Any], texts: dict[str, str]) -> str:
    """Returns the report as JSON, before anything is written. Raises Wrong if a text cannot be written."""
    try:
        said = json.dumps(report, allow_nan=False)
        # `said` has a lone surrogate as an escape. But the report's texts go into files, which cannot hold one.
        json.dumps(report, ensure_ascii=False).encode()
    except ValueError as error:
        raise Wrong(f"no report can be written on it: {error}") from error
    for name, text in texts.items():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise Wrong(f"{name or 'the pipeline'}: it has a text that is not valid Unicode: {error}") from error
    return said


def main(argv: list[str]) -> int:
    """Writes the folder and the pipeline; prints which files, as JSON."""
    parser = argparse.ArgumentParser(prog="imports")
    parser.add_argument("--format", choices=sorted(READERS), required=True)
    parser.add_argument("--from", dest="origin", required=True)
    parser.add_argument("--root", required=True)
    parser.add_argument("--name", default="")
    parser.add_argument("--config", default="{}")
    parser.add_argument("--without-api", action="store_true")
    args = parser.parse_args(argv)
    try:
        found = narrowed(READERS[args.format](Path(args.origin), json.loads(args.config)))
        place = Place(Path(args.root), args.name or re.sub(r"\W+", "_", found.name.lower()))
        place.check_free()
        task, files, refused = files_for(found, place)
        if args.without_api:
            files.pop("api.py", None)
        report = place.report(task.sizes, files, refused) | {"notices": found.notices}
        said = _checked(report | ({"past": found.past} if found.past else {}), {**files, **found.proposals})
    except (Wrong, Unclear) as why:
        print(f"imports: {why}", file=sys.stderr)
        return 2
    place.write(files)
    for name, text in found.proposals.items():
        place.proposals.mkdir(exist_ok=True)
        (place.proposals / name).write_text(text)
    print(said)
    return 0
