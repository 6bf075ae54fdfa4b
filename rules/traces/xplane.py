"""Step xplane: what a device did, from the traces that JAX's profiler wrote there (`*.xplane.pb`).

Times are a device's own: the union of the ops of each of a program's executions. They are never from a host's clock,
nor the time between the largest gaps. An execution that cannot be real is refused and counts nowhere (executions.py).
The verdict is whether enough executions are left. rules/README.md describes the format.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from reports import verdict
from reports.depfile import write_depfile
from reports.verdict import Report
from traces import executions
from traces.executions import Execution, Interval, common, length, op_name, seconds, union
from traces.xspace import BrokenTrace, Event, Plane, Value, read_space

FORMAT = "evolve-device-trace-1"

# SparseCores are left out: they have planes and lines of their own.
_DEVICE = re.compile(r"/device:(TPU|GPU):\d+$")
_MOST_OPS = 200


@dataclass(frozen=True)
class Asked:
    """The request about the executions: which program, how often, and how long it takes at least."""

    module: str | None = None
    runs: int | None = None
    floor: float = 0

    def is_of(self, one: Execution) -> bool:
        """Whether an execution is one of the program "jit_f", or "jit_f(FINGERPRINT)"."""
        return self.module in (None, one.name, f"{one.name}({one.program})")


def _spread(values: list[int]) -> dict[str, float]:
    return {"median": seconds(median(values)), "min": seconds(min(values)), "max": seconds(max(values))}


def _spans(events: Iterable[Event]) -> list[Interval]:
    return union((event.start, event.end) for event in events)


class _Device:
    """One device's plane, and the executions of its programs."""

    def __init__(self, plane: Plane, asked: Asked) -> None:
        self.core = executions.read_core(plane)
        every = self.core.executions
        self.programs = {
            key: siblings for key, siblings in executions.by_program(every).items() if asked.is_of(siblings[0])
        }
        for siblings in self.programs.values():
            executions.refuse_among(siblings, (every[0], every[-1]), asked.floor)
        around = executions.events_of(plane, "Tensor Core", "XLA Ops")
        waits = [event for event in around if executions.is_wait(event)]
        self._begin = every[0].start if every else 0
        self._knows_waits = bool(waits) or any(line.name == "Tensor Core Sync Flag" for line in plane.lines)
        self._waits = _spans(waits)
        self._idle = _spans(event for event in around if op_name(event).lower() == "idle")
        self._async = _spans(executions.events_of(plane, "Async XLA Ops"))
        self._counters = executions.events_of(plane, "_counters_", "counters_")
        self.aggregated = sum(line.aggregated for line in plane.lines if line.name.startswith("XLA "))

    def report(self, key: tuple[str, str], missing: list[int]) -> Report:
        """Returns the report on one program."""
        siblings = self.programs[key]
        taken = [one for one in siblings if not one.kind]
        out: Report = {
            "name": key[0],
            "program_id": key[1],
            "runs": len(taken),
            "missing_runs": [str(run) for run in missing],
            "refused": [
                {
                    "kind": one.kind,
                    "reason": one.reason,
                    "run_id": _id(one.run),
                    "start_seconds": seconds(one.start - self._begin),
                    "window_seconds": seconds(one.end - one.start),
                    "seconds": seconds(length(one.busy)),
                }
                for one in siblings
                if one.kind
            ],
        }
        return {**out, **self._times(taken)} if taken else out

    def _times(self, taken: list[Execution]) -> Report:
        windows = [one.end - one.start for one in taken]
        busy = [length(one.busy) for one in taken]
        waits = [length(one.within(self._waits)) for one in taken]
        away = sum(length(one.within(self._async)) for one in taken)
        hidden = sum(common(one.within(self._async), one.busy) for one in taken)
        computes = sum(
            time - common(one.busy, [*one.within(self._waits), *one.within(self._idle)])
            for one, time in zip(taken, busy, strict=True)
        )
        whole = sum(windows)
        return {
            "seconds": _spread(busy),
            "window_seconds": _spread(windows),
            "idle_seconds": _spread([window - time for window, time in zip(windows, busy, strict=True)]),
            "busy_share": sum(busy) / whole,
            "sync_wait_seconds": _spread(waits) if self._knows_waits else None,
            "compute_ratio": computes / whole if self._knows_waits else None,
            "memory_transfer_ratio": (whole - computes) / whole if self._knows_waits else None,
            "sync_wait_ratio": sum(waits) / whole if self._knows_waits else None,
            "async_seconds": seconds(away),
            "async_hidden_share": hidden / away if away else None,
            "op_count": len({op_name(op) for one in taken for op in one.ops}),
            "ops": _ops(taken, sum(busy)),
            "counters": _counters(self._counters, taken),
            "executions": [
                {
                    "run_id": _id(one.run),
                    "start_seconds": seconds(one.start - self._begin),
                    "window_seconds": seconds(window),
                    "seconds": seconds(time),
                    "sync_wait_seconds": seconds(wait) if self._knows_waits else None,
                }
                for one, window, time, wait in zip(taken, windows, busy, waits, strict=True)
            ],
        }


