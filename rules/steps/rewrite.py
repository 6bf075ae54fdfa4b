"""Step rewrite: the round's variants that are rewrites of their parents' structure (rewrites.py), within its contract.

It writes DIR/ID/kernel.py and DIR/ID/variant.json (engine/search/README.md) for each of its places in the round. The
parents are the variants to which the selection of the round before gave the places; without a selection, the seed is
the parent.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

from process.child import ChildFault
from programs.candidate import DEFAULT_TARGET, Target
from reports.depfile import write_depfile
from reports.verdict import BadInput, read_json, read_text
from rewrites.rewrite_choice import Parent, Proposal, propose, source_digest
from rewrites.rewrite_contract import Case, Permits
from source import normalise
from source.source_text import Source

SEED_ID = "v0000"


def main(argv: list[str]) -> int:
    """Runs the step; the exit code is 2 if its input is wrong."""
    parser = argparse.ArgumentParser(prog="rewrite")
    parser.add_argument("--spec", required=True, help="spec.json, whose parameters variant.json names")
    parser.add_argument("--seed", required=True, help="the seed's source")
    parser.add_argument("--selection", help="selection.json of the round before")
    parser.add_argument("--lineage", nargs="+", action="extend", default=[], help="the survivors' sources, in order")
    parser.add_argument("--round", type=int, required=True)
    parser.add_argument("--random-seed", type=int, required=True)
    parser.add_argument("--places", type=_numbers, required=True, help="the places in the round to fill, from 0: 2,5,7")
    parser.add_argument(
        "--ids", type=lambda text: text.split(","), required=True, help="the ids of these places: v0011,v0014,v0016"
    )
    parser.add_argument("--history", help="history.jsonl of the round before; its variants are not proposed again")
    parser.add_argument("--entry", default="", help="the function that is called")
    parser.add_argument("--check-case", nargs=2, action="append", metavar=("SIGNATURE", "TERMS"), default=[])
    parser.add_argument("--timed-case", nargs=2, action="append", metavar=("SIGNATURE", "TERMS"), default=[])
    parser.add_argument("--platform", default=DEFAULT_TARGET.platform)
    parser.add_argument("--device-kind", default=DEFAULT_TARGET.device_kind)
    parser.add_argument("--unsafe-no-sandbox", action="store_true")
    parser.add_argument("--round-dir", required=True)
    parser.add_argument("--depfile")
    args = parser.parse_args(argv)
    try:
        if len(args.places) != len(args.ids):
            raise BadInput(f"--ids: expected {len(args.places)}, as many as --places, got {len(args.ids)}")
        parents = _parents(args)
        known = {source_digest(read_text(args.seed)), *_known(args.history)}
        target = Target(args.platform, args.device_kind)
        permits = Permits(args.entry, _cases(args), is_sandboxed=not args.unsafe_no_sandbox, target=target).permits
        proposals = propose([one.parent for one in parents], args.round, args.places, args.random_seed, known, permits)
    except BadInput as error:
        print(f"evolve: error: {error}", file=sys.stderr)
        return 2
    except ChildFault as fault:
        print(f"rewrite: {fault}", file=sys.stderr)
        return 3
    for id_, proposal, parent in zip(args.ids, proposals, parents, strict=True):
        folder = Path(args.round_dir) / id_
        folder.mkdir(parents=True, exist_ok=True)
        variant = _variant(id_, args.round, proposal, parent.parameters)
        said = json.dumps(variant, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        for name, text in (("variant.json", said), ("kernel.py", proposal.text)):
            normalise.write_file(folder / name, text.encode(errors="surrogateescape"))
    write_depfile(args.depfile, str(Path(args.round_dir) / args.ids[0] / "kernel.py"))
    return 0


def _variant(id_: str, round_: int, proposal: Proposal, parameters: dict[str, int]) -> dict[str, Any]:
    return {
        "id": id_,
        "round": round_,
        "mutator": "rewrite",
        "parents": [proposal.parent.id],
        "parameters": parameters,
        "note": proposal.note,
    }


@dataclass(frozen=True)
class _Parent:
    parent: Parent
    parameters: dict[str, int]


def _parents(args: argparse.Namespace) -> list[_Parent]:
    """Returns, for each place, the survivor that the selection before gave it to; without a selection, the seed."""
    seed = Parent(SEED_ID, read_text(args.seed))
    of_seed = _Parent(seed, _parameters(seed, _parameter_names(args.spec)))
    if not args.selection:
        return [of_seed] * len(args.places)
    selection = read_json(args.selection)
    try:
        survivors = [
            _Parent(Parent(str(one["variant"]), read_text(path)), one["parameters"])
            for one, path in zip(selection["survivors"], args.lineage, strict=False)
        ]
        numbers = {place: int(number) for place, number in enumerate(selection["places"])}
        return [survivors[numbers[place] - 1] if place in numbers else of_seed for place in args.places]
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise BadInput(f"{args.selection}: not a selection with survivors and places: {error!r}") from error


def _cases(args: argparse.Namespace) -> list[Case]:
    """Returns the cases that a rewrite is held to; the name of each is that of its folder."""
    return [
        Case(Path(signature).parent.name, read_json(signature), read_json(terms), is_checked)
        for is_checked, of_kind in ((True, args.check_case), (False, args.timed_case))
        for signature, terms in of_kind
    ]


def _parameter_names(path: str) -> list[str]:
    spec = read_json(path)
    found = spec.get("parameters") if isinstance(spec, dict) else None
    if not isinstance(found, list) or not all(isinstance(one, dict) and "name" in one for one in found):
        raise BadInput(f"{path}: 'parameters' is not a list of objects with a 'name'")
    return [str(one["name"]) for one in found]


def _parameters(parent: Parent, names: list[str]) -> dict[str, int]:
    """Returns the values that lines of the EVOLVE block give the names."""
    try:
        source = Source(parent.text)
    except (SyntaxError, ValueError) as error:
        raise BadInput(f"{parent.id}: {error}") from error
    out = {}
    for name in names:
        number = source.number_of(name)
        if number is None:
            raise BadInput(f"{parent.id}: the EVOLVE block has no line '{name} = <whole number>', or several")
        out[name] = number
    return out


def _known(path: str | None) -> list[str]:
    """Returns the digests of the sources in a history."""
    # Lines end only at newlines: a note may hold other characters that end a line for Python, but not in JSON.
    lines = read_text(path).split("\n") if path else []
    try:
        return [str(json.loads(line)["source"]) for line in lines if line]
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(f"{path}: not a history: {error!r}") from error


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]
