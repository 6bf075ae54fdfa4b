"""Traces made from text, in XSpace's own text format."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from jax.profiler import ProfileData

from traces.xplane import Asked, read_traces

US = 1_000_000  # picoseconds
MATMUL = '%dot.1 = f32[8,128]{1,0:T(8,128)} custom-call(%x), custom_call_target="tpu_custom_call"'


@dataclass
class Trace:
    """An XSpace as text, built event by event. Times are in microseconds."""

    timestamp_ns: int = 5_000
    planes: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)
    stats: dict[str, int] = field(default_factory=dict)
    categories: dict[str, str] = field(default_factory=dict)  # by event name; each category is written once

    def add(self, line: str, name: str, start: float, duration: float, core: str = "TPU:0", **stats: Any) -> None:
        number = self.names.setdefault(name, len(self.names) + 1)
        times = f"offset_ps: {round(start * US)} duration_ps: {round(duration * US)}"
        said = "".join(f" stats {{ {self._stat(key, value)} }}" for key, value in stats.items())
        events = self.planes.setdefault(f"/device:{core}", {}).setdefault(line, [])
        events.append(f"events {{ metadata_id: {number} {times}{said} }}")

    def run(self, number: int | None, start: float, duration: float = 10, **given: Any) -> None:
        """Adds an execution of jit_f with three ops: the second is inside the first, and the third follows a gap."""
        name, program, core = given.get("name", "jit_f"), given.get("program", 77), given.get("core", "TPU:0")
        ids = {key: value for key, value in (("program_id", program), ("run_id", number)) if value is not None}
        self.add("XLA Modules", f"{name}({program or 99})", start, duration, core, **ids)
        for op, first, share in given.get("ops", (("while.1", 0.0, 0.5), (MATMUL, 0.1, 0.3), ("copy.2", 0.6, 0.3))):
            self.add("XLA Ops", op, start + first * duration, share * duration, core)

    def _stat(self, name: str, value: Any) -> str:
        key = self.stats.setdefault(name.replace("util", "% util"), len(self.stats) + 1)
        kind = {int: "uint64_value", float: "double_value", str: "str_value"}[type(value)]
        return f"metadata_id: {key} {kind}: {json.dumps(value)}"

    def text(self) -> str:
        said = {name: f" stats {{ {self._stat('hlo_category', value)} }}" for name, value in self.categories.items()}
        tables = [
            f"{table} {{ key: {key} value {{ id: {key} name: {json.dumps(name)}{said.get(name, '')} }} }}"
            for table, names in (("event_metadata", self.names), ("stat_metadata", self.stats))
            for name, key in names.items()
        ]
        planes = ['planes { name: "/host:CPU" lines { name: "python3" } }']
        for plane, lines in self.planes.items():
            parts = [
                f"lines {{ name: {json.dumps(name)} timestamp_ns: {self.timestamp_ns} {' '.join(events)} }}"
                for name, events in lines.items()
            ]
            planes.append(f"planes {{ name: {json.dumps(plane)} {' '.join([*parts, *tables])} }}")
        return "\n".join(planes)

    def bytes(self) -> bytes:
        return ProfileData.text_proto_to_serialized_xspace(self.text())

    def report(self, **asked: Any) -> dict[str, Any]:
        return read_traces({"t.xplane.pb": self.bytes()}, Asked(**asked))

    def program(self, number: int = 0, device: int = 0, **asked: Any) -> dict[str, Any]:
        program: dict[str, Any] = self.report(**asked)["devices"][device]["programs"][number]
        return program


def runs_of_one(count: int = 4, **given: Any) -> Trace:
    trace = Trace()
    for number in range(count):
        trace.run(number, 100.0 * (number + 1), **given)
    return trace
