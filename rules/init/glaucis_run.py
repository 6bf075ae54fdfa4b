"""A run's folder of Glaucis: its kernels become what people propose for the opening rounds, and its results history.

iteration_N/variants/DIRECTION has a kernel.py and an eval_result.json; lineages.json says whose child each was. What
was measured there is told as it was, and judges nobody here: a build has every kernel judged anew.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from source import Imported, Wrong

# How far above a config what was learned may lie, and the examples of a run: runs/NAME_DATE is beside examples.
_MOST_ABOVE = 5
_KINDS = {"INCORRECT": ("check", "incorrect"), "COMPILE_ERROR": ("compile", "compile-error")}


def learnings_above(path: Path) -> str:
    """The AGENT.md of the nearest folder that has one; empty: there is none."""
    for folder in path.resolve().parents[:_MOST_ABOVE]:
        if (folder / "AGENT.md").is_file():
            return (folder / "AGENT.md").read_text()
    return ""


@dataclass(frozen=True)
class Tried:
    """A variant, and what came of it there."""

    id: str
    round: int
    direction: str  # as its folder is called: "L2_fuse_fwd"
    kernel: Path
    result: dict[str, Any]

    @property
    def lineage(self) -> str:
        """The lineage that it was tried in; empty: it was the first of its own."""
        first = self.direction.split("_")[0]
        return first if first[:1] == "L" and first[1:].isdigit() else ""

    @property
    def speedup(self) -> float:
        """Over the reference, which has 1; 0: it was turned down."""
        return float(self.result.get("speedup") or 0) if self.result.get("status") == "SUCCESS" else 0.0


class Run:
    """What a run's folder has."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.baseline = folder / "baseline_kernel.py"
        if not self.baseline.is_file():
            raise Wrong(f"{folder}: not a run of Glaucis: it has no baseline_kernel.py")
        by_round = [(n, sorted(self._variants(n))) for n in self._rounds()]
        self.variants = max((len(found) for _, found in by_round), default=0)
        if self.variants == 0:
            raise Wrong(f"{folder}: there is no iteration_N/variants/NAME/kernel.py")
        self.rounds = by_round[-1][0]
        self.tried = [
            Tried(f"v{(n - 1) * self.variants + place + 1:04}", n, kernel.parent.name, kernel, _result(kernel.parent))
            for n, found in by_round
            for place, kernel in enumerate(found)
        ]

    def _rounds(self) -> list[int]:
        found = [one.name.removeprefix("iteration_") for one in self.folder.glob("iteration_*")]
        return sorted(int(name) for name in found if name.isdigit() and int(name) > 0 and self._variants(int(name)))

    def _variants(self, number: int) -> list[Path]:
        return list(self.folder.glob(f"iteration_{number}/variants/*/kernel.py"))

    def reference(self, config: dict[str, Any]) -> Path:
        """The config's, which the run has no copy of: it is where the config was."""
        named = str((config.get("kernel") or {}).get("reference", ""))
        for folder in (self.folder, *self.folder.resolve().parents[:_MOST_ABOVE]):
            for place in (folder / named, folder / "examples" / named):
                if named and place.is_file():
                    return place
        raise Wrong(f"{self.folder / 'config.yaml'}: kernel.reference: there is no {named} here or above")

    def added_to(self, task: Imported) -> Imported:
        """The task with the run's kernels and its past."""
        given = replace(
            task.given,
            opening=self.rounds,
            variants=self.variants,
            rounds=max(task.given.rounds, self.rounds),
            policy="lineages",
        )
        case = given.cases[0].name
        return replace(
            task,
            path=str(self.folder),
            given=given,
            proposals=self._proposals(),
            past={"rounds": self._selections(case), "work": self._work(case)},
        )

    def _proposals(self) -> dict[str, str]:
        known = {f"{one.id}.py": self._proposal(one) for one in self.tried}
        every = [f"v{number:04}.py" for number in range(1, self.rounds * self.variants + 1)]
        return {name: known.get(name, "# evolve: pass: the run has no more in this round\n") for name in every}

    def _proposal(self, one: Tried) -> str:
        parent = self._parent(one)
        lines = [f"# evolve: parents: {parent}"] if parent else []
        came = f"{one.speedup:g}x of its reference" if one.speedup else str(one.result.get("status", "no result"))
        lines.append(f"# evolve: note: {one.direction}, in Glaucis {came}")
        return "\n".join(lines) + "\n" + one.kernel.read_text()

    def _parent(self, one: Tried) -> str:
        """The best of its lineage before it."""
        before = [
            other
            for other in self.tried
            if other.round < one.round and other.speedup and self._is_of(other, one.lineage) and one.lineage
        ]
        return max(before, key=lambda other: other.speedup).id if before else ""

    def _is_of(self, one: Tried, lineage: str) -> bool:
        """Whether it was tried in the lineage, or founded it."""
        return one.lineage == lineage or f"iter-{one.round}-{one.direction}" in self._histories().get(lineage, [])

    def _histories(self) -> dict[str, list[str]]:
        path = self.folder / "lineages.json"
        if not path.is_file():
            return {}
        try:
            read = json.loads(path.read_text())
            return {one["id"]: list(one.get("history", [])) for one in read["lineages"]}
        except (ValueError, KeyError, TypeError) as error:
            raise Wrong(f"{path}: not lineages of Glaucis: {error}") from error

    def _selections(self, case: str) -> list[dict[str, Any]]:
        """A selection.json each (engine/search/README.md), of what was measured there; scores are over the baseline."""
        seed = float(_result(self.folder / "baseline").get("speedup") or 1)
        found = []
        for number in range(1, self.rounds + 1):
            tried = [one for one in self.tried if one.round == number]
            ranked = sorted((one for one in tried if one.speedup), key=lambda one: -one.speedup)
            so_far = [one for one in self.tried if one.round <= number and one.speedup]
            best = max(so_far, key=lambda one: one.speedup, default=None)
            found.append(
                {
                    "round": number,
                    "time_kind": "measured",
                    "from": "glaucis",
                    "best": _row(best, seed) if best else None,
                    "survivors": [_row(one, seed) | {"reason": one.direction} for one in ranked[:2]],
                    "ranking": [_row(one, seed) for one in ranked],
                    "rejected": [_rejection(one, case) for one in tried if not one.speedup],
                }
            )
        return found

    def _work(self, case: str) -> dict[str, Any]:
        """What `evolve show` reads of a variant, until a build has its own."""
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
                "note": f"{one.direction}, as Glaucis judged it",
            }
            if one.speedup:
                seconds = float(one.result.get("latency_ms") or 0) / 1e3
                found[f"{folder}/{case}/time.json"] = {"verdict": "ok", "kind": "measured", "seconds": seconds}
            else:
                row = _rejection(one, case)
                found[f"{folder}/{case}/{row['step']}.json"] = {
                    "verdict": "rejected",
                    "kind": row["kind"],
                    "reason": row["reason"],
                }
        return found


def _result(folder: Path) -> dict[str, Any]:
    path = folder / "eval_result.json"
    if not path.is_file():
        return {}
    try:
        read = json.loads(path.read_text())
    except ValueError as error:
        raise Wrong(f"{path}: no JSON: {error}") from error
    return read if isinstance(read, dict) else {}


def _row(one: Tried, seed: float) -> dict[str, Any]:
    return {"variant": one.id, "score": one.speedup / seed, "parameters": {}}


def _rejection(one: Tried, case: str) -> dict[str, Any]:
    status = str(one.result.get("status", "no result"))
    step, kind = _KINDS.get(status, ("check", status.lower()))
    lines = str(one.result.get("error") or "").strip().splitlines()
    # Of a traceback the last line but JAX's own remark says what went wrong.
    words = [line for line in lines if "Error" in line or "max_diff" in line]
    reason = (words or lines or ["nothing was said"])[-1].strip()
    return {"variant": one.id, "step": step, "case": case, "kind": kind, "reason": reason}