def _id(run: int | None) -> str | None:
    return None if run is None else str(run)


def _ops(taken: list[Execution], busy: int) -> list[Report]:
    """Returns the ops by their time in all executions, longest first."""
    events = defaultdict(list)
    for one in taken:
        for op in one.ops:
            events[op_name(op)].append(op)
    times: dict[str, int] = {name: length(_spans(ops)) for name, ops in events.items()}
    out: list[Report] = []
    for name in sorted(events, key=lambda name: (-times[name], name))[:_MOST_OPS]:
        ops = events[name]
        category = ops[0].stats.get("hlo_category")
        out.append(
            {
                "name": name,
                "category": category,
                "is_custom_call": category == "custom-call" or " custom-call(" in ops[0].name,
                "times": len(ops),
                "seconds": seconds(times[name]),
                "share": times[name] / busy,
            }
        )
    return out


def _number(value: Value | None) -> float | None:
    """Returns the number of a stat that may be a text, as "12.5 %"; None: the stat is not a number."""
    try:
        number = float(value.strip().removesuffix("%")) if isinstance(value, str) else value
    except ValueError:
        return None
    return number if number is not None and math.isfinite(number) else None


def _counters(samples: list[Event], taken: list[Execution]) -> Report:
    """Returns the hardware's counts inside of the executions; a sample is the mean over its own time.

    If every unit reads zero while ops run, as in rolled loops of Pallas kernels, nothing was counted: a core that works
    issues at least scalar instructions.
    """
    starts = [one.start for one in taken]
    weights: dict[str, float] = defaultdict(float)
    covered: dict[str, list[Interval]] = defaultdict(list)
    counts: dict[str, float] = {}
    refused = 0
    for sample in samples:
        inside: list[Interval] = []
        number = max(0, bisect_right(starts, sample.start) - 1)
        while number < len(taken) and taken[number].start < sample.end:
            inside += taken[number].clipped([(sample.start, sample.end)])
            number += 1
        if not inside:
            continue
        share = _number(sample.stats.get("% util"))
        if share is not None and not 0 <= share <= 100:
            refused += 1
        elif share is not None:
            weights[op_name(sample)] += share / 100 * length(inside)
            covered[op_name(sample)] += inside
        for name in ("fills", "spills"):
            count = _number(sample.stats.get(name))
            if count is not None and inside[0][0] == sample.start:
                counts[name] = counts.get(name, 0) + count
    window = sum(one.end - one.start for one in taken)
    sampled = (span for spans in covered.values() for span in spans)
    ran = (span for one in taken for span in one.busy)
    not_credible = None
    if not any(weights.values()) and common(sampled, ran):
        not_credible = f"{', '.join(sorted(covered))}: 0 % all the time, while ops ran"
        covered.clear()
    return {
        "not_credible": not_credible,
        "utilisation": {
            name: {
                "share": weights[name] / sum(end - start for start, end in spans),
                "covered_share": length(union(spans)) / window,
            }
            for name, spans in sorted(covered.items())
        },
        "fills": counts.get("fills"),
        "spills": counts.get("spills"),
        "refused": refused,
    }


def _missing_runs(devices: list[_Device], key: tuple[str, str], own: _Device) -> list[int]:
    """Returns the runs that other cores have, of those cores that share at least one run with this one."""
    here = {one.run for one in own.programs[key]}
    out: set[int] = set()
    for other in devices:
        there = {one.run for one in other.programs.get(key, ()) if one.run is not None}
        if there & here:
            out |= {run for run in there if run not in here}
    return sorted(out)


def _contents(planes: list[Plane]) -> str:
    words = [f"'{plane.name}' with {plane.line_count} lines" for plane in planes]
    return ", ".join(words[:4]) + (f" and {len(words) - 4} more" if len(words) > 4 else "")


