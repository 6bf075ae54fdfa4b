"""Step lower: from a candidate's source to its programs. The only place where candidate code runs.

The candidate is traced once, in a sandboxed child; from that one jaxpr come the TPU program and the
interpreted CPU program, so it cannot behave differently for its judge. Only the two programs leave the
child. A candidate can forge them, being in one process with their making; but a forged program is still
only a program, which is compiled, checked and timed like any other.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True  # a step writes its outputs alone
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax  # noqa: E402

import program  # noqa: E402
import sandbox  # noqa: E402
import verdict  # noqa: E402
from child import ChildFault, Ending, Limits, run_in_child  # noqa: E402
from depfile import write_depfile  # noqa: E402
from verdict import Report  # noqa: E402

_ANSWER_BYTES = 64 * 2**20
_WALL_FACTOR = 4
_SOURCE_NAME = "kernel.py"

# How a child ended, and the verdict it stands for.
_KINDS = {
    "timeout": "timeout",
    "memory": "memory",
    "exited": "exited",
    "died": "crashed",
    "forged": "crashed",
}

# Primitives by which a program could differ between its judge and the device.
_BANNED = {"platform_index", "pure_callback", "io_callback"}


class Rejection(Exception):
    """The candidate is turned down: `kind` of verdict.KINDS, and why."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind


def _describe(error: BaseException) -> str:
    """An exception in one line, with the candidate's own line where there is one."""
    line = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == _SOURCE_NAME:
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
    try:
        code = compile(source, _SOURCE_NAME, "exec")
    except (SyntaxError, ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        raise Rejection("syntax_error", f"line {line}: {getattr(error, 'msg', error)}") from error
    arguments = program.shapes_of(signature["inputs"])
    try:
        namespace: dict[str, Any] = {"__name__": "kernel", "__file__": _SOURCE_NAME}
        exec(code, namespace)
        if not callable(namespace.get(entry)):
            raise Rejection("trace_error", f"there is no function '{entry}'")
        closed = jax.make_jaxpr(namespace[entry])(*arguments)
    except (Rejection, MemoryError):
        raise
    except SystemExit as error:
        raise Rejection("exited", f"called sys.exit({error.code!r})") from error
    except BaseException as error:
        raise Rejection("trace_error", _describe(error)) from error
    return closed


def _check_outputs(avals: Any, signature: dict[str, Any]) -> None:
    """Raises Rejection where the outputs are not those declared."""
    wanted = signature["outputs"]
    if len(avals) != len(wanted):
        raise Rejection("wrong_shape", f"{len(avals)} outputs, the spec declares {len(wanted)}")
    for aval, declared in zip(avals, wanted, strict=True):
        name = declared["name"]
        if list(aval.shape) != declared["shape"]:
            reason = f"'{name}' has shape {list(aval.shape)}, not {declared['shape']}"
            raise Rejection("wrong_shape", reason)
        if aval.dtype != program.dtype_of(declared["dtype"]):
            raise Rejection(
                "wrong_dtype", f"'{name}' has dtype {aval.dtype}, not {declared['dtype']}"
            )


def _export(closed: Any, signature: dict[str, Any]) -> list[bytes]:
    """The TPU program and the CPU program. Raises Rejection."""
    banned = sorted(program.primitives(closed.jaxpr) & _BANNED)
    if banned:
        raise Rejection("lowering_error", f"the primitive '{banned[0]}' is not for kernels")
    arguments = program.shapes_of(signature["inputs"])
    try:
        return [program.export_program(closed, arguments, platform) for platform in ("tpu", "cpu")]
    except MemoryError:
        raise
    except Exception as error:
        raise Rejection("lowering_error", _describe(error)) from error


def _answer_of_rejection(rejection: Rejection) -> bytes:
    return json.dumps({"kind": rejection.kind, "reason": str(rejection)}).encode() + b"\n"


def _lower(source: bytes, entry: str, signature: dict[str, Any]) -> bytes:
    """The sandboxed child's work: a header line of JSON, then the TPU program, then the CPU program."""
    try:
        program.configure_jax()
        _known_tpu_on_cpu()
        closed = _trace(source, entry, signature)
        _check_outputs(closed.out_avals, signature)
        programs = _export(closed, signature)
    except Rejection as rejection:
        return _answer_of_rejection(rejection)
    return json.dumps({"tpu": len(programs[0])}).encode() + b"\n" + b"".join(programs)


def _inspect(answer: bytes, signature: dict[str, Any]) -> bytes:
    """A second child's work: whether an answer, which is not trusted, is two programs of this signature."""
    header_text, _, rest = answer.partition(b"\n")
    try:
        size = int(json.loads(header_text)["tpu"])
        for one in (rest[:size], rest[size:]):
            _check_outputs(program.load_program(one).out_avals, signature)
        calls = program.custom_calls(rest[:size])
    except Rejection as rejection:
        return _answer_of_rejection(rejection)
    except Exception as error:  # noqa: BLE001 - whatever a forged answer provokes
        return _answer_of_rejection(
            Rejection("lowering_error", f"no program came out: {type(error).__name__}")
        )
    return json.dumps({"tpu": size, "custom_calls": calls}).encode() + b"\n"


def _judge(answer: bytes, inspected: bytes) -> tuple[Report, bytes, bytes]:
    """The report and the programs of an answer that was inspected."""
    header = json.loads(inspected)
    if "kind" in header:
        return verdict.rejected(header["kind"], header["reason"]), b"", b""
    rest = answer.partition(b"\n")[2]
    tpu, cpu = rest[: header["tpu"]], rest[header["tpu"] :]
    programs = {
        name: {"digest": program.digest(content), "bytes": len(content)}
        for name, content in (("tpu", tpu), ("cpu", cpu))
    }
    return verdict.ok(programs=programs, custom_calls=header["custom_calls"]), tpu, cpu


def _ended(ending: Ending, limits: Limits) -> Report:
    return verdict.rejected(_KINDS[ending.how], ending.reason(limits))


def _rejection_of(answer: bytes) -> Report | None:
    """The rejection that a child answered with, or None where it says to have programs."""
    try:
        header = json.loads(answer.partition(b"\n")[0])
        if "kind" not in header:
            return None
        return verdict.rejected(str(header["kind"]), str(header["reason"]))
    except Exception:  # noqa: BLE001 - whatever a forged answer provokes
        return None


def lower_candidate(
    source: bytes, entry: str, signature: dict[str, Any], limits: Limits, is_sandboxed: bool
) -> tuple[Report, bytes, bytes]:
    """The report, the TPU program and the CPU program. Raises ChildFault."""
    enter = sandbox.enter if is_sandboxed else (lambda _: None)
    ending = run_in_child(lambda: _lower(source, entry, signature), limits, enter)
    if ending.how != "answered":
        return _ended(ending, limits), b"", b""
    rejection = _rejection_of(ending.answer)
    if rejection is not None:
        return rejection, b"", b""
    inspection = run_in_child(lambda: _inspect(ending.answer, signature), limits)
    if inspection.how != "answered":
        return (
            verdict.rejected("lowering_error", "no program came out: it cannot be read"),
            b"",
            b"",
        )
    return _judge(ending.answer, inspection.answer)


def main(argv: list[str]) -> int:
    """Runs the step; non-zero for a fault alone."""
    parser = argparse.ArgumentParser(prog="lower")
    for name in ("source", "entry", "signature", "tpu-out", "cpu-out", "report"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--target", required=True, choices=["tpu7x"])
    parser.add_argument("--cpu-seconds", type=int, default=60)
    parser.add_argument("--memory-mib", type=int, default=4096)
    parser.add_argument("--unsafe-no-sandbox", action="store_true")
    parser.add_argument("--depfile")
    args = parser.parse_args(argv)
    source = Path(args.source).read_bytes()
    signature = verdict.read_json(args.signature)
    limits = Limits(
        cpu_seconds=args.cpu_seconds,
        wall_seconds=_WALL_FACTOR * args.cpu_seconds,
        memory_bytes=args.memory_mib * 2**20,
        answer_bytes=_ANSWER_BYTES,
    )
    try:
        report, tpu, cpu = lower_candidate(
            source, args.entry, signature, limits, not args.unsafe_no_sandbox
        )
    except ChildFault as fault:
        print(f"lower: sandbox: {fault}", file=sys.stderr)
        print(
            "hint: allow user namespaces, or trust the candidates: --unsafe-no-sandbox",
            file=sys.stderr,
        )
        return 3
    report["sandbox"] = None if args.unsafe_no_sandbox else sandbox.IN_FORCE
    verdict.write_file(args.tpu_out, tpu)
    verdict.write_file(args.cpu_out, cpu)
    verdict.write_report(args.report, report)
    write_depfile(args.depfile, args.report)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
