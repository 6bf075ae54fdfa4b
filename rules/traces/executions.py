"""A core's executions of programs, from its lines of a trace, and which of them cannot be real.

An execution is an event of the line "XLA Modules": its window. Its work is the events of "XLA Ops" that lie in the
window. Its time is the length of their union, because ops nest (a loop's event spans those of its body) and overlap. An
execution that cannot be real is refused, with a kind and a reason: it counts nowhere.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

from traces.xspace import Event, Plane

Interval = tuple[int, int]

# In picoseconds. The times of modules and of ops may differ by this, because they are rounded separately, from cycles.
_TOLERANCE = 1000
# An execution that takes less than this share of the others' time for the same ops has not run.
_SHORTEST_SHARE = 0.1
_FINGERPRINT = re.compile(r"^(.*)\((\d+)\)$", re.DOTALL)


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """Returns the same time, in order, without overlaps; intervals without length are left out."""
    out: list[Interval] = []
    for start, end in sorted(intervals):
        if start >= end:
            continue
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], end))
        else:
            out.append((start, end))
    return out


def length(intervals: Iterable[Interval]) -> int:
    """Returns the length of a union."""
    return sum(end - start for start, end in intervals)


def common(one: Iterable[Interval], other: Iterable[Interval]) -> int:
    """Returns how long both last at the same time."""
    one, other = union(one), union(other)
    return length(one) + length(other) - length(union([*one, *other]))


def seconds(picoseconds: float) -> float:
    """Converts picoseconds into the unit of reports."""
    return picoseconds / 1e12


def duration(picoseconds: float) -> str:
    """Returns a duration in words: "13.5 ms"."""
    for unit, size in (("s", 1e12), ("ms", 1e9), ("us", 1e6), ("ns", 1e3)):
        if abs(picoseconds) >= size:
            return f"{picoseconds / size:.3g} {unit}"
    return f"{picoseconds:g} ps"


@dataclass
class Execution:
    """One run of one program on one core."""

    name: str  # "jit_f"
    program: str  # the program's id; without one, the fingerprint or the name
    run: int | None
    start: int
    end: int
    ops: list[Event] = field(default_factory=list)
    kind: str = ""  # why the execution is refused; empty: it is not
    reason: str = ""

    @property
    def window(self) -> Interval:
        """The execution's begin and end."""
        return self.start, self.end

    @property
    def said(self) -> str:
        """The execution in words: "run 7 of jit_f"."""
        return f"a run of {self.name}" if self.run is None else f"run {self.run} of {self.name}"

    @cached_property
    def busy(self) -> list[Interval]:
        """The time in which an op ran. REQUIRES: all ops are known."""
        return self.clipped((op.start, op.end) for op in self.ops)

    def within(self, apart: list[Interval]) -> list[Interval]:
        """Clips a union to the window; looks only at those of its intervals that touch the window."""
        first = bisect_left(apart, self.start, key=lambda one: one[1])
        last = bisect_left(apart, self.end, key=lambda one: one[0])
        return self.clipped(apart[first:last])

    def clipped(self, intervals: Iterable[Interval]) -> list[Interval]:
        """Returns the part of the intervals that lies in the window, as a union."""
        return union((max(start, self.start), min(end, self.end)) for start, end in intervals)

    def refuse(self, kind: str, reason: str) -> None:
        """Refuses the execution; the first reason stays."""
        if not self.kind:
            self.kind, self.reason = kind, reason


def op_name(event: Event) -> str:
    """Returns an op's name, as "fusion.3", even if the event's name is a line of HLO."""
    name = event.display_name or event.name
    return name.removeprefix("%").split(" = ", 1)[0]


def is_wait(event: Event) -> bool:
    """Whether an event is the core's wait for a flag, and not an op."""
    return "SyncWait" in event.name or "SyncWait" in event.display_name


def events_of(plane: Plane, *prefixes: str) -> list[Event]:
    """Returns the events of the lines whose names begin with one of these."""
    return [event for line in plane.lines if line.name.startswith(prefixes) for event in line.events]


@dataclass
class Core:
    """The executions of one device."""

    executions: list[Execution]
    ops_between: int = 0  # in no execution's window
    ids_from_names: int = 0
    without_run: int = 0


def read_core(plane: Plane) -> Core:
    """Reads all executions of a core, and refuses those that cannot be real."""
    core = Core([])
    for event in events_of(plane, "XLA Modules"):
        core.executions.append(_execution(event, core))
    core.executions.sort(key=lambda one: one.window)
    _assign_ops(core, [event for event in events_of(plane, "XLA Ops") if not is_wait(event)])
    for one in core.executions:
        _refuse_by_itself(one)
    _refuse_overlaps(core.executions)
    return core


def _execution(event: Event, core: Core) -> Execution:
    match = _FINGERPRINT.match(event.name)
    name, fingerprint = match.groups() if match else (event.name, "")
    program, run = event.stats.get("program_id"), event.stats.get("run_id")
    if program is None:
        core.ids_from_names += 1
        program = fingerprint or name
    if not isinstance(run, int):
        core.without_run += 1
        run = None
    return Execution(name, str(program), run, event.start, event.end)


