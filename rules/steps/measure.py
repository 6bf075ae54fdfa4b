"""Step measure: a candidate's program beside an anchor's, timed on this machine's CPU.

Both are programs, no Python of a candidate's. Several processes time them one after another, for each has its own
luck with memory; in each, blocks of anchor, candidate, candidate, anchor, or the mirror image, so that whatever
drifts evenly falls out of a block's ratio. Times are the process's CPU time, of all its threads: what others run on
the machine does not count. All samples are kept; what they say is decided by another step.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import math
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import numpy as np

import judge_inputs
import program
import sandbox
import verdict
from child import ChildFault, Ending, Limits
from step import Step
from verdict import Report

FORMAT = "evolve-samples-1"
# The manifest says the same in the edge's `protocol`: a change in how is measured is another number.
PROTOCOL = "cpu-abba-1"

# One sample takes at least so long: as many calls as that needs.
_SAMPLE_SECONDS = 0.004
# Warm is who needed, three times in a row, within so much of the same.
_STEADY = 0.05
_MOST_WARM_UPS = 20
_INPUT_SETS = 3

# One thread: a pool's would wait for each other at the mercy of the machine's other work.
_XLA_FLAGS = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"


class _OtherOutputs(Exception):
    """A timed call gave other bytes than the same call before."""


class _Timed:
    """A program compiled ahead, with inputs on the device and what it gives for them."""

    def __init__(self, name: str, content: bytes, signature: dict[str, Any]) -> None:
        import jax  # noqa: PLC0415

        self.name = name
        exported = program.load_program(content)
        self._inputs = [
            [jax.device_put(array) for array in judge_inputs.draw(signature, number=number)]
            for number in range(_INPUT_SETS)
        ]
        self._run = jax.jit(exported.call).lower(*self._inputs[0]).compile()
        self._ready: Callable[[Any], Any] = jax.block_until_ready
        self._leaves: Callable[[Any], list[Any]] = jax.tree_util.tree_leaves
        self._expected = [self._digest(self._run(*arguments)) for arguments in self._inputs]
        self._calls = 1
        self._next = 0

    def sample(self) -> float:
        """Seconds of CPU time a call. Raises _OtherOutputs."""
        results: Any = None
        start = time.process_time_ns()
        for _ in range(self._calls):
            # Other inputs than in the call before.
            self._next = (self._next + 1) % _INPUT_SETS
            results = self._ready(self._run(*self._inputs[self._next]))
        seconds = (time.process_time_ns() - start) * 1e-9 / self._calls
        if self._digest(results) != self._expected[self._next]:
            raise _OtherOutputs(f"the {self.name}: a timed call gave other outputs than the call before it")
        return seconds

    def warm_up(self) -> None:
        """Until it is steady, and knows how many calls a sample needs."""
        first = max(self.sample(), 1e-7)
        self._calls = max(1, math.ceil(_SAMPLE_SECONDS / first))
        last: list[float] = []
        for _ in range(_MOST_WARM_UPS):
            last = [*last[-2:], self.sample()]
            if len(last) == 3 and max(last) <= (1 + _STEADY) * min(last):
                return

    def _digest(self, results: Any) -> str:
        digest = hashlib.sha256()
        for leaf in self._leaves(results):
            digest.update(np.asarray(leaf).tobytes())
        return digest.hexdigest()


def _measure(contents: dict[str, bytes], signature: dict[str, Any], orders: list[bool]) -> bytes:
    """The life of a measuring process: its blocks as JSON, or why there are none."""
    os.environ["XLA_FLAGS"] = _XLA_FLAGS
    try:
        program.configure_jax()
        timed = {name: _Timed(name, content, signature) for name, content in contents.items()}
        for one in timed.values():
            one.warm_up()
        gc.disable()
        blocks = []
        for anchor_first in orders:
            inner, outer = ("candidate", "anchor") if anchor_first else ("anchor", "candidate")
            block: dict[str, list[float]] = {"anchor": [], "candidate": []}
            for name in (outer, inner, inner, outer):
                block[name].append(timed[name].sample())
            blocks.append(block)
    except MemoryError:
        raise
    except _OtherOutputs as error:
        return json.dumps({"kind": "nondeterministic", "reason": str(error)}).encode()
    except Exception as error:  # noqa: BLE001 - whatever a program does at run time
        return json.dumps({"kind": "crash", "reason": f"{type(error).__name__}: {error}"}).encode()
    return json.dumps({"blocks": blocks}).encode()


def device_name() -> str:
    """The device as one word: "cpu:AMD-EPYC-9B45"."""
    name = "unknown"
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            name = value
            break
    return "cpu:" + "-".join(name.split())


def _rejection(ending: Ending, limits: Limits) -> Report | None:
    if ending.how != "answered":
        return verdict.of_ending(ending, limits)
    answer = json.loads(ending.answer)
    if "kind" in answer:
        return verdict.rejected(answer["kind"], answer["reason"])
    return None


def measure(
    contents: dict[str, bytes], signature: dict[str, Any], processes: int, blocks: int, limits: Limits, device: str
) -> Report:
    """The report on "candidate" beside "anchor"; an empty program was turned down before."""
    if not all(contents.values()):
        return verdict.not_reached()
    samples = []
    for number in range(processes):
        # The order is drawn, and the same for the same programs.
        key = int(program.digest(contents["candidate"]), 16) + number
        orders = list(np.random.Generator(np.random.Philox(key=key)).random(blocks) < 0.5)
        ending = sandbox.run(partial(_measure, contents, signature, orders), limits)
        rejection = _rejection(ending, limits)
        if rejection is not None:
            return rejection
        samples.append(json.loads(ending.answer)["blocks"])
    return verdict.ok(format=FORMAT, device=device, protocol=PROTOCOL, clock="cpu time", processes=samples)


def main(argv: list[str]) -> int:
    """Runs the step; non-zero for a fault alone."""
    flags = ("program", "anchor", "signature", "device", "protocol")
    step = Step("measure", flags, cpu_seconds=120, memory_mib=8192)
    step.parser.add_argument("--contract", help="the report of that step; a baseline has none")
    step.parser.add_argument("--processes", type=int, default=5)
    step.parser.add_argument("--blocks", type=int, default=8)

    def work(args: argparse.Namespace, limits: Limits) -> Report:
        for said, here in ((args.device, device_name()), (args.protocol, PROTOCOL)):
            if said != here:
                raise ChildFault(f"'{said}' is asked for, this is '{here}'")
        contents = {"anchor": Path(args.anchor).read_bytes(), "candidate": verdict.passed(args.contract, args.program)}
        signature = verdict.read_json(args.signature)
        return measure(contents, signature, args.processes, args.blocks, limits, args.device)

    return step.run(argv, work)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