def _devices_of(data: bytes, asked: Asked) -> tuple[dict[str, _Device], list[str], list[str]]:
    """Returns a file's devices by name, the other planes' names, and the profiler's remarks. Raises BrokenTrace."""
    space = read_space(data)
    planes = [plane for plane in space.planes if _DEVICE.match(plane.name)]
    if not planes:
        raise BrokenTrace(f"no TPU or GPU is in this trace, only {_contents(space.planes)}")
    twice = [name for name, times in Counter(plane.name for plane in planes).items() if times > 1]
    if twice:
        raise BrokenTrace(f"more than one plane is called '{twice[0]}'")
    devices = {plane.name: _Device(plane, asked) for plane in planes}
    if not any(device.core.executions for device in devices.values()):
        lines = sorted({line.name for plane in planes for line in plane.lines})
        raise BrokenTrace(f"no line 'XLA Modules' with executions of programs, only {', '.join(lines) or 'no lines'}")
    return devices, [plane.name for plane in space.planes if plane not in planes], space.remarks


def _reason(devices: list[Report], asked: Asked, known: set[str]) -> str:
    """Returns why the trace does not answer what was asked; empty: it does. `known`: the programs in the trace."""
    programs = [(device["device"], program) for device in devices for program in device["programs"]]
    if not programs:
        names = sorted(known)
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        return f"the trace has no execution of '{asked.module}'; it has {', '.join(names[:5])}{more}"
    for device, program in programs:
        is_wrong = program["runs"] != asked.runs if asked.runs is not None else asked.module and not program["runs"]
        if is_wrong:
            wanted = "" if asked.runs is None else f" of {asked.runs}"
            refused = program["refused"]
            why = f", {len(refused)} refused: {refused[0]['reason']}" if refused else ""
            return f"{program['name']} on {device}: {program['runs']}{wanted} executions count{why}"
    if not any(program["runs"] for _, program in programs):
        return f"all executions are refused: {programs[0][1]['refused'][0]['reason']}"
    return ""


def read_traces(traces: dict[str, bytes], asked: Asked) -> Report:
    """Returns the report on the files' contents, by their names. Raises BrokenTrace."""
    reports: list[Report] = []
    others: list[Report] = []
    remarks: list[str] = []
    known: set[str] = set()
    for path, data in traces.items():
        try:
            devices, left_out, said = _devices_of(data, asked)
            remarks += said
            others += [{"trace": path, "plane": name} for name in left_out]
            for name, device in devices.items():
                known |= {one.name for one in device.core.executions}
                together = list(devices.values())
                programs = [device.report(key, _missing_runs(together, key, device)) for key in device.programs]
                programs.sort(key=lambda one: -one["runs"] * one.get("seconds", {}).get("median", 0))
                reports.append(
                    {
                        "trace": path,
                        "device": name,
                        "programs": programs,
                        "ops_between": device.core.ops_between,
                        "degradations": {
                            "program_ids_from_names": device.core.ids_from_names,
                            "executions_without_run_id": device.core.without_run,
                            "aggregated_events": device.aggregated,
                        },
                    }
                )
        except BrokenTrace as error:
            raise BrokenTrace(f"{path}: {error}") from error
    fields = {"format": FORMAT, "devices": reports, "planes_left_out": others, "remarks": remarks}
    reason = _reason(reports, asked, known)
    return verdict.rejected("suspicious", reason, **fields) if reason else verdict.ok(**fields)


def main(argv: list[str]) -> int:
    """Runs the step; the exit code is 2 if a file is not a trace of a device."""
    parser = argparse.ArgumentParser(prog="xplane")
    parser.add_argument("--trace", required=True, nargs="+", action="extend", help="*.xplane.pb, one per host")
    parser.add_argument("--out", required=True, help="where the report goes; - for stdout")
    parser.add_argument("--module", help="only this program: jit_f, or jit_f(FINGERPRINT)")
    parser.add_argument(
        "--runs", type=int, help="how many accepted executions each device that ran the program must have"
    )
    parser.add_argument("--floor", type=float, default=0, help="seconds; no execution can be shorter")
    parser.add_argument("--depfile")
    args = parser.parse_args(argv)
    if not math.isfinite(args.floor):
        parser.error("--floor: expected a number of seconds")
    try:
        # The names are made printable, whatever bytes they have.
        traces = {os.fsencode(path).decode(errors="replace"): Path(path).read_bytes() for path in args.trace}
        report = read_traces(traces, Asked(args.module, args.runs, args.floor))
    except OSError as error:
        name = os.fsencode(error.filename).decode(errors="replace")
        print(f"xplane: {name}: {error.strerror}", file=sys.stderr)
        return 2
    except BrokenTrace as error:
        print(f"xplane: {error}", file=sys.stderr)
        return 2
    if args.out == "-":
        sys.stdout.buffer.write(verdict.encode(report))
        return 0
    verdict.write_report(args.out, report)
    write_depfile(args.depfile, args.out)
    return 0
