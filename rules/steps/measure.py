"""Step measure: the programs of a candidate and of an anchor, timed on this machine's CPU.

Both are programs, without any Python of a candidate. The unit is the run. Each run compiles both programs and lays out
their inputs again, in one of several processes, because the places of the inputs in memory affect the times, and these
places vary. A run has blocks of anchor, candidate, candidate, anchor, or the mirror image, so that an even drift
cancels out in a block's ratio. It has many short blocks instead of a few long ones, so that other work of the machine
hits both programs alike, or only one block. Times are the process's CPU time, of all its threads: the machine's other
work does not count. A process keeps to one core: for threads on other cores, the clock includes only the time up to
their last switch, which may be a tick ago. So a call of half a millisecond would scatter by half of itself, but on one
core it scatters by a twentieth. All samples are kept, and another step evaluates them.

Inputs are drawn from the secret, and all sets but the first are for one process only. Outputs are compared
(timed_outputs.py). So a program cannot know the inputs on which it is timed.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import math
import os
import re
import resource
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import numpy as np

from judge import comparison, judge_inputs
from judge.comparison import Refusal
from judge.timed_outputs import Case
from process import sandbox
from process.child import ChildFault, Ending, Limits
from programs import program
from reports import verdict
from reports.step import Step
from reports.verdict import Report

FORMAT = "evolve-samples-2"
# The edge's `protocol` in the manifest must be the same. Another way to measure needs another number.
PROTOCOL = "cpu-abba-3"

# The maximum number of blocks in a run. More show nothing new, because the differences between runs remain.
_MOST_BLOCKS = 200
# A sample takes at least this many seconds, with as many calls as needed, so that the time for reading the clock is
# negligible.
_SHORTEST_SAMPLE = 0.0005
# A program is warm if three samples in a row are within this share of each other.
_STEADY = 0.05
_MOST_WARM_UPS = 20
_INPUT_SETS = 3
# Outputs are compared in the first block, and on average in one of this many other blocks.
_LOOK_AT = 8

# XLA has one thread: the threads of a pool would wait for each other whenever the machine does other work.
_XLA_FLAGS = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"


@dataclass(frozen=True)
class Effort:
    """The amount to measure: processes, one after another, runs in each, and seconds of CPU time of all blocks."""

    processes: int
    runs: int
    seconds: float

    @property
    def run_seconds(self) -> float:
        """Seconds of CPU time of one run's blocks."""
        return self.seconds / (self.processes * self.runs)


