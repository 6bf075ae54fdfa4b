"""Tests of traces as files: whole, cut off, and with wrong bytes, and the reports of a step on them."""

from __future__ import annotations

import contextlib
import json
import os
import random
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from conftest import ROOT, Run
from jax.profiler import ProfileData
from made_traces import Trace, runs_of_one

from traces import xspace
from traces.xplane import Asked, read_traces


def test_the_reader_sees_what_jaxs_own_sees() -> None:
    trace = runs_of_one()
    trace.add("counters_0", "MXU", 100, 6, util="80.0")
    data = trace.bytes()
    own = xspace.read_space(data).planes
    theirs = list(ProfileData.from_serialized_xspace(data).planes)
    assert [plane.name for plane in own] == [plane.name for plane in theirs]
    for one, other in zip(own, theirs, strict=True):
        for line, their_line in zip(one.lines, other.lines, strict=True):
            assert line.name == their_line.name
            for event, their_event in zip(line.events, their_line.events, strict=True):
                assert event.name == their_event.name
                assert event.start // 1000 == their_event.start_ns
                assert event.duration // 1000 == their_event.duration_ns
                assert event.stats == dict(their_event.stats)


def _of_text(text: str) -> bytes:
    return ProfileData.text_proto_to_serialized_xspace(text)


def test_events_that_do_not_say_when_they_were_are_counted() -> None:
    text = """planes { name: "/device:TPU:0"
      lines { display_name: "XLA Modules"
        events { metadata_id: 1 duration_ps: 9000000 stats { metadata_id: 1 uint64_value: 3 } }
        events { metadata_id: 1 num_occurrences: 4 duration_ps: 9000000 } }
      lines { name: "XLA Ops" events { metadata_id: 2 duration_ps: 5000000 stats { metadata_id: 2 ref_value: 3 } } }
      event_metadata { key: 1 value { name: "jit_f(5)" } }
      event_metadata { key: 2 value { name: "%fusion.1 = f32[] fusion()" display_name: "fusion.1" } }
      stat_metadata { key: 1 value { name: "program_id" } }
      stat_metadata { key: 2 value { name: "hlo_category" } }
      stat_metadata { key: 3 value { name: "loop fusion" } } }"""
    report = read_traces({"t": _of_text(text)}, Asked())
    assert report["devices"][0]["degradations"]["aggregated_events"] == 1
    (program,) = report["devices"][0]["programs"]
    assert (program["program_id"], program["runs"]) == ("3", 1)
    assert (program["ops"][0]["name"], program["ops"][0]["category"]) == ("fusion.1", "loop fusion")


def test_a_device_without_programs_says_what_it_has() -> None:
    text = 'planes { name: "/device:GPU:0" lines { name: "Stream #13" events { metadata_id: 1 duration_ps: 5 } } }'
    with pytest.raises(xspace.BrokenTrace, match=r"^t: no line 'XLA Modules' .* only Stream #13$"):
        read_traces({"t": _of_text(text)}, Asked())


def test_what_the_profiler_says_is_passed_on() -> None:
    data = runs_of_one().bytes() + _of_text('warnings: "dropped events" planes { name: "/device:TPU:0 SparseCore 0" }')
    report = read_traces({"t": data}, Asked())
    assert report["remarks"] == ["dropped events"]
    assert {one["plane"] for one in report["planes_left_out"]} == {"/host:CPU", "/device:TPU:0 SparseCore 0"}


def test_a_number_in_a_names_place_is_no_name() -> None:
    line = bytes([0x10, 0x01])  # field 2 as a number
    plane = bytes([0x12, 13]) + b"/device:TPU:0" + bytes([0x1A, len(line)]) + line
    (read,) = xspace.read_space(bytes([0x0A, len(plane)]) + plane).planes
    assert [one.name for one in read.lines] == [""]


def test_a_truncated_file_is_told_wherever_it_ends() -> None:
    data = runs_of_one(2).bytes()
    host = ProfileData.text_proto_to_serialized_xspace('planes { name: "/host:CPU" lines { name: "python3" } }')
    assert data.startswith(host)
    for end in range(len(data)):
        with pytest.raises(xspace.BrokenTrace, match=r"^t: "):
            read_traces({"t": data[:end]}, Asked())


def test_other_bytes_are_no_reason_to_fall_over() -> None:
    data = bytearray(runs_of_one(2).bytes())
    draw = random.Random(5)
    for _ in range(1500):
        broken = bytearray(data)
        for _ in range(draw.randint(1, 4)):
            broken[draw.randrange(len(broken))] = draw.randrange(256)
        with contextlib.suppress(xspace.BrokenTrace):
            read_traces({"t": bytes(broken)}, Asked())


