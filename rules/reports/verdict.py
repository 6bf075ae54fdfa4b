"""Reports: the JSON that a step writes. A verdict about a variant is data; a fault is an error.

A report is an object with "verdict":

* "ok": the step did its work, and found nothing wrong.
* "rejected": the variant is out. "kind" is one of KINDS, and "reason" is one line without addresses, paths of this
  machine, or times.
* "not_done": the step could not do its work on this variant; "reason" says why. This is never "ok": such a variant
  may survive only if its spec excuses the step.
* "not_reached": an earlier step rejected the variant.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from process.child import Ending, Limits

# The names are stable: mutators and people may rely on them. The reason and the evidence say the rest.
KINDS = frozenset(
    {
        "lower-error",  # no program came out of the source
        "contract",  # the program is not of the requested kind (contract.py)
        "compile-error",
        "incorrect",
        "non-finite",
        "nondeterministic",
        "race",
        "out-of-bounds",
        "out-of-memory",  # of the host or of the device
        "timeout",
        "crash",
        "precision",  # right except for rounding that the spec does not allow
        "suspicious",  # impossible samples, or less work than the case needs (engine/ir/model/work.h)
    }
)

Report = dict[str, Any]

_LONGEST_REASON = 400


def passed(gate: str | None, program: str) -> bytes:
    """Returns the program in a file, or nothing if the report in the file `gate` is not ok; None: no gate."""
    is_open = gate is None or read_json(gate)["verdict"] == "ok"
    return Path(program).read_bytes() if is_open else b""


def ok(**fields: Any) -> Report:
    """A report of success."""
    return {"verdict": "ok", **fields}


def rejected(kind: str, reason: str, **fields: Any) -> Report:
    """A report that rejects the variant; the reason is cut to one clean line."""
    assert kind in KINDS, kind
    return {"verdict": "rejected", "kind": kind, "reason": one_line(reason), **fields}


def of_ending(ending: Ending, limits: Limits) -> Report:
    """The report on a program whose child did not answer."""
    kind = {"timeout": "timeout", "memory": "out-of-memory"}.get(ending.how, "crash")
    return rejected(kind, ending.reason(limits))


# Remarks of a compiler for its own authors, such as "Please file a bug at https://…" or "See go/… for details".
_FOR_ITS_AUTHORS = re.compile(
    r"""
    [\s;,]* (?: \( | \b(?:This\sis\san?\s(?:internal\s)?bug|This\sis\sunexpected|If\s[^.;]{1,80}?),?\s*(?:and\s)? )?
    (?: [Pp]lease\s(?:also\s)?(?:file|open|report|contact|comment|leave|create|submit)
      | (?:[Ff]ile|[Oo]pen|[Rr]eport)\san?\s(?:new\s)?(?:bug|issue)
      | (?:[Ss]ee|[Rr]ead)\s(?:https?://)?(?:go|b)/ )
    (?: https?://[^\s)]*[^\s.)] | [^.;)] | \.(?=[^\s.]) )* [.;)]*
    """,
    re.VERBOSE,
)


def not_done(reason: str, **fields: Any) -> Report:
    """The report of a step that could not do its work on a variant; the reason is cut to one clean line."""
    return {"verdict": "not_done", "reason": one_line(reason), **fields}


def not_reached() -> Report:
    """The report of a step whose input an earlier step rejected."""
    return {"verdict": "not_reached"}


def one_line(text: str) -> str:
    """Returns the first line of a text that is not blank, without parts that differ from run to run."""
    lines = [line.strip() for line in text.splitlines()]
    line = next((line for line in lines if line), "no reason given")
    # A candidate may have written the text. Lone surrogates and characters that would control a terminal become "?".
    line = "".join(character if character.isprintable() else "?" for character in line)
    line = re.sub(r"0x[0-9a-fA-F]+", "0x…", line)
    line = _FOR_ITS_AUTHORS.sub("", line).strip()
    line = re.sub(r"(?<![\w.])(?<!:/)/(?!/)(?:[\w.+-]+/)+", "", line)
    return line if len(line) <= _LONGEST_REASON else line[: _LONGEST_REASON - 1] + "…"


def encode(report: Report) -> bytes:
    """Returns the bytes of a report: the same for the same content."""
    return (json.dumps(report, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def write_file(path: str, content: bytes) -> None:
    """Replaces a file as a whole: a reader sees the old or the new content."""
    temporary = f"{path}.tmp{os.getpid()}"
    Path(temporary).write_bytes(content)
    os.replace(temporary, path)


def write_report(path: str, report: Report) -> None:
    """Writes a report as the step's output."""
    write_file(path, encode(report))


class BadInput(Exception):
    """An input of a step is wrong; the message says where, and why."""


def read_text(path: str) -> str:
    """Returns the text in a file; bytes that are not UTF-8 become lone surrogates. Raises BadInput."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from error


def read_json(path: str) -> Any:
    """Returns the JSON in a file. Raises BadInput."""
    try:
        return json.loads(read_text(path))
    except ValueError as error:
        raise BadInput(f"{path}: not JSON: {error}") from error