def _cpu_seconds() -> float:
    """Returns this process' CPU time. Under a limit on CPU time, the CPU clock only has ticks of 4 ms."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


class _OtherOutputs(Exception):
    """A timed call gave other bytes than the same call before."""


class _Timed:
    """A program that is compiled ahead, with inputs on the device and its outputs for them.

    `picked`: for each of the inputs, its outputs at places. Raises Refusal if they are not the oracle's; without a
    `case`, they are not compared.
    """

    def __init__(self, name: str, content: bytes, drawn: list[list[Any]], places: list[Any], case: Case | None) -> None:
        import jax  # noqa: PLC0415

        self.name = name
        self._inputs = [[jax.device_put(array) for array in arrays] for arrays in drawn]
        # The program is lowered anew in each run, because JAX compiles a lowered program only once.
        self._run = jax.jit(program.load_program(content).call).lower(*drawn[0]).compile()
        self._ready: Callable[[Any], Any] = jax.block_until_ready
        self._leaves: Callable[[Any], list[Any]] = jax.tree_util.tree_leaves
        self._expected: list[str] = []
        self.picked: list[list[Any]] = []
        for number, arguments in enumerate(self._inputs):
            results = self._run(*arguments)
            self._expected.append(self._digest(results))
            arrays = [np.asarray(leaf) for leaf in self._leaves(results)]
            if case is not None and number == 0:
                case.check_known(arrays)
            self.picked.append([judge_inputs.picked(*each) for each in zip(arrays, places, strict=False)])
        self.calls = 1  # in one sample
        self._next = 0

    def sample(self, is_looked_at: bool) -> float:
        """Returns seconds of CPU time per call. Raises _OtherOutputs."""
        results: Any = None
        start = _cpu_seconds()
        for _ in range(self.calls):
            # The inputs differ from those of the call before.
            self._next = (self._next + 1) % _INPUT_SETS
            results = self._ready(self._run(*self._inputs[self._next]))
        seconds = (_cpu_seconds() - start) / self.calls
        if is_looked_at and self._digest(results) != self._expected[self._next]:
            raise _OtherOutputs(f"the {self.name}: a timed call gave other outputs than the call before it")
        return seconds

    def warm_up(self, sample_seconds: float) -> None:
        """Finds how many calls a sample of this length needs, and runs until the program is steady."""
        first = max(min(self.sample(False) for _ in range(3)), 1e-6)
        self.calls = max(1, math.ceil(sample_seconds / first))
        last: list[float] = []
        for _ in range(_MOST_WARM_UPS):
            last = [*last[-2:], self.sample(False)]
            if len(last) == 3 and max(last) <= (1 + _STEADY) * min(last):
                return

    def _digest(self, results: Any) -> str:
        digest = hashlib.sha256()
        for leaf in self._leaves(results):
            digest.update(np.asarray(leaf).tobytes())
        return digest.hexdigest()


@dataclass(frozen=True)
class _Inputs:
    """The inputs on which one process times calls."""

    case: Case
    is_checked: bool  # whether the candidate's outputs are checked; a baseline's are not
    drawn: list[list[Any]]
    places: list[Any]


def _configure_calls() -> None:
    """Makes programs run in the thread that calls them."""
    import jax  # noqa: PLC0415

    jax.config.update("jax_cpu_enable_async_dispatch", False)


def _run(
    contents: dict[str, bytes], inputs: _Inputs, seconds: float, draw: np.random.Generator
) -> dict[str, list[list[float]]]:
    """Makes one run: two times per block of each program. The programs are laid out in the order given.

    Raises Refusal for a candidate whose outputs are not right.
    """
    known = {"candidate": inputs.case if inputs.is_checked else None}
    timed = {
        name: _Timed(name, content, inputs.drawn, inputs.places, known.get(name)) for name, content in contents.items()
    }
    if inputs.is_checked:
        for both in zip(timed["candidate"].picked, timed["anchor"].picked, strict=True):
            inputs.case.check_beside(*both, inputs.places)
    for one in timed.values():
        one.warm_up(max(_SHORTEST_SAMPLE, seconds / (4 * _MOST_BLOCKS)))
    samples: dict[str, list[list[float]]] = {"anchor": [], "candidate": []}
    spent = 0.0
    while not samples["anchor"] or (spent < seconds and len(samples["anchor"]) < _MOST_BLOCKS):
        outer, inner = ("anchor", "candidate") if draw.random() < 0.5 else ("candidate", "anchor")
        is_looked_at = not samples["anchor"] or draw.integers(_LOOK_AT) == 0
        block: dict[str, list[float]] = {"anchor": [], "candidate": []}
        for name in (outer, inner, inner, outer):
            block[name].append(timed[name].sample(is_looked_at))
        for name, times in block.items():
            samples[name].append([float(f"{one:.5g}") for one in times])
            spent += sum(times) * timed[name].calls
    return samples


def _measure(contents: dict[str, bytes], case: Case, is_checked: bool, effort: Effort, process: int) -> bytes:
    """The work of a measuring process: returns its runs as JSON, or why there are none."""
    os.environ["XLA_FLAGS"] = _XLA_FLAGS
    of_program = program.digest(contents["candidate"])
    key = int(of_program, 16) + process
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[key % len(cores)]})
    # The order in which programs are timed is drawn, but it is the same for the same candidate and process.
    draw = np.random.Generator(np.random.Philox(key=key))
    try:
        program.configure_jax()
        _configure_calls()
        # The oracle has values for the first set. The other sets are this process's own.
        numbers = (0, *range(1 + process * _INPUT_SETS, (1 + process) * _INPUT_SETS))
        drawn = [case.inputs(number) for number in numbers]
        inputs = _Inputs(case, is_checked, drawn, case.places(process, of_program))
        gc.disable()
        runs = []
        for number in range(effort.runs):
            # The program that is laid out first is always faster, or always slower, by a percent, so both take turns.
            names = ("anchor", "candidate") if (number + key) % 2 == 0 else ("candidate", "anchor")
            in_turn = {name: contents[name] for name in names}
            runs.append(_run(in_turn, inputs, effort.run_seconds, draw))
            gc.collect()
    except MemoryError:
        raise
    except Refusal as refusal:
        return json.dumps({"kind": refusal.kind, "reason": f"a timed call: {refusal}"}).encode()
    except _OtherOutputs as error:
        return json.dumps({"kind": "nondeterministic", "reason": str(error)}).encode()
    except Exception as error:  # noqa: BLE001 - whatever a program does at run time
        return json.dumps({"kind": "crash", "reason": f"{type(error).__name__}: {error}"}).encode()
    return json.dumps({"runs": runs}).encode()


def device_name() -> str:
    """Returns the device as one plain word: "cpu:AMD-EPYC-9B45"."""
    name = "unknown"
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            name = value
            break
    # The same form as in engine/app/machine.cc.
    return "cpu:" + "-".join(re.sub(r"[^A-Za-z0-9.-]", " ", name).split())


def _rejection(ending: Ending, limits: Limits) -> Report | None:
    if ending.how != "answered":
        return verdict.of_ending(ending, limits)
    answer = json.loads(ending.answer)
    if "kind" in answer:
        return verdict.rejected(answer["kind"], answer["reason"])
    return None


def measure(
    contents: dict[str, bytes], case: Case, is_checked: bool, effort: Effort, limits: Limits, device: str
) -> Report:
    """Returns the report on "candidate", timed against "anchor". An empty program was rejected before.

    `is_checked`: whether the candidate's outputs have to be right; a baseline's are the reference's own.
    """
    if not all(contents.values()):
        return verdict.not_reached()
    if any(map(program.is_traced, contents.values())):
        return verdict.not_done("JAX has no CPU form of it: it cannot be timed on a CPU")
    runs = []
    for number in range(effort.processes):
        ending = sandbox.run(partial(_measure, contents, case, is_checked, effort, number), limits)
        rejection = _rejection(ending, limits)
        if rejection is not None:
            return rejection
        runs += [{"process": number, **run} for run in json.loads(ending.answer)["runs"]]
    return verdict.ok(format=FORMAT, device=device, protocol=PROTOCOL, clock="cpu time", runs=runs)


def main(argv: list[str]) -> int:
    """Runs the step; the exit code is non-zero for a fault only."""
    flags = ("program", "anchor", "signature", "expected", "tolerance", "secret", "device", "protocol")
    step = Step("measure", flags, cpu_seconds=300, memory_mib=8192)
    step.parser.add_argument("--gate", help="a report that must be ok for the step to run; a baseline has no gate")
    step.parser.add_argument("--race", help="the race's report, which says whether the variant is measured")
    step.parser.add_argument("--processes", type=int, default=3)
    step.parser.add_argument("--runs", type=int, default=4, help="timed runs in each process")
    step.parser.add_argument("--seconds", type=float, default=8, help="CPU time of all blocks together")

    def work(args: argparse.Namespace, limits: Limits) -> Report:
        for said, here in ((args.device, device_name()), (args.protocol, PROTOCOL)):
            if said != here:
                raise ChildFault(f"the pipeline asks for the device '{said}', but this machine is '{here}'")
        candidate = verdict.passed(args.gate, args.program)
        if args.race and not verdict.read_json(args.race)["is_in"]:
            return verdict.not_reached()
        contents = {"anchor": Path(args.anchor).read_bytes(), "candidate": candidate}
        effort = Effort(args.processes, args.runs, args.seconds)
        return measure(contents, Case(*comparison.read_case(args)), bool(args.gate), effort, limits, args.device)

    return step.run(argv, work)