def test_what_is_no_trace_ends_the_step_in_words(run_step: Run, tmp_path: Path) -> None:
    for name, content, words in (
        ("empty", b"", "the file is empty"),
        ("text", b"hello, world\n" * 9, "not an XPlane trace, or cut off: byte 2: no field begins with 0x6c"),
        ("cut", runs_of_one().bytes()[:-40], "are missing"),
    ):
        (tmp_path / name).write_bytes(content)
        done = run_step("traces.xplane", trace=name, out="device_trace.json")
        assert done.returncode == 2
        assert done.stderr.startswith(f"xplane: {name}: ")
        assert words in done.stderr
        assert done.stderr.count("\n") == 1
    done = run_step("traces.xplane", trace="absent", out="device_trace.json")
    assert (done.returncode, done.stderr) == (2, "xplane: absent: No such file or directory\n")
    assert not (tmp_path / "device_trace.json").exists()


def test_two_planes_of_one_name_are_no_device() -> None:
    text = runs_of_one().text()
    with pytest.raises(xspace.BrokenTrace, match="more than one plane is called '/device:TPU:0'"):
        read_traces({"t": _of_text(text + text)}, Asked())


def test_a_name_of_any_bytes_is_printed(run_step: Run, tmp_path: Path) -> None:
    name = os.fsdecode(b"a\xff.xplane.pb")
    done = run_step("traces.xplane", trace=name, out="device_trace.json")
    assert done.stderr == "xplane: a\ufffd.xplane.pb: No such file or directory\n"
    (tmp_path / name).write_bytes(runs_of_one().bytes())
    assert run_step("traces.xplane", trace=name, out="-").returncode == 0


def test_a_floor_is_a_number(run_step: Run, tmp_path: Path) -> None:
    (tmp_path / "a.xplane.pb").write_bytes(runs_of_one().bytes())
    done = run_step("traces.xplane", trace="a.xplane.pb", out="-", floor="nan")
    assert done.returncode == 2
    assert "--floor" in done.stderr


def test_a_trace_of_this_machines_cpu_says_what_is_in_it(run_step: Run, tmp_path: Path) -> None:
    with jax.profiler.trace(str(tmp_path / "log")):
        jax.jit(lambda x: x @ x)(jnp.ones((64, 64))).block_until_ready()
    (path,) = (tmp_path / "log").glob("plugins/profile/*/*.xplane.pb")
    done = run_step("traces.xplane", trace=path, out="device_trace.json")
    assert done.returncode == 2
    assert "no TPU or GPU is in this trace, only '" in done.stderr
    assert "'/host:CPU' with " in done.stderr


def _of_two_cores() -> Trace:
    """Returns the trace of tests/golden/xplane: with a run that is cut off, a run that a core lacks, and a fragment."""
    trace = Trace()
    for core, slower in (("TPU:0", 1.0), ("TPU:1", 1.02)):
        for number in range(5):
            if (core, number) == ("TPU:1", 3):
                continue
            start = 20_000.0 * (number + 1)
            given = {"name": "jit_gmm", "program": 7350941, "core": core}
            if (core, number) == ("TPU:0", 0):
                given["ops"] = (("copy.2", 0.6, 0.3),)
            trace.run(number, start, duration=(13_500 + 20 * number) * slower, **given)
            trace.add("Tensor Core Sync Flag", "SyncWait", start + 1500, 900, core)
            trace.add("Async XLA Ops", "copy-start.3", start + 7000, 2500, core)
            trace.add("counters_0", "MXU", start + 2000, 4000, core, util="61.5")
            trace.add("counters_0", "Vector ALU", start + 2000, 4000, core, util="12.25")
            trace.add("_counters_", "Vector Spills", start + 2000, 4000, core, spills=3)
    trace.run(9, 115_000, duration=5.7, name="jit_gmm", program=7350941)
    trace.run(20, 130_000, duration=40, name="jit_convert", program=11)
    return trace


def _of_a_rolled_loop() -> Trace:
    """Returns a trace whose ops take most of the time, and whose unit counters all are 0 %, as in a rolled loop."""
    trace = Trace()
    for number in range(2):
        trace.run(number, 400.0 * number, duration=200, name="jit_rolled", program=424242)
        for unit in ("MXU", "Vector ALU"):
            trace.add("_counters_", unit, 400.0 * number + 20, 100, util="0")
    return trace


@pytest.mark.parametrize(
    ("path", "trace"),
    [("traces/plugins/profile/2026_11_23/host.xplane.pb", _of_two_cores), ("rolled.xplane.pb", _of_a_rolled_loop)],
)
def test_the_golden_traces_are_made_of_text(path: str, trace: Callable[[], Trace]) -> None:
    kept = (ROOT / "tests/data" / path).read_bytes()
    assert read_traces({"t": kept}, Asked()) == read_traces({"t": trace().bytes()}, Asked())


def test_the_step_writes_the_same_report_each_time(run_step: Run, tmp_path: Path) -> None:
    (tmp_path / "a.xplane.pb").write_bytes(runs_of_one().bytes())
    for out in ("one.json", "two.json"):
        done = run_step("traces.xplane", trace="a.xplane.pb", out=out, module="jit_f", runs=4, floor=1e-6, depfile="d")
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
    assert json.loads((tmp_path / "one.json").read_text())["format"] == "evolve-device-trace-1"
    assert "xspace.py" in (tmp_path / "d").read_text()
