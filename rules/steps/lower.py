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

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax

import program
import sandbox
import verdict
from child import ChildFault, Ending, Limits, run_in_child
from depfile import write_depfile
from verdict import Report

_ANSWER_BYTES = 64 * 2**20


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
        code = compile(source, name, "exec")
    except (SyntaxError, ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        raise Rejection("syntax_error", f"line {line}: {getattr(error, 'msg', error)}") from error
    arguments = program.shapes_of(signature["inputs"])
    try:
        namespace: dict[str, Any] = {"__name__": "kernel", "__file__": name}
        exec(code, namespace)
        if not callable(namespace.get(entry)):
            raise Rejection("trace_error", f"there is no function '{entry}'")
        closed = jax.make_jaxpr(namespace[entry])(*arguments)
    except (Rejection, MemoryError):
        raise
    except SystemExit as error:
        raise Rejection("exited", f"called sys.exit({error.code!r})") from error
    except BaseException as error:
        raise Rejection("trace_error", _describe(error, name)) from error
    return closed


def _check_outputs(avals: Any, signature: dict[str, Any]) -> None:
    """Raises Rejection where the outputs are not those declared."""
    wanted = signature["outputs"]
    if len(avals) != len(wanted):
        raise Rejection("wrong_shape", f"{len(avals)} outputs, the spec declares {len(wanted)}")
    for aval, declared in zip(avals, wanted, strict=True):
        if list(aval.shape) != declared["shape"]:
            raise Rejection(
                "wrong_shape", f"'{declared['name']}' has shape {list(aval.shape)}, not {declared['shape']}"
            )
        if aval.dtype != program.dtype_of(declared["dtype"]):
            raise Rejection("wrong_dtype", f"'{declared['name']}' has dtype {aval.dtype}, not {declared['dtype']}")


def _lower(source: bytes, entry: str, signature: dict[str, Any]) -> bytes:
    """The child's work: a header line of JSON, then the TPU program, then the CPU program."""
    try:
        program.configure_jax()
        _known_tpu_on_cpu()
        closed = _trace(source, entry, signature)
        _check_outputs(closed.out_avals, signature)
        arguments = program.shapes_of(signature["inputs"])
        try:
            programs = [program.export_program(closed, arguments, platform) for platform in ("tpu", "cpu")]
        except MemoryError:
            raise
        except Exception as error:
            raise Rejection("lowering_error", _describe(error, "")) from error
    except Rejection as rejection:
        header = {"kind": rejection.kind, "reason": str(rejection)}
        return json.dumps(header).encode() + b"\n"
    return json.dumps({"tpu": len(programs[0])}).encode() + b"\n" + b"".join(programs)


def _split_answer(answer: bytes, signature: dict[str, Any]) -> tuple[Report, bytes, bytes]:
    """The report and the programs of a child's answer, which is not trusted."""
    header_text, _, rest = answer.partition(b"\n")
    try:
        header = json.loads(header_text)
        if "kind" in header:
            return verdict.rejected(str(header["kind"]), str(header["reason"])), b"", b""
        size = int(header["tpu"])
        tpu, cpu = rest[:size], rest[size:]
        for one in (tpu, cpu):
            loaded = program.load_program(one)
            _check_outputs(loaded.out_avals, signature)
        calls = program.custom_calls(tpu)
    except Rejection as rejection:
        return verdict.rejected(rejection.kind, str(rejection)), b"", b""
    except Exception as error:  # noqa: BLE001 - whatever a forged answer provokes
        return verdict.rejected("lowering_error", f"no program came out: {type(error).__name__}"), b"", b""
    programs = {
        name: {"digest": program.digest(content), "bytes": len(content)}
        for name, content in (("tpu", tpu), ("cpu", cpu))
    }
    return verdict.ok(programs=programs, custom_calls=calls), tpu, cpu


def _judge(ending: Ending, limits: Limits, signature: dict[str, Any]) -> tuple[Report, bytes, bytes]:
    if ending.how == "answered":
        return _split_answer(ending.answer, signature)
    kind = {"timeout": "timeout", "memory": "memory", "exited": "exited", "died": "crashed"}[ending.how]
    return verdict.rejected(kind, ending.reason(limits)), b"", b""


def main(argv: list[str]) -> int:
    """Runs the step; non-zero for a fault alone."""
    parser = argparse.ArgumentParser(prog="lower")
    for name in ("source", "entry", "signature", "target", "tpu-out", "cpu-out", "report"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--cpu-seconds", type=int, default=15)
    parser.add_argument("--memory-mib", type=int, default=3072)
    parser.add_argument("--unsafe-no-sandbox", action="store_true")
    parser.add_argument("--depfile")
    args = parser.parse_args(argv)
    source = Path(args.source).read_bytes()
    signature = verdict.read_json(args.signature)
    limits = Limits(
        cpu_seconds=args.cpu_seconds,
        wall_seconds=4 * args.cpu_seconds,
        memory_bytes=args.memory_mib * 2**20,
        answer_bytes=_ANSWER_BYTES,
    )
    enter = (lambda _: None) if args.unsafe_no_sandbox else sandbox.enter
    try:
        ending = run_in_child(lambda: _lower(source, args.entry, signature), limits, enter)
    except ChildFault as fault:
        print(f"lower: sandbox: {fault}\nhint: user namespaces must be allowed here", file=sys.stderr)
        return 3
    report, tpu, cpu = _judge(ending, limits, signature)
    verdict.write_file(args.tpu_out, tpu)
    verdict.write_file(args.cpu_out, cpu)
    verdict.write_report(args.report, report)
    write_depfile(args.depfile, args.report)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