def _assign_ops(core: Core, ops: list[Event]) -> None:
    """Assigns each op to the window that most of it lies in; if an op sticks out, refuses its windows."""
    windows = core.executions
    starts = [one.start for one in windows]
    latest = list(accumulate((one.end for one in windows), max))
    for op in sorted(ops, key=lambda op: (op.start, -op.duration)):
        # An op that ends before its start counts as an op without length, at its start.
        end = max(op.start, op.end)
        last = bisect_left(starts, end + _TOLERANCE + 1)
        candidates = []
        is_at_seam = False
        while last > 0 and latest[last - 1] >= op.start - _TOLERANCE:
            last -= 1
            shared = min(end, windows[last].end) - max(op.start, windows[last].start)
            if shared >= -_TOLERANCE:
                candidates.append((shared, last))
                is_at_seam |= min(abs(op.start - windows[last].start), abs(op.start - windows[last].end)) <= _TOLERANCE
        if is_at_seam and op.duration == 0:
            continue  # takes no time, and may be this window's or the next one's
        if not candidates:
            core.ops_between += 1
            continue
        own = windows[max(candidates)[1]]
        own.ops.append(op)
        beyond = max(own.start - op.start, op.end - own.end)
        if beyond > _TOLERANCE:
            for shared, number in candidates:
                if shared > _TOLERANCE or windows[number] is own:
                    reason = f"op '{op_name(op)}' extends {duration(beyond)} beyond the window of {own.said}"
                    windows[number].refuse("outside", reason)


def _refuse_by_itself(one: Execution) -> None:
    if one.end <= one.start:
        one.refuse("duration", f"a duration of {duration(one.end - one.start)}")
    for op in one.ops:
        if op.duration < 0:
            one.refuse("duration", f"op '{op_name(op)}' has a duration of {duration(op.duration)}")
    if not one.busy:
        one.refuse("no-ops", "the trace has no op of it")


def _refuse_overlaps(executions: list[Execution]) -> None:
    """Refuses executions that overlap: a core runs one program at a time."""
    longest: Execution | None = None
    for one in executions:
        if longest is not None and longest.end - one.start > _TOLERANCE and one.end > one.start:
            shared = duration(min(longest.end, one.end) - one.start)
            one.refuse("overlap", f"overlaps {longest.said} on the same core by {shared}")
            longest.refuse("overlap", f"overlaps {one.said} on the same core by {shared}")
        if longest is None or one.end > longest.end:
            longest = one


def by_program(executions: list[Execution]) -> dict[tuple[str, str], list[Execution]]:
    """Groups executions by name and id, in order of time."""
    out = defaultdict(list)
    for one in executions:
        out[one.name, one.program].append(one)
    return dict(out)


def refuse_among(siblings: list[Execution], ends: tuple[Execution, Execution], floor: float) -> None:
    """Refuses executions of one program that do not fit the others; `ends`: the core's first and last execution."""
    runs = Counter(one.run for one in siblings if one.run is not None)
    for one in siblings:
        if one.run is not None and runs[one.run] > 1:
            one.refuse("repeated-run", f"{runs[one.run]} executions have run id {one.run}")
        if length(one.busy) < floor * 1e12:
            one.refuse("floor", f"{duration(length(one.busy))}, the least possible is {duration(floor * 1e12)}")
    _refuse_other_ops([one for one in siblings if not one.kind], ends)
    left = sorted((one for one in siblings if not one.kind), key=lambda one: length(one.busy))
    if len(left) < 3:
        return
    median = length(left[len(left) // 2].busy)
    for one in left:
        if length(one.busy) < _SHORTEST_SHARE * median:
            own = duration(length(one.busy))
            one.refuse("short", f"{own} for the ops that others take {duration(median)} for")


def _refuse_other_ops(siblings: list[Execution], ends: tuple[Execution, Execution]) -> None:
    """Refuses executions with other ops than most have. Among equally frequent sets of ops the largest counts."""
    ops = {id(one): Counter(map(op_name, one.ops)) for one in siblings}
    groups = Counter(frozenset(counts.items()) for counts in ops.values())
    if not groups:
        return
    most, times = max(groups.items(), key=lambda group: (group[1], sum(count for _, count in group[0])))
    usual = Counter(dict(most))
    if 2 * times < len(siblings):
        for one in siblings:
            one.refuse("ops", f"at most {times} of {len(siblings)} executions have the same ops")
        return
    for one in siblings:
        own = ops[id(one)]
        if own == usual:
            continue
        is_end = one is ends[0] or one is ends[1]
        if is_end and own <= usual:
            where = "begins" if one is ends[0] else "ends"
            reason = f"cut off where the trace {where}: {own.total()} of the {usual.total()} ops of others"
            one.refuse("cut", reason)
        else:
            one.refuse("ops", "its ops differ from those of other executions: " + _difference(own, usual))


def _difference(own: Counter[str], usual: Counter[str]) -> str:
    words = [f"{sign} {_listed(names)}" for sign, names in (("without", usual - own), ("with", own - usual)) if names]
    return ", ".join(words)


def _listed(names: Counter[str]) -> str:
    shown = [f"'{name}'" + (f" {count} times" if count > 1 else "") for name, count in sorted(names.items())[:3]]
    return ", ".join(shown) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
