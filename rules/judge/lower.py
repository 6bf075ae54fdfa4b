"""The lowering of a candidate's source to its programs, which traces the candidate.

The candidate is traced in a sandboxed child (candidate.py), and nothing but its jaxpr leaves that child, as data
(wire.py). It is traced again in another interpreter with other surroundings (elsewhere.py), which must give the same
bytes. A child that has never seen the candidate exports both programs from these bytes: the device's, and the judge's,
which is interpreted on the CPU. So a candidate cannot behave differently for its judge, nor forge a program.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
from jax._src import core

from interpreter import footprint
from judge import operands
from process import sandbox
from process.child import Limits
from programs import candidate, program, schema, wire
from programs.candidate import DEFAULT_TARGET, Rejection, Signature, Target
from programs.elsewhere import FACTORS, elsewhere, open_answer, refused, written_anew
from reports import verdict
from reports.verdict import Report

# The maximum number of bytes of a child's answer.
ANSWER_BYTES = 64 * 2**20


class Lowered(NamedTuple):
    """The programs of a candidate's jaxpr, the jaxpr itself on the wire, and its kernels' operands.

    The target runs the device's program, and the judge runs its own on the CPU.
    """

    device: bytes = b""
    judge: bytes = b""
    jaxpr: bytes = b""
    operands: bytes = b'{"kernels": {}}\n'


def _check_inputs(avals: Any, arguments: list[jax.ShapeDtypeStruct]) -> None:
    """Raises ValueError where the jaxpr does not take the declared inputs."""
    said = [(tuple(aval.shape), aval.dtype) for aval in avals if type(aval) is core.ShapedArray]
    if said != [(a.shape, a.dtype) for a in arguments]:
        raise ValueError("it takes other inputs than the declared ones")


def _check_outputs(avals: Any, signature: Signature) -> None:
    """Raises Rejection where the outputs are not those declared."""
    wanted = signature["outputs"]
    if len(avals) != len(wanted):
        raise Rejection("contract", f"the function returns {len(avals)} outputs, the spec declares {len(wanted)}")
    for aval, declared in zip(avals, wanted, strict=True):
        if list(aval.shape) != declared["shape"]:
            raise Rejection("contract", f"'{declared['name']}' has shape {list(aval.shape)}, not {declared['shape']}")
        if aval.dtype != program.dtype_of(declared["dtype"]):
            raise Rejection("contract", f"'{declared['name']}' has dtype {aval.dtype}, not {declared['dtype']}")


def traced(source: bytes, entry: str, signature: Signature, target: Target = DEFAULT_TARGET) -> bytes:
    """The first child's work: traces the candidate. Returns a line of JSON, then the jaxpr on the wire."""
    try:
        program.configure_jax()
        candidate.known_tpu_on_cpu(target)
        # The second trace rewrites the source. A source that cannot be rewritten is rejected here, so that the second
        # trace does not reject it because its program is another one.
        written_anew(source)
        closed = candidate.trace(source, entry, [signature])
        _check_outputs(closed.out_avals, signature)
        try:
            packed = wire.pack(closed)
        except wire.Unsendable as error:
            raise Rejection("contract", str(error)) from error
    except Rejection as rejection:
        return refused(rejection)
    return b"{}\n" + packed


def _check_again(
    packed: bytes,
    source: bytes,
    entry: str,
    signatures: Sequence[Signature],
    limits: Limits,
    target: Target = DEFAULT_TARGET,
) -> None:
    """Raises Rejection where the candidate, for the first of the signatures, is another program elsewhere."""
    request = {"entry": entry, "signature": signatures[0], "others": signatures[1:], "limits": asdict(limits)}
    request["target"] = target
    digest = program.digest(packed)
    deadline = time.monotonic() + limits.wall_seconds

    def ask(factors: Sequence[str]) -> dict[str, str]:
        return elsewhere().ask(source=source.decode(), factors=factors, **request)

    answer = ask(FACTORS)
    if answer.get("digest") == digest:
        return
    told = "; there it fails: " + answer["reason"] if "reason" in answer else ""
    raise Rejection("nondeterministic", f"not reproducible: {_why(digest, answer, ask, deadline)}{told}")


def _why(digest: str, answer: dict[str, str], ask: Callable[[Sequence[str]], dict[str, str]], deadline: float) -> str:
    """Returns what a program that differs elsewhere depends on. `answer`: the answer for all differences together.

    Each question may take as long as a trace may. So no question is asked after the deadline, or after a trace that did
    not end. The report has the facts that are known by then.
    """
    alone: list[str] = []
    for factors in ((), *((factor,) for factor in FACTORS)):
        if answer.get("kind") == "timeout" or time.monotonic() > deadline:
            return f"the program changes with what it must not depend on{': ' if alone else ''}{'; '.join(alone)}"
        answer = ask(factors)
        if answer.get("digest") != digest and not factors:
            return "the program differs in another Python process: it depends on hashes, addresses or chance"
        if answer.get("digest") != digest:
            alone += factors
    return f"the program changes with what it must not depend on: {'; '.join(alone or FACTORS)}"


