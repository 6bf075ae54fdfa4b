"""A run's folder of Glaucis: its kernels become proposals for the opening rounds, and its results become history.

iteration_N/variants/DIRECTION has a kernel.py and an eval_result.json; lineages.json says which variant each one was
made from. Glaucis' results are only reported: a build judges every kernel again.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from init.source import Imported, Wrong, json_of, number, one_line, text_of

# The maximum number of folders that are searched: above a config for its AGENT.md, and above a run for its reference.
# A run is a folder runs/NAME_DATE, and its reference may be in a folder `examples` that is next to `runs`.
_MOST_ABOVE = 5
# The maximum number of a run's variants. It is limited because each becomes a file, and a kernel that is judged.
_MOST_VARIANTS = 10_000
_MOST_NOTICES = 20
# A speedup or a time that is not below this counts as not finite.
_MOST_MEASURED = 1e100
_KINDS = {"INCORRECT": ("check", "incorrect"), "COMPILE_ERROR": ("compile", "compile-error")}


def learnings_above(path: Path) -> str:
    """Returns the AGENT.md of the nearest folder that has one; empty: no folder has."""
    for folder in path.resolve().parents[:_MOST_ABOVE]:
        if (folder / "AGENT.md").is_file():
            return text_of(folder / "AGENT.md")
    return ""


@dataclass(frozen=True)
class Tried:
    """A variant, and its result in Glaucis."""

    id: str
    round: int
    direction: str  # as its folder is called: "L2_fuse_fwd"
    kernel: Path
    result: dict[str, Any]
    seed: float  # the speedup of the baseline, which is the seed here

    @property
    def lineage(self) -> str:
        """The lineage that the variant was tried in; empty: the variant was the first of its own lineage."""
        first = self.direction.split("_")[0]
        return first if first[:1] == "L" and first[1:].isdigit() else ""

    @property
    def name(self) -> str:
        """The direction in one line, for people."""
        return one_line(self.direction)

    @property
    def status(self) -> str:
        """The status that Glaucis gave the variant."""
        return one_line(self.result.get("status") or "no result")

    @property
    def speedup(self) -> float:
        """The speedup over the reference, which has 1; 0: the variant was rejected, or has no result."""
        return float(self.result.get("speedup", 0)) if self.status == "SUCCESS" else 0.0

    @property
    def row(self) -> dict[str, Any]:
        """The row in a selection; scores are relative to the baseline."""
        return {"variant": self.id, "score": self.speedup / self.seed, "parameters": {}}


class Run:
    """The content of a run's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.baseline = folder / "baseline_kernel.py"
        if not self.baseline.is_file():
            raise Wrong(f"{folder}: not a run of Glaucis: it has no baseline_kernel.py")
        by_round = [(n, sorted(self._variants(n))) for n in self._rounds()]
        self.variants = max((len(found) for _, found in by_round), default=0)
        if self.variants == 0:
            raise Wrong(f"{folder}: no iteration_N/variants/NAME/kernel.py")
        self.rounds = by_round[-1][0]
        if self.rounds * self.variants > _MOST_VARIANTS:
            shown = f"{one_line(str(self.rounds), 20)} rounds of {self.variants}"
            raise Wrong(f"{folder}: {shown} variants are more than the {_MOST_VARIANTS} that can be imported")
        self.notices: list[str] = []  # parts that are not imported
        seed = self._result(self.folder / "baseline").get("speedup") or 1.0
        self.tried = [
            Tried(f"v{(n - 1) * self.variants + place + 1:04}", n, kernel.parent.name, kernel, result, seed)
            for n, found in by_round
            for place, kernel in enumerate(found)
            for result in [self._result(kernel.parent)]
        ]

    def _result(self, folder: Path) -> dict[str, Any]:
        """Reads the result of a kernel, without values that cannot be true."""
        path = folder / "eval_result.json"
        if not path.is_file():
            return {}
        where = one_line(str(path.relative_to(self.folder)))
        try:
            read = json_of(path)
        except Wrong as why:
            self.notices.append(f"{str(why).removeprefix(f'{self.folder}/')}; its result is not imported")
            return {}
        if not isinstance(read, dict):
            self.notices.append(f"{where}: expected an object; its result is not imported")
            return {}
        found: dict[str, Any] = {}
        for name, reader in (("status", _word), ("error", _word), ("speedup", _measured), ("latency_ms", _measured)):
            try:
                found[name] = reader(read.get(name))
            except Wrong as why:
                self.notices.append(f"{where}: {name}: {why}; it is not imported")
        if found.get("status") == "SUCCESS" and not (found.get("speedup") and found.get("latency_ms")):
            del found["status"]
        return found

    def _rounds(self) -> list[int]:
        found = [one.name.removeprefix("iteration_") for one in self.folder.glob("iteration_*")]
        numbers = {int(name) for name in found if name.isascii() and name.isdigit()}
        return sorted(one for one in numbers if one > 0 and self._variants(one))

    def _variants(self, number: int) -> list[Path]:
        return list(self.folder.glob(f"iteration_{number}/variants/*/kernel.py"))

    def reference(self, config: dict[str, Any]) -> Path:
        """Returns the config's reference. The run has no copy of it, so it is searched where the config was."""
        named = str((config.get("kernel") or {}).get("reference", ""))
        for folder in (self.folder, *self.folder.resolve().parents[:_MOST_ABOVE]):
            for place in (folder / named, folder / "examples" / named):
                if named and place.is_file():
                    return place
        raise Wrong(f"{self.folder / 'config.yaml'}: kernel.reference: no file {named} here or in a folder above")

    def added_to(self, task: Imported) -> Imported:
        """Returns the task with the run's kernels and results."""
        given = replace(
            task.given,
            opening=self.rounds,
            variants=self.variants,
            rounds=max(task.given.rounds, self.rounds),
            policy="lineages",
        )
        case = given.cases[0].name
        proposals, past = self._proposals(), {"rounds": self._selections(case), "work": self._work(case)}
        more = len(self.notices) - _MOST_NOTICES
        told = [*self.notices[:_MOST_NOTICES], *([f"and {more} more like these"] if more > 0 else [])]
        return replace(
            task, path=str(self.folder), given=given, proposals=proposals, past=past, notices=[*task.notices, *told]
        )

    def _proposals(self) -> dict[str, str]:
        known = {f"{one.id}.py": self._proposal(one) for one in self.tried}
        every = [f"v{number:04}.py" for number in range(1, self.rounds * self.variants + 1)]
        return {name: known.get(name, "# evolve: pass: the run has no more in this round\n") for name in every}

    def _proposal(self, one: Tried) -> str:
        parent = self._parent(one)
        lines = [f"# evolve: parents: {parent}"] if parent else []
        came = f"{one.speedup:g}x of its reference" if one.speedup else one.status
        lines.append(f"# evolve: note: {one.name}, in Glaucis {came}")
        try:
            text = text_of(one.kernel)
        except Wrong as why:
            self.notices.append(f"{str(why).removeprefix(f'{self.folder}/')}; the kernel is not imported")
            return "# evolve: pass: its kernel could not be read\n"
        return "\n".join(lines) + "\n" + text

    def _parent(self, one: Tried) -> str:
        """Returns the best variant before this one in its lineage."""
        before = [other for other in self._lineages[one.lineage] if other.round < one.round] if one.lineage else []
        return max(before, key=lambda other: other.speedup).id if before else ""

    @cached_property
    def _lineages(self) -> defaultdict[str, list[Tried]]:
        """The correct variants that were tried in each lineage, or founded the lineage."""
        founded: dict[str, list[str]] = defaultdict(list)
        for lineage, history in self._histories().items():
            for name in history:
                founded[name].append(lineage)
        found: defaultdict[str, list[Tried]] = defaultdict(list)
        for one in self.tried:
            for lineage in {one.lineage, *founded.get(f"iter-{one.round}-{one.direction}", [])} if one.speedup else ():
                found[lineage].append(one)
        return found

    def _histories(self) -> dict[str, list[str]]:
        path = self.folder / "lineages.json"
        if not path.is_file():
            return {}
        try:
            read = json_of(path)
            return {str(one["id"]): [str(name) for name in one.get("history", [])] for one in read["lineages"]}
        except (Wrong, KeyError, TypeError, AttributeError, RecursionError) as error:
            self.notices.append(
                f"lineages.json: not lineages of Glaucis: {one_line(str(error))}; no lineage is imported"
            )
            return {}

    def _selections(self, case: str) -> list[dict[str, Any]]:
        """Returns a selection.json per round (engine/search/README.md); scores are relative to the baseline."""
        by_round: defaultdict[int, list[Tried]] = defaultdict(list)
        for one in self.tried:
            by_round[one.round].append(one)
        found: list[dict[str, Any]] = []
        best: Tried | None = None
        for place in range(1, self.rounds + 1):
            tried = by_round[place]
            ranked = sorted((one for one in tried if one.speedup), key=lambda one: -one.speedup)
            # Among equally good variants, the first counts as the best.
            best = max([*([best] if best else []), *ranked], key=lambda one: one.speedup, default=None)
            found.append(
                {
                    "round": place,
                    "time_kind": "measured",
                    "from": "glaucis",
                    "best": best.row if best else None,
                    "survivors": [one.row | {"reason": one.name} for one in ranked[:2]],
                    "ranking": [one.row for one in ranked],
                    "rejected": [_rejection(one, case) for one in tried if not one.speedup],
                }
            )
        return found

    def _work(self, case: str) -> dict[str, Any]:
        """Returns the data about variants that `evolve show` reads until a build has its own files."""
        found: dict[str, Any] = {}
        for one in self.tried:
            folder = f"round-{one.round}/{one.id}"
            parent = self._parent(one)
            found[f"{folder}/variant.json"] = {
                "id": one.id,
                "round": one.round,
                "parents": [parent] if parent else [],
                "mutator": "person",
                "parameters": {},
                "note": f"{one.name}, as Glaucis judged it",
            }
            if one.speedup:
                seconds = one.result["latency_ms"] / 1e3
                found[f"{folder}/{case}/time.json"] = {"verdict": "ok", "kind": "measured", "seconds": seconds}
            else:
                row = _rejection(one, case)
                found[f"{folder}/{case}/{row['step']}.json"] = {
                    "verdict": "rejected",
                    "kind": row["kind"],
                    "reason": row["reason"],
                }
        return found


def _word(value: Any) -> str:
    if value is not None and not isinstance(value, str):
        raise Wrong("expected a text")
    return value or ""


def _measured(value: Any) -> float:
    """Reads a time or a speedup; 0: it is missing."""
    if value is None:
        return 0.0
    if not isinstance(value, (int, float, str)):
        raise Wrong("expected a number")
    try:
        found = number("a number", value if isinstance(value, (int, float)) else one_line(value))
    except OverflowError:
        found = math.inf
    if not 0 <= found < _MOST_MEASURED:
        raise Wrong(f"{one_line(str(value), 40)}: expected a finite number of at least 0")
    return found


def _rejection(one: Tried, case: str) -> dict[str, Any]:
    step, kind = _KINDS.get(one.status, ("check", one.status.lower()))
    lines = str(one.result.get("error") or "").strip().splitlines()
    # The last line of a traceback, apart from JAX's own remark, says what went wrong.
    words = [line for line in lines if "Error" in line or "max_diff" in line]
    reason = one_line((words or lines or ["no reason given"])[-1].strip(), 300)
    return {"variant": one.id, "step": step, "case": case, "kind": kind, "reason": reason}
