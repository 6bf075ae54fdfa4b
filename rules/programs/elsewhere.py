"""Another interpreter, in which a candidate is traced a second time: with another hash seed, at other addresses.

A candidate's trace must depend only on its inputs' shapes and dtypes. Otherwise the judged program might not be the one
that a user gets. So the candidate is traced again with everything else changed that can be changed (FACTORS). Importing
JAX takes seconds, so this interpreter stays: the worker has one (worker.py), and a step without a worker starts its
own. The interpreter neither runs nor parses a candidate itself, but starts a child in the sandbox for each.

A request is a line of JSON on stdin, an answer is one on stdout: {"digest": of the jaxpr on the wire}, or {"kind": …,
"reason": …} if there is no jaxpr, or {"fault": …}.
"""

from __future__ import annotations

import dataclasses
import gc
import hashlib
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

from process import devices, sandbox
from process.child import ChildFault, Ending, Limits, die_with_parent
from process.sandbox import Place
from programs import candidate, program, wire
from programs.candidate import DEFAULT_TARGET, Rejection, Signature, Surroundings, Target
from reports import verdict
from source import normalise

# What the second trace has different from the first trace, apart from the interpreter.
FACTORS = (
    "its docstrings, comments and lines",
    "the name of its file",
    "the modules that are there",
    "the calls before it",
    "who calls it",
    "JAX's default device",
    "JAX's settings",
    "the user",
    "HOME and the current folder",
    "the host's name",
    "the environment's variables",
    "the clock",
)
(_TEXT, _NAME, _MODULES, _CALLS, _CALLER, _DEVICE, _SETTINGS, _USER, _FOLDERS, _HOST, _VARIABLES, _CLOCK) = FACTORS

# The differences of a trace of a file whose text stays as it is.
HERE_TOO = tuple(factor for factor in FACTORS if factor not in (_TEXT, _MODULES, _CALLS))

# The environment variable with the numbers of two open files, which lead to and from the worker's second interpreter.
_KNOWN = "EVOLVE_ELSEWHERE"

_OTHER_SEED = "4321"

# The folder of our packages.
_PACKAGES = Path(__file__).resolve().parents[1]

_YEAR = 365 * 24 * 3600
_VARIABLES_THERE = (
    ("EDITOR", "vi"),
    ("LANG", "de_DE.UTF-8"),
    ("LC_ALL", "C"),
    ("LOGNAME", "ada"),
    ("PATH", "/opt/bin:/usr/local/bin:/usr/bin:/bin"),
    ("SHELL", "/bin/sh"),
    ("TERM", "xterm"),
    ("TZ", "XYZ-7"),
    ("USER", "ada"),
)


def place_of(factors: Sequence[str], drawn: bytes) -> Place:
    """Returns a place that differs in some factors; `drawn` says how, where there is a choice."""
    changes: dict[str, dict[str, Any]] = {
        _USER: {"user": 1000 + drawn[0]},
        _FOLDERS: {"home": "/tmp/home/ada", "folder": "/tmp/home/ada/kernels"},
        _HOST: {"host": f"node-{drawn[1:4].hex()}"},
        _VARIABLES: {"environment": _VARIABLES_THERE},
        _CLOCK: {"seconds": _YEAR + int.from_bytes(drawn[4:8], "little") % (8 * _YEAR)},
    }
    chosen = {name: value for factor in factors for name, value in changes.get(factor, {}).items()}
    return dataclasses.replace(sandbox.HERE, **chosen)


def traced(
    source: bytes,
    entry: str,
    signatures: Sequence[Signature],
    factors: Sequence[str],
    target: Target = DEFAULT_TARGET,
) -> bytes:
    """The child's work: traces the candidate. Returns a line of JSON and the jaxpr on the wire, or only the line."""
    around = Surroundings(
        "best" if _NAME in factors else "kernel",
        has_all=_MODULES in factors,
        is_users=_CALLER in factors,
        has_users_settings=_SETTINGS in factors,
    )
    try:
        if _TEXT in factors:
            source = written_anew(source)
        program.configure_jax()
        candidate.known_tpu_on_cpu(target)
        if _DEVICE in factors:
            devices.show_tpus(target.device_kind)
        if _NAME in factors:
            Path(around.file).write_bytes(source)
        return b"{}\n" + wire.pack(candidate.trace(source, entry, signatures, around))
    except wire.Unsendable as error:
        return refused(Rejection("contract", str(error)))
    except Rejection as rejection:
        return refused(rejection)


