"""Step compile: from the device's program to the real compiler's schedule, on a machine without a TPU.

libtpu compiles ahead of time for a topology that is only named. Its start costs more than a small program, so a server
with libtpu stays while this process compiles one program after another. libtpu can end its process on input that looks
legal. A program that the server does not answer, or rejects after others, is compiled in a child of its own. If that
child dies, the program is compiled once more before it is rejected. So no program is rejected because of another
program.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import os
import re
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax

from process.child import Ending, Limits, Server, run_in_child
from programs import mosaic_lacks, program
from reports import verdict
from reports.step import Step
from reports.verdict import Report

# The passes whose dumps the step analyze reads. Without this filter, libtpu writes 300 files.
_PASSES = "packed-bundles-post-ra|final_bundles|all-fingerprints|vmem_report|hlo-static-bundle-profile"

# Modules and stages may have dashes in their names; the number between the two separates them.
_DUMP_NAME = re.compile(r"^\d+-(?P<module>[^<].*?)-(?:\d+-|(?=hlo\.))(?P<stage>[A-Za-z_].*)\.(?P<kind>txt|html)$")

_TELLING = re.compile(r"exceed|limit|Used .* of|must be|not implemented", re.I)

# Two patterns that the compiler's message must both match, and the kind that they stand for. The first match counts.
_KINDS = (
    (re.compile(r"vmem|CompileTimeScopedVmemOom", re.I), re.compile(r"RESOURCE_EXHAUSTED"), "out-of-memory"),
    (re.compile(r"smem", re.I), re.compile(r"RESOURCE_EXHAUSTED"), "out-of-memory"),
    (re.compile(r"hbm", re.I), re.compile(r"RESOURCE_EXHAUSTED"), "out-of-memory"),
    (re.compile(r""), re.compile(r"Mosaic"), "compile-error"),
)


def _kind(message: str) -> str:
    for what, where, kind in _KINDS:
        if where.search(message) and what.search(message):
            return kind
    return "compile-error"


def _telling_sentence(message: str) -> str:
    """Returns a message's most useful sentence: one with sizes or limits comes before one with only codes."""
    sentences = [part.strip() for part in re.split(r"\n|(?<=\.)\s", message) if part.strip()]
    telling = [part for part in sentences if _TELLING.search(part)]
    return (telling or sentences or ["no message"])[0]


def _start(topology: str, flags: tuple[str, ...]) -> Callable[[bytes], bytes]:
    """Initialises libtpu, in a child. Returns the function that answers a `_request` with a report."""
    os.environ.update(
        TPU_SKIP_MDS_QUERY="1",
        ALLOW_MULTIPLE_LIBTPU_LOAD="1",
        LIBTPU_INIT_ARGS=" ".join(
            [
                # The compiler keeps the name of its dump folder, so each request has another current folder.
                "--xla_jf_dump_to=.",
                f"--xla_jf_dump_llo_pass_label_regex=^({_PASSES})$",
                *(f"--{flag}" for flag in flags),
            ]
        ),
    )
    from jax.experimental import topologies  # noqa: PLC0415

    program.configure_jax()
    device = topologies.get_topology_desc(platform="tpu", topology_name=topology).devices[0]

    def answer(request: bytes) -> bytes:
        folder, _, content = request.partition(b"\0")
        os.chdir(folder)
        report = _compile(content, device)
        # Otherwise JAX's caches would keep each program in memory, with all that was made from it.
        jax.clear_caches()
        return json.dumps(report).encode()

    return answer


def _request(content: bytes, dumps: str) -> bytes:
    """Encodes a request: a program to compile, and the folder for its dumps."""
    return dumps.encode() + b"\0" + content


def _compile(content: bytes, device: Any) -> Report:
    exported = program.load_program(content)
    sharding = jax.sharding.SingleDeviceSharding(device)
    arguments = [jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=sharding) for a in exported.in_avals]
    call = exported.call

    def kernel_program(*args: Any) -> Any:
        return call(*args)

    try:
        compiled = jax.jit(kernel_program).lower(*arguments).compile()
    except Exception as error:  # noqa: BLE001 - whatever the compiler rejects
        message = f"{type(error).__name__}: {error}"
        return verdict.rejected(_kind(message), _telling_sentence(message) + mosaic_lacks.advice(message))
    memory = compiled.memory_analysis()
    sizes = {
        "generated_code_bytes": memory.generated_code_size_in_bytes,
        "argument_bytes": memory.argument_size_in_bytes,
        "output_bytes": memory.output_size_in_bytes,
        "temp_bytes": memory.temp_size_in_bytes,
    }
    return verdict.ok(device_kind=device.device_kind, memory=sizes)


