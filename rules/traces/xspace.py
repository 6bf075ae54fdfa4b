"""The reader of `*.xplane.pb`, which a profiler writes: planes of lines of events, in whole picoseconds.

The wire format is read here: only the needed fields of XSpace's messages. Of a plane that nobody asks for, only the end
is read. jax.profiler.ProfileData reads such files, too. But it cuts start and duration separately to whole nanoseconds,
and hides stats that a TPU reports once for all events of an op (hlo_category). The tests compare the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from struct import Struct

Value = int | float | str
Span = tuple[int, int]  # from one byte to before another
Field = tuple[int, int, int]  # its number, and a whole number and -1, or the first byte and the byte after the last one

_DOUBLE = Struct("<d")


class BrokenTrace(Exception):
    """The bytes are not an XSpace, or not a whole one; the message says where."""


def _broken(at: int, what: str) -> BrokenTrace:
    return BrokenTrace(f"not an XPlane trace, or cut off: byte {at}: {what}")


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while at < end and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (2**64 - 1), at
        shift += 7
    raise _broken(at, "a number of more than 64 bits" if shift >= 70 else "the end, within a number")


def _fields(data: bytes, span: Span) -> Iterator[Field]:
    """Yields the fields of a message: numbers with -1 after them, bytes and fixed-width numbers by their place."""
    at, end = span
    while at < end:
        start = at
        tag, at = _varint(data, at, end)
        number, kind = tag >> 3, tag & 7
        if number == 0 or kind in (3, 4, 6, 7):
            raise _broken(start, f"no field begins with {data[start]:#04x}")
        if kind == 0:
            value, at = _varint(data, at, end)
            yield number, value, -1
            continue
        size = {1: 8, 5: 4}.get(kind)
        if size is None:
            size, at = _varint(data, at, end)
        if at + size > end:
            raise _broken(end, f"the end, {at + size - end} bytes of the field at byte {start} are missing")
        yield number, at, at + size
        at += size


def _signed(value: int) -> int:
    return value - 2**64 if value >= 2**63 else value


def _text(data: bytes, start: int, end: int) -> str:
    return data[start : max(start, end)].decode("utf-8", errors="replace")


@dataclass
class _Described:
    """The description of all events of a plane that have the same number."""

    name: str = ""
    display_name: str = ""
    stats: list[Span] = field(default_factory=list)


@dataclass
class _Names:
    """A plane's tables, by number."""

    data: bytes
    events: dict[int, _Described]
    stats: dict[int, str]

    def read(self, spans: list[Span]) -> dict[str, Value]:
        out: dict[str, Value] = {}
        for span in spans:
            key, value = 0, None
            for number, start, end in _fields(self.data, span):
                if number == 1:
                    key = _signed(start)
                else:
                    value = self._value(number, start, end)
            if value is not None:
                out[self.stats.get(key, str(key))] = value
        return out

    def _value(self, number: int, start: int, end: int) -> Value | None:
        if number == 2 and end - start == 8:
            value: float = _DOUBLE.unpack_from(self.data, start)[0]
            return value
        if number == 3:
            return start
        if number == 4:
            return _signed(start)
        if number == 5:
            return _text(self.data, start, end)
        return self.stats.get(start, "") if number == 7 else None


@dataclass
class Event:
    """One event. Picoseconds, from where the trace's clock begins."""

    start: int
    duration: int
    _number: int
    _stats: list[Span]
    _names: _Names

    @property
    def end(self) -> int:
        """The end of the event."""
        return self.start + self.duration

    @property
    def name(self) -> str:
        """The name in the plane; for an op of a TPU it is often a line of HLO."""
        return self._described.name

    @property
    def display_name(self) -> str:
        """A shorter name; may be empty."""
        return self._described.display_name

    @cached_property
    def stats(self) -> dict[str, Value]:
        """The stats of this event, and those of all events with its name."""
        return self._names.read(self._described.stats + self._stats)

    @property
    def _described(self) -> _Described:
        return self._names.events.setdefault(self._number, _Described(str(self._number)))


