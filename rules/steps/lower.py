"""Step lower: from a candidate's source to its programs. The only place where candidate code runs.

The candidate is traced once, in a sandboxed child, and nothing but its jaxpr leaves that child, as data
(wire.py). A second child, which has never seen the candidate, exports both programs from it: the TPU's, and
the interpreted one for the CPU. So a candidate cannot behave differently for its judge, nor forge a program.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
import types
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
from jax._src import core

import operands
import program
import sandbox
import schema
import verdict
import wire
from child import Ending, Limits
from step import Step
from verdict import Report

_ANSWER_BYTES = 64 * 2**20


class Lowered(NamedTuple):
    """What a candidate's jaxpr is exported to, the jaxpr itself on the wire, and what its kernels are given."""

    tpu: bytes = b""
    cpu: bytes = b""
    jaxpr: bytes = b""
    operands: bytes = b'{"kernels": {}}\n'


class Rejection(Exception):
    """The candidate is turned down: `kind` of verdict.KINDS, and why."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind


def _describe(error: BaseException, source_name: str) -> str:
    """An exception in one line, with the candidate's own line where there is one."""
    line = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == source_name:
            line = trace.tb_lineno
        trace = trace.tb_next
    place = f" (line {line} of the canonical source)" if line else ""
    return verdict.one_line(f"{type(error).__name__}: {error}") + place


def _known_tpu_on_cpu() -> None:
    """Lets kernels that ask for the TPU's properties be traced where there is none."""
    from jax._src.pallas.mosaic import tpu_info  # noqa: PLC0415

    tpu_info.registry["cpu"] = lambda: tpu_info._get_tpu_info_impl(tpu_info.ChipVersion.TPU_7X, 1)