def _read_dumps(folder: str) -> dict[str, bytes]:
    """Returns the dumps by "module/stage.kind", without the time stamps and counters that differ between runs."""
    found: dict[str, bytes] = {}
    for path in sorted(Path(folder).iterdir()):
        match = _DUMP_NAME.match(path.name)
        if match:
            found[f"{match['module']}/{match['stage']}.{match['kind']}"] = path.read_bytes()
    return found


def _fingerprint(dumps: dict[str, bytes]) -> str | None:
    """Returns libtpu's own fingerprint of the program: equal for programs with the same machine code."""
    for name, content in dumps.items():
        if name.endswith("/all-fingerprints.txt"):
            return program.digest(b"\n".join(line for line in content.splitlines() if b"<" not in line))
    return None


def _pack(dumps: dict[str, bytes]) -> bytes:
    """Packs the dumps into a gzipped tar that depends on nothing but the dumps."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in sorted(dumps):
            entry = tarfile.TarInfo(name)
            entry.size = len(dumps[name])
            archive.addfile(entry, io.BytesIO(dumps[name]))
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=6, mtime=0) as file:
        file.write(raw.getvalue())
    return packed.getvalue()


def _judge(ending: Ending, limits: Limits) -> Report:
    if ending.how == "answered":
        report: Report = json.loads(ending.answer)
        return report
    kind = "timeout" if ending.how == "timeout" else "crash"
    return verdict.rejected(kind, f"libtpu {ending.reason(limits)}")


# The server, by its arguments. Only one server stays, because each holds memory.
_servers: dict[tuple[str, tuple[str, ...], Limits], Server] = {}


def _server(topology: str, flags: tuple[str, ...], limits: Limits) -> Server:
    key = (topology, flags, limits)
    if key not in _servers:
        for other in _servers.values():
            other.close()
        _servers.clear()
        _servers[key] = Server(lambda: _start(topology, flags), limits)
    return _servers[key]


def _compile_alone(request: bytes, topology: str, flags: tuple[str, ...], limits: Limits) -> Report:
    return _judge(run_in_child(lambda: _start(topology, flags)(request), limits), limits)


def compile_program(content: bytes, topology: str, flags: tuple[str, ...], limits: Limits) -> tuple[Report, bytes]:
    """Returns the report and the packed dumps of a program. An empty program was rejected before."""
    if not content:
        return verdict.not_reached(), b""
    for attempt in ("with others", "alone", "alone, again"):
        with tempfile.TemporaryDirectory(prefix="evolve-dumps-") as folder:
            request = _request(content, folder)
            if attempt == "with others":
                server = _server(topology, flags, limits)
                is_first = server.is_new
                answer = server.ask(request)
                if answer is None:
                    continue
                report = json.loads(answer)
                if report["verdict"] != "ok" and not is_first:
                    continue
            else:
                report = _compile_alone(request, topology, flags, limits)
            dumps = _read_dumps(folder)
        # A death may have been the machine's fault. Only the second death counts as the program's.
        if report.get("kind") != "crash":
            break
    if report["verdict"] != "ok":
        return report, b""
    report["libtpu"] = _libtpu_version()
    report["fingerprint"] = _fingerprint(dumps)
    return report, _pack(dumps)


def _libtpu_version() -> str:
    from importlib.metadata import version  # noqa: PLC0415

    return version("libtpu")


def main(argv: list[str]) -> int:
    """Runs the step; the exit code is non-zero for a fault only."""
    step = Step("compile", ("program", "dumps"), cpu_seconds=300, memory_mib=16384)
    step.parser.add_argument("--gate", help="a report that must be ok for the step to run; a baseline has no gate")
    step.parser.add_argument(
        "--topology", required=True, help="libtpu's name, such as v6e:2x2; programs are for one of its cores"
    )
    step.parser.add_argument("--flags", default="", help="libtpu's flags, without dashes: name=value,name=value")

    def work(args: argparse.Namespace, limits: Limits) -> Report:
        flags = tuple(args.flags.split(",")) if args.flags else ()
        content = verdict.passed(args.gate, args.program)
        report, dumps = compile_program(content, args.topology, flags, limits)
        verdict.write_file(args.dumps, dumps)
        return report

    return step.run(argv, work)