@dataclass
class Line:
    """Events of one kind."""

    name: str
    _timestamp: int
    _events: list[Span]
    _names: _Names
    aggregated: int = 0  # the number of events with a count but no time; known once `events` is read

    @cached_property
    def events(self) -> list[Event]:
        """The events that say when they were."""
        out = []
        for span in self._events:
            number = offset = duration = 0
            stats: list[Span] = []
            is_aggregated = False
            for key, start, end in _fields(self._names.data, span):
                if key == 1:
                    number = _signed(start)
                elif key == 2:
                    offset = _signed(start)
                elif key == 3:
                    duration = _signed(start)
                elif key == 4:
                    stats.append((start, end))
                elif key == 5:
                    is_aggregated = True
            if is_aggregated:
                self.aggregated += 1
            else:
                out.append(Event(self._timestamp + offset, duration, number, stats, self._names))
        return out


@dataclass
class Plane:
    """A device, or a part of a host."""

    name: str
    data: bytes
    _parts: dict[int, list[Span]]

    @cached_property
    def lines(self) -> list[Line]:
        """The lines, in the file's order."""
        names = _Names(
            self.data, dict(map(self._event_name, self._parts[4])), dict(map(self._stat_name, self._parts[5]))
        )
        return [self._line(span, names) for span in self._parts[3]]

    @property
    def line_count(self) -> int:
        """The number of lines."""
        return len(self._parts[3])

    def _line(self, span: Span, names: _Names) -> Line:
        texts = {2: "", 11: ""}
        timestamp = 0
        events = []
        for number, start, end in _fields(self.data, span):
            if number in texts:
                texts[number] = _text(self.data, start, end)
            elif number == 3:
                timestamp = _signed(start)
            elif number == 4:
                events.append((start, end))
        return Line(texts[2] or texts[11], 1000 * timestamp, events, names)

    def _entry(self, span: Span) -> tuple[int, Span]:
        """Reads an entry of a table: the number, and the place of what it stands for."""
        key, value = 0, (0, 0)
        for number, start, end in _fields(self.data, span):
            if number == 1:
                key = _signed(start)
            elif number == 2:
                value = (start, end)
        return key, value

    def _event_name(self, span: Span) -> tuple[int, _Described]:
        key, value = self._entry(span)
        out = _Described()
        for number, start, end in _fields(self.data, value):
            if number == 2:
                out.name = _text(self.data, start, end)
            elif number == 4:
                out.display_name = _text(self.data, start, end)
            elif number == 5:
                out.stats.append((start, end))
        return key, out

    def _stat_name(self, span: Span) -> tuple[int, str]:
        key, value = self._entry(span)
        names = [_text(self.data, start, end) for number, start, end in _fields(self.data, value) if number == 2]
        return key, names[-1] if names else ""


@dataclass
class Space:
    """The planes of a file, and the profiler's remarks on them."""

    planes: list[Plane]
    remarks: list[str]


def read_space(data: bytes) -> Space:
    """Reads a file's planes. Raises BrokenTrace, also later, when lines and events are read."""
    space = Space([], [])
    for number, start, end in _fields(data, (0, len(data))):
        if end < 0 or number not in (1, 2, 3):
            continue
        if number in (2, 3):
            space.remarks.append(_text(data, start, end))
            continue
        parts: dict[int, list[Span]] = {2: [], 3: [], 4: [], 5: []}
        for key, first, last in _fields(data, (start, end)):
            if key in parts and last >= 0:
                parts[key].append((first, last))
        name = _text(data, *parts[2][-1]) if parts[2] else ""
        space.planes.append(Plane(name, data, parts))
    if not space.planes:
        raise BrokenTrace("it has no plane" if data else "the file is empty")
    return space