def _trace(source: bytes, entry: str, signature: dict[str, Any]) -> Any:
    """The closed jaxpr of the candidate. Raises Rejection."""
    name = "kernel.py"
    try:
        code = compile(source, name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        raise Rejection("lower-error", f"line {line}: {getattr(error, 'msg', error)}") from error
    arguments = program.shapes_of(signature["inputs"])
    try:
        # Imported as modules are: a dataclass looks for its own among those that the process knows.
        module = types.ModuleType("kernel")
        module.__file__ = name
        sys.modules[module.__name__] = module
        namespace = module.__dict__
        exec(code, namespace)
        if not callable(namespace.get(entry)):
            raise Rejection("lower-error", f"there is no function '{entry}'")
        closed = jax.make_jaxpr(program.with_gradients(namespace[entry], signature))(*arguments)
    except (Rejection, MemoryError):
        raise
    except SystemExit as error:
        raise Rejection("crash", f"called sys.exit({error.code!r})") from error
    except BaseException as error:
        raise Rejection("lower-error", _describe(error, name)) from error
    return closed


def _check_inputs(avals: Any, arguments: list[jax.ShapeDtypeStruct]) -> None:
    """Raises ValueError where the jaxpr is not of the declared inputs."""
    said = [(tuple(aval.shape), aval.dtype) for aval in avals if type(aval) is core.ShapedArray]
    if said != [(a.shape, a.dtype) for a in arguments]:
        raise ValueError("it takes other inputs than the declared ones")


def _check_outputs(avals: Any, signature: dict[str, Any]) -> None:
    """Raises Rejection where the outputs are not those declared."""
    wanted = signature["outputs"]
    if len(avals) != len(wanted):
        raise Rejection("contract", f"{len(avals)} outputs, the spec declares {len(wanted)}")
    for aval, declared in zip(avals, wanted, strict=True):
        if list(aval.shape) != declared["shape"]:
            raise Rejection("contract", f"'{declared['name']}' has shape {list(aval.shape)}, not {declared['shape']}")
        if aval.dtype != program.dtype_of(declared["dtype"]):
            raise Rejection("contract", f"'{declared['name']}' has dtype {aval.dtype}, not {declared['dtype']}")


def _traced(source: bytes, entry: str, signature: dict[str, Any]) -> bytes:
    """The first child's work: the candidate's jaxpr on the wire, after a line of JSON."""
    try:
        program.configure_jax()
        _known_tpu_on_cpu()
        closed = _trace(source, entry, signature)
        _check_outputs(closed.out_avals, signature)
        try:
            packed = wire.pack(closed)
        except wire.Unsendable as error:
            raise Rejection("contract", str(error)) from error
    except Rejection as rejection:
        return _refusal(rejection)
    return b"{}\n" + packed


def _exported(packed: bytes, signature: dict[str, Any]) -> bytes:
    """The second child's work: a line of JSON, the TPU program, the CPU program, the jaxpr."""
    program.configure_jax()
    _known_tpu_on_cpu()
    arguments = program.shapes_of(signature["inputs"])
    try:
        try:
            closed = wire.unpack(packed)
            _check_inputs(closed.in_avals, arguments)
            # As the judge writes it, the same for the same program.
            canonical = wire.pack(closed)
        except MemoryError:
            raise
        except Exception as error:
            is_ours = isinstance(error, (schema.Refused, wire.Unsendable))
            why = verdict.one_line(str(error)) if is_ours else _describe(error, "")
            raise Rejection("contract", f"no program came out of the trace: {why}") from error
        _check_outputs(closed.out_avals, signature)
        try:
            tpu = program.export_program(closed, arguments, "tpu")
        except MemoryError:
            raise
        except program.NotCanonical as error:
            raise Rejection("contract", f"the exported program is not what was traced: {error}") from error
        except Exception as error:
            raise Rejection("lower-error", _describe(error, "")) from error
    except Rejection as rejection:
        return _refusal(rejection)
    cpu, why = _cpu_program(closed, arguments, canonical)
    header = {
        "interpreted": why,
        "tpu": len(tpu),
        "cpu": len(cpu),
        "calls": program.custom_calls(tpu),
        "is_given": operands.is_asked_for(closed.jaxpr),
    }
    return json.dumps(header).encode() + b"\n" + tpu + cpu + canonical


def _cpu_program(
    closed: core.ClosedJaxpr, arguments: list[jax.ShapeDtypeStruct], canonical: bytes
) -> tuple[bytes, str]:
    """The program for a CPU; where JAX has no CPU form of something, the jaxpr, for the TPU interpreter, and why."""
    try:
        return program.export_program(closed, arguments, "cpu"), ""
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever JAX has no CPU form of
        return canonical, _describe(error, "")


def _refusal(rejection: Rejection) -> bytes:
    return json.dumps({"kind": rejection.kind, "reason": str(rejection)}).encode() + b"\n"


def _open_answer(ending: Ending, limits: Limits) -> tuple[dict[str, Any], bytes]:
    """The line of JSON and the rest of a child's answer. Raises Rejection."""
    if ending.how != "answered":
        refused = verdict.of_ending(ending, limits)
        raise Rejection(refused["kind"], refused["reason"])
    text, _, rest = ending.answer.partition(b"\n")
    try:
        header = json.loads(text)
        refusal = (str(header["kind"]), str(header["reason"])) if "kind" in header else None
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise Rejection("crash", "answered in another's name") from error
    if refusal is not None:
        # The first child's word for it is the candidate's own: of the kinds that tracing can end in.
        kind = refusal[0] if refusal[0] in verdict.KINDS else "crash"
        raise Rejection(kind, refusal[1])
    return header, rest


def _given(jaxpr: bytes, signature: dict[str, Any], limits: Limits) -> bytes:
    """What the program's kernels are given, as JSON. A model of it asks for that, no judge does."""
    ending = sandbox.run(lambda: json.dumps(operands.operands_of(jaxpr, signature)).encode(), limits)
    if ending.how == "answered":
        return ending.answer + b"\n"
    return verdict.encode({"kernels": {}, "reason": verdict.of_ending(ending, limits)["reason"]})


def lower(source: bytes, entry: str, signature: dict[str, Any], limits: Limits) -> tuple[Report, Lowered]:
    """The report on a candidate, and what it was lowered to; nothing where it is turned down."""
    try:
        traced = sandbox.run(lambda: _traced(source, entry, signature), limits, is_trusted=False)
        _, packed = _open_answer(traced, limits)
        exported = sandbox.run(lambda: _exported(packed, signature), limits)
        header, rest = _open_answer(exported, limits)
    except Rejection as rejection:
        return verdict.rejected(rejection.kind, str(rejection)), Lowered()
    ends = header["tpu"], header["tpu"] + header["cpu"]
    jaxpr = rest[ends[1] :]
    lowered = Lowered(rest[: ends[0]], rest[ends[0] : ends[1]], jaxpr)
    if header.get("is_given"):
        lowered = lowered._replace(operands=_given(jaxpr, signature, limits))
    programs = {
        name: {"digest": program.digest(content), "bytes": len(content)}
        for name, content in (("tpu", lowered.tpu), ("cpu", lowered.cpu))
    }
    interpreted = {"interpreted": header["interpreted"]} if header.get("interpreted") else {}
    return verdict.ok(programs=programs, custom_calls=header["calls"], **interpreted), lowered


def main(argv: list[str]) -> int:
    """Runs the step; non-zero for a fault alone."""
    flags = ("source", "entry", "signature", "target", "tpu-out", "cpu-out", "jaxpr-out", "operands-out")
    step = Step("lower", flags, cpu_seconds=15, memory_mib=3072)

    def work(args: argparse.Namespace, limits: Limits) -> Report:
        source = Path(args.source).read_bytes()
        limits = dataclasses.replace(limits, answer_bytes=_ANSWER_BYTES)
        report, lowered = lower(source, args.entry, verdict.read_json(args.signature), limits)
        verdict.write_file(args.tpu_out, lowered.tpu)
        verdict.write_file(args.cpu_out, lowered.cpu)
        verdict.write_file(args.jaxpr_out, lowered.jaxpr)
        verdict.write_file(args.operands_out, lowered.operands)
        return report

    return step.run(argv, work)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