def _exported(packed: bytes, signature: dict[str, Any], target: Target) -> bytes:
    """The second child's work: a line of JSON, the device's program, the judge's program, the jaxpr."""
    program.configure_jax()
    candidate.known_tpu_on_cpu(target)
    arguments = program.shapes_of(signature["inputs"])
    try:
        try:
            closed = wire.unpack(packed)
            _check_inputs(closed.in_avals, arguments)
            # The judge writes these bytes, so they are the same for the same program.
            canonical = wire.pack(closed)
        except MemoryError:
            raise
        except Exception as error:
            is_ours = isinstance(error, (schema.Refused, wire.Unsendable))
            why = verdict.one_line(str(error)) if is_ours else candidate.describe(error, "")
            raise Rejection("contract", f"no program came out of the trace: {why}") from error
        _check_outputs(closed.out_avals, signature)
        try:
            device = program.export_program(closed, arguments, target.platform)
        except MemoryError:
            raise
        except program.NotCanonical as error:
            raise Rejection("contract", f"the exported program is not what was traced: {error}") from error
        except Exception as error:
            raise Rejection("lower-error", candidate.describe(error, "")) from error
    except Rejection as rejection:
        return refused(rejection)
    judge, why = _judge_program(closed, arguments, canonical)
    header = {
        "interpreted": why,
        "device": len(device),
        "judge": len(judge),
        "calls": program.custom_calls(device),
        "is_given": operands.is_asked_for(closed.jaxpr),
    }
    return json.dumps(header).encode() + b"\n" + device + judge + canonical


def _judge_program(
    closed: core.ClosedJaxpr, arguments: list[jax.ShapeDtypeStruct], canonical: bytes
) -> tuple[bytes, str]:
    """Returns the judge's program for a CPU; if JAX has no CPU form, the jaxpr for the TPU interpreter, and why."""
    if footprint.reads_what_it_wrote(closed.jaxpr):
        # In JAX's CPU form, an output does not share an input's memory, so a read would get other values.
        return canonical, "a kernel reads through an alias what it has written"
    try:
        return program.export_program(closed, arguments, "cpu"), ""
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever JAX has no CPU form of
        return canonical, candidate.describe(error, "")


def _given(jaxpr: bytes, signature: dict[str, Any], limits: Limits) -> bytes:
    """Returns the operands of the program's kernels, as JSON. Only a model of the program needs them."""
    ending = sandbox.run(lambda: json.dumps(operands.operands_of(jaxpr, signature)).encode(), limits)
    if ending.how == "answered":
        return ending.answer + b"\n"
    return verdict.encode({"kernels": {}, "reason": verdict.of_ending(ending, limits)["reason"]})


def lower(
    source: bytes,
    entry: str,
    signature: Signature,
    limits: Limits,
    others: Sequence[Signature] = (),
    target: Target = DEFAULT_TARGET,
) -> tuple[Report, Lowered]:
    """Returns the report on a candidate, and its programs; empty: the candidate was rejected.

    `others`: signatures of other cases. The second trace traces the candidate for these first.
    """
    try:
        ending = sandbox.run(lambda: traced(source, entry, signature, target), limits, is_trusted=False)
        _, packed = open_answer(ending, limits)
        _check_again(packed, source, entry, [signature, *others], limits, target)
        return exported(packed, signature, limits, target)
    except Rejection as rejection:
        return verdict.rejected(rejection.kind, str(rejection)), Lowered()


def exported(
    packed: bytes, signature: Signature, limits: Limits, target: Target = DEFAULT_TARGET
) -> tuple[Report, Lowered]:
    """Exports a jaxpr on the wire; returns the report and the programs. Raises Rejection."""
    ending = sandbox.run(lambda: _exported(packed, signature, target), limits)
    header, rest = open_answer(ending, limits)
    ends = header["device"], header["device"] + header["judge"]
    jaxpr = rest[ends[1] :]
    lowered = Lowered(rest[: ends[0]], rest[ends[0] : ends[1]], jaxpr)
    if header.get("is_given"):
        lowered = lowered._replace(operands=_given(jaxpr, signature, limits))
    programs = {
        name: {"digest": program.digest(content), "bytes": len(content)}
        for name, content in (("device", lowered.device), ("judge", lowered.judge))
    }
    interpreted = {"interpreted": header["interpreted"]} if header.get("interpreted") else {}
    report = verdict.ok(programs=programs, custom_calls=header["calls"], target=target._asdict(), **interpreted)
    return report, lowered
