"""`evolve import FORMAT FILE`: a kernel's folder and pipeline from a task of another system.

What a reader knows of a format is in its own module; here it becomes files as `evolve init` writes them. Nothing is
written where anything is wrong; the exit code is 2 then, and stderr has a line that says what. Stdout has a report, as
JSON: the dimensions, the files, and `notices`, each a line on what has no meaning here, or another one.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import glaucis
import jax
from blocks import halved_sizes, small_sizes
from dimensions import Task, Unclear, outputs_of, structs
from flops import flops_of
from folder import Source, files_of
from init import refusal_of, seed_program, write
from source import Imported, Wrong

sys.path.append(str(Path(__file__).resolve().parents[1] / "steps"))
import program
import surroundings

# Of a contract that says nothing (engine/core/spec.h).
_LEAST_INSIDE, _MOST_OUTSIDE = 0.75, 0.05


def task_of(found: Imported) -> Task:
    """The task over its dimensions."""
    try:
        jax.eval_shape(found.function, *structs(found.inputs, found.sizes))
    except Exception as error:
        raise Wrong(f"{found.path}: {type(error).__name__}: {error}") from error
    outputs = outputs_of(found.function, found.inputs, found.sizes)
    names = found.given.outputs
    if len(names) == len(outputs):
        outputs = tuple(replace(one, name=name) for one, name in zip(outputs, names, strict=True))
    return Task(found.inputs, outputs, found.sizes)


def contract_of(found: Imported, task: Task, notices: list[str]) -> dict[str, float]:
    """What a kernel of somebody else's needs of the contract that the house's own does not."""
    least, most = 1.0, 0.0
    for sizes in (*(case.sizes for case in found.given.cases[:1]), halved_sizes(task)):
        try:
            packed = seed_program(found.given.seed, task, found.entry, sizes)
        except Exception:  # noqa: BLE001 - said where the report says what was refused
            return {}
        with program.opened(packed) as module:
            survey = surroundings.survey(module)
        flops = flops_of(found.function, task, sizes)
        least, most = min(least, survey.surely_inside / flops), max(most, survey.work.flops.most / flops)
    terms = {}
    # To the next twentieth, and not for the last digit of it.
    if most > _MOST_OUTSIDE:
        terms["max_outside_flops"] = math.ceil(20 * most) / 20
    if least < _LEAST_INSIDE:
        terms["min_flops"] = math.floor(20 * least) / 20
    if terms:
        shares = f"{100 * most:.0f} % of the task's operations outside of kernels, and {100 * least:.0f} % within"
        notices.append(f"the seed does {shares}: its contract allows that")
    return terms


# A reader gets the file, what YAML it is, and the learnings' path as the pipeline will have it.
READERS: dict[str, Callable[[Path, dict[str, Any], str], Imported]] = {"glaucis": glaucis.read}


def main(argv: list[str]) -> int:
    """Writes the folder and the pipeline; says which files, as JSON."""
    parser = argparse.ArgumentParser(prog="imports")
    parser.add_argument("--format", choices=sorted(READERS), required=True)
    parser.add_argument("--config", default="{}")
    parser.add_argument("--learnings", default="")
    parser.add_argument("--without-api", action="store_true")
    for flag in ("--from", "--name", "--folder", "--pipeline"):
        parser.add_argument(flag, required=True)
    args = parser.parse_args(argv)
    folder, pipeline = Path(args.folder), Path(args.pipeline)
    try:
        learnings = os.path.relpath(folder / "learnings.md", pipeline.parent) if args.learnings else ""
        found = READERS[args.format](Path(getattr(args, "from")), json.loads(args.config), learnings)
        task = task_of(found)
        if found.given.seed:
            found = replace(found, given=replace(found.given, contract=contract_of(found, task, found.notices)))
        source = Source(found.path, "", "", found.entry, found.summary or found.entry)
        spec = os.path.relpath(folder / "spec.yaml", pipeline.parent)
        files = files_of(args.name, source, found.function, task, args.pipeline, spec, found.given)
    except (Wrong, Unclear) as why:
        print(f"imports: {why}", file=sys.stderr)
        return 2
    if args.without_api:
        files.pop("api.py", None)
    if args.learnings:
        files["learnings.md"] = Path(args.learnings).read_text()
    write(files, folder, pipeline)
    sizes = halved_sizes(task) if found.given.seed else small_sizes(found.function, task, ragged=False)
    refused = refusal_of(files["kernel.py"], task, found.entry, sizes)
    report = {"dimensions": task.sizes, "files": sorted(name for name in files if name), "notices": found.notices}
    print(json.dumps(report | ({"refused": refused} if refused else {})))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
