"""A benchmark of the errors of measured times: `.venv/bin/python tests/bench/timing.py [--comparisons N] [--load N] …`.

It compares programs with themselves (A/A: any decision but a tie is an error), and with programs that do a known share
more of the same work. It uses the measure step and the decision on the step's samples. Meanwhile other processes keep
the machine busy. It prints how often each decision came, how wide the intervals were, the cost of a comparison, and the
load.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "rules"))
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
from jax import export

from judge.timed_outputs import Case
from process.child import Limits
from reports import verdict
from steps import measure

SIZE = 192
STEPS = 200
SIGNATURE = {
    "inputs": [{"name": name, "shape": [SIZE, SIZE], "dtype": "float32"} for name in ("x", "y")],
    "outputs": [{"name": "out", "shape": [SIZE, SIZE], "dtype": "float32"}],
}
# The outputs of a baseline are not checked, so the case has no expected values.
CASE = Case({}, SIGNATURE, {}, "a secret")
LIMITS = Limits(300, 3600, 8 * 2**30)
# The possible decisions on sound samples.
COMPARISONS = ("faster", "slower", "tie", "unstable")
# The bodies that programs repeat. They are bound by arithmetic, by memory, or by special functions.
BODIES: dict[str, tuple[int, Callable[[Any, Any, Any], Any]]] = {
    "matmul": (1, lambda c, x, y: c * 0.5 + x @ y),
    "add": (8, lambda c, x, y: jnp.maximum(c * 0.5 + x, y)),
    "softmax": (1, lambda c, x, y: jnp.exp(c - jnp.max(c, 1, keepdims=True)) * x + y),
}


def program_of(name: str, share: float) -> bytes:
    """Returns a program that does `share` of the standard work."""
    factor, body = BODIES[name]

    def function(x: Any, y: Any) -> Any:
        return jax.lax.fori_loop(0, round(STEPS * factor * share), lambda _, c: body(c, x, y), x)

    shape = jax.ShapeDtypeStruct((SIZE, SIZE), np.float32)
    return bytes(export.export(jax.jit(function), platforms=["cpu"])(shape, shape).serialize())


def keep_busy(seed: int) -> None:
    """Works and rests in turns of random length, as long as the parent process lives."""
    parent = os.getppid()
    draw = random.Random(seed)
    data = np.random.default_rng(seed).standard_normal((512, 512)).astype(np.float32)
    while os.getppid() == parent:
        end = time.monotonic() + draw.uniform(0.001, 0.2)
        while time.monotonic() < end:
            data = np.tanh(data @ data * 1e-3)
        time.sleep(draw.uniform(0.001, 0.1))


def decide(report: dict[str, Any]) -> dict[str, Any]:
    """Returns the time step's decision on the samples."""
    with tempfile.TemporaryDirectory() as folder:
        samples, out = Path(folder, "samples.json"), Path(folder, "time.json")
        verdict.write_report(str(samples), report)
        subprocess.run(
            [ROOT / "build" / "release" / "steps" / "time", "--samples", samples, "--out", out], check=True, timeout=60
        )
        decision: dict[str, Any] = json.loads(out.read_text())
        return decision


@dataclass(frozen=True)
class Comparison:
    """The result of one comparison."""

    program: str
    share: float
    runs: list[dict[str, Any]]
    decision: dict[str, Any]
    load: float

    @property
    def found(self) -> str:
        """The decision, or the verdict if the samples allow none."""
        return str(self.decision.get("comparison", self.decision["verdict"]))


def compare(share: float, effort: measure.Effort, name: str, contents: dict[str, bytes]) -> Comparison:
    """Measures a program next to the anchor, in this process."""
    report = measure.measure(contents, CASE, False, effort, LIMITS, measure.device_name())
    return Comparison(name, share, report.get("runs", []), decide(report), os.getloadavg()[0])


def log_ratio(run: dict[str, Any]) -> float:
    """Returns the mean log ratio of the middle half of the blocks of a run (engine/search/selection/decision.cc)."""
    blocks = np.sort(np.mean(np.log(run["candidate"]) - np.log(run["anchor"]), axis=1))
    cut = len(blocks) // 4
    return float(blocks[cut : len(blocks) - cut].mean())


def record(one: Comparison, effort: measure.Effort) -> str:
    """Returns a line of JSON, from which race_bench draws."""
    ratios = [round(log_ratio(run), 5) for run in one.runs]
    line = {"program": one.program, "share": one.share, "run_seconds": effort.run_seconds, "log_ratios": ratios}
    return json.dumps(line)


def print_line(share: float, comparisons: list[Comparison], seconds: float) -> None:
    """Prints a line for the programs that do this share of the work. `seconds` is the time of the measurements."""
    found = Counter(one.found for one in comparisons)
    widths = [(one.decision["high"] / one.decision["low"]) ** 0.5 - 1 for one in comparisons if "high" in one.decision]
    load = statistics.mean(one.load for one in comparisons)
    print(
        f"{share:<7.3g} {found['faster']:7} {found['slower']:6} {found['tie']:6} {found['unstable']:8} "
        f"{100 * statistics.median(widths):14.2f} %, {100 * max(widths):5.2f} %"
        f"{seconds / len(comparisons):15.1f} {load:6.1f}",
        flush=True,
    )
    rest = {kind: count for kind, count in found.items() if kind not in COMPARISONS}
    if rest:
        print(f"        and {rest}")


def main() -> int:
    """Prints a line for each share of work."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--comparisons", type=int, default=200, help="for each share of work")
    parser.add_argument("--shares", type=float, nargs="+", default=[1.0, 1.03], help="of work: 1.03 is 3 %% more")
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=8, help="of samples, for each comparison")
    parser.add_argument("--load", type=int, default=os.cpu_count(), help="processes that keep the machine busy")
    parser.add_argument("--at-once", type=int, default=1, help="comparisons: each is the others' load, too")
    parser.add_argument(
        "--record", type=Path, help="a file to which a line of JSON is added for each comparison: its runs"
    )
    args = parser.parse_args()

    effort = measure.Effort(args.processes, args.runs, args.seconds)
    wanted = [(name, share) for name in BODIES for share in {1.0, *args.shares}]
    # Another process makes the programs, because a process that has used a backend cannot fork any more.
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        programs = dict(zip(wanted, pool.starmap(program_of, wanted), strict=True))
    busy = [context.Process(target=keep_busy, args=(seed,), daemon=True) for seed in range(args.load)]
    for process in busy:
        process.start()
    print(f"{os.cpu_count()} cores, {args.load} busy processes, {args.at_once} at once, {effort}")
    print("work     faster slower    tie unstable   half width: median, worst   seconds each   load")
    with ProcessPoolExecutor(args.at_once, context) as pool:
        for share in args.shares:
            names = [list(BODIES)[number % len(BODIES)] for number in range(args.comparisons)]
            contents = [{"anchor": programs[name, 1.0], "candidate": programs[name, share]} for name in names]
            start = time.monotonic()
            comparisons = []
            for one in pool.map(partial(compare, share, effort), names, contents):
                comparisons.append(one)
                if args.record:
                    with args.record.open("a") as file:
                        file.write(record(one, effort) + "\n")
            print_line(share, comparisons, time.monotonic() - start)
    return 0


if __name__ == "__main__":
    sys.exit(main())