def written_anew(source: bytes) -> bytes:
    """Rewrites a program with other docstrings, comments and lines. Raises Rejection.

    Python parses more than it can write: a sum of very many terms, or an integer of very many hexadecimal digits.
    """
    tree = candidate.parse(source)
    try:
        return normalise.documented(tree).encode()
    except (ValueError, RecursionError, MemoryError) as error:
        why = normalise.why_unparsed(error)
        raise Rejection("lower-error", f"the source has no canonical form: {why}") from error


def refused(rejection: Rejection) -> bytes:
    """Returns a child's answer that rejects the candidate."""
    return json.dumps({"kind": rejection.kind, "reason": str(rejection)}).encode() + b"\n"


def open_answer(ending: Ending, limits: Limits) -> tuple[dict[str, Any], bytes]:
    """Returns the line of JSON and the rest of a child's answer. Raises Rejection."""
    if ending.how != "answered":
        said = verdict.of_ending(ending, limits)
        raise Rejection(said["kind"], said["reason"])
    text, _, rest = ending.answer.partition(b"\n")
    try:
        header = json.loads(text)
        refusal = (str(header["kind"]), str(header["reason"])) if "kind" in header else None
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise Rejection("crash", "answered in another's name") from error
    if refusal is not None:
        # The candidate itself may have written the answer, so only known kinds are accepted.
        raise Rejection(refusal[0] if refusal[0] in verdict.KINDS else "crash", refusal[1])
    return header, rest


def _answer(request: dict[str, Any]) -> dict[str, str]:
    """Answers a request."""
    source, factors, signatures = request["source"], request["factors"], [request["signature"]]
    target = Target(*request["target"])
    drawn = hashlib.sha256(source.encode()).digest()
    if _CALLS in factors:
        # The candidate is traced once for each other case, then twice for the requested case.
        signatures = [*request["others"], *signatures, *signatures]
    limits = Limits(**request["limits"])
    limits = dataclasses.replace(limits, cpu_seconds=len(signatures) * limits.cpu_seconds)
    try:
        ending = sandbox.run(
            lambda: traced(source.encode(), request["entry"], signatures, factors, target),
            limits,
            is_trusted=False,
            place=place_of(factors, drawn),
        )
        return {"digest": program.digest(open_answer(ending, limits)[1])}
    except Rejection as rejection:
        return {"kind": rejection.kind, "reason": str(rejection)}
    except (ChildFault, OSError) as fault:
        return {"fault": str(fault)}


class Elsewhere:
    """The other interpreter, for the process that asks it."""

    def __init__(self, requests: IO[str], answers: IO[str], process: subprocess.Popen[str] | None = None) -> None:
        self._requests = requests
        self._answers = answers
        self._process = process
        self._number = 0

    @property
    def has_ended(self) -> bool:
        """Whether this process' own interpreter has ended. The worker restarts its own (worker.py)."""
        return self._process is not None and self._process.poll() is not None

    def ask(self, **request: Any) -> dict[str, str]:
        """Returns the answer to a request. Raises ChildFault."""
        self._number += 1
        name = f"{os.getpid()}.{self._number}"
        try:
            print(json.dumps({"id": name, **request}), file=self._requests, flush=True)
            # Skips answers to earlier requests, which were sent by processes that ended before the answer.
            for line in self._answers:
                answer: dict[str, str] = json.loads(line)
                if answer.pop("id") == name:
                    break
            else:
                raise ChildFault("the second interpreter ended")
        except BrokenPipeError as error:
            raise ChildFault("the second interpreter ended") from error
        if "fault" in answer:
            raise ChildFault(answer["fault"])
        return answer


_started: list[Elsewhere] = []


def elsewhere() -> Elsewhere:
    """Returns the worker's interpreter, or this process' own, which is started again if it has ended."""
    if _started and _started[0].has_ended:
        _started.clear()
    if not _started:
        if known := os.environ.get(_KNOWN):
            requests, answers = map(int, known.split())
            _started.append(Elsewhere(os.fdopen(requests, "w"), os.fdopen(answers)))
        else:
            _started.append(_start())
    return _started[0]


def _start() -> Elsewhere:
    """Starts an interpreter. It ends when its stdin does."""
    process = subprocess.Popen(
        [sys.executable, str(_PACKAGES), __name__],
        env={**os.environ, "PYTHONHASHSEED": _OTHER_SEED},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin
    assert process.stdout
    return Elsewhere(process.stdin, process.stdout, process)


def main(_: list[str]) -> int:
    """Answers requests until stdin ends."""
    die_with_parent()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    importlib.import_module("jax._src.pallas.mosaic.tpu_info")
    gc.freeze()
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps({"id": request["id"], **_answer(request)}), file=answers, flush=True)
    return 0
