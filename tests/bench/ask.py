"""A benchmark of searches by the number of points that they try: `tests/bench/ask.sh FOLDER [--seeds N] …`.

FOLDER holds spaces that were measured whole, in the T4 format (*.json, *.json.gz). On each space, `evolve ask` is
compared with random search, kernel_tuner's strategies (in its simulation mode), CMA-ES (cma) and TPE (optuna). The
benchmark counts the different points that each search tries until it has a point within 1.05, and within 1.01, of the
best time. It prints the median and the 90th percentile over the seeds, each with its 95 % interval, and their ratio to
random search.

kernel_tuner and `valid`, a random search, know which points are in the space, and try only these points. evolve,
CMA-ES, TPE and `random` know only the values of the parameters. Each point that they try counts, even if it is not in
the space. A search that ends, or has tried --most points, before it has a good point counts as one that never has a
good point: `-`.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import gzip
import io
import itertools
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

Point = tuple[Any, ...]
TARGETS = (1.05, 1.01)
NEVER = sys.maxsize
KEPT: dict[tuple[str, str, str], Any] = {}  # kernel_tuner's form of a space, by space, function and options
KERNEL_TUNER = [
    *[
        "genetic_algorithm",
        "simulated_annealing",
        "diff_evo",
        "pso",
        "firefly_algorithm",
        "dual_annealing",
        "basinhopping",
    ],
    *["mls", "greedy_mls", "ordered_greedy_mls", "greedy_ils", "hybrid_vndx", "adaptive_tabu_greywolf", "bayes_opt"],
]
RIVALS = ["random", "valid", "cma", "tpe", "mended", *KERNEL_TUNER]


class Done(BaseException):
    """The end of a search: all targets are reached, or the most points are tried. No `except Exception` catches it."""


@dataclass(frozen=True)
class Space:
    """A space that was measured whole."""

    name: str
    values: dict[str, list[Any]]  # by parameter, ascending
    times: dict[Point, float | None]  # None: the point did not run, or its result was wrong

    @functools.cached_property
    def best(self) -> float:
        return min(time for time in self.times.values() if time is not None)

    @functools.cached_property
    def size(self) -> int:
        size = 1
        for values in self.values.values():
            size *= len(values)
        return size


def read_space(path: Path) -> Space:
    """Reads a T4 file; a point's time is the mean of its runs."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        results = json.load(file)["results"]
    names = list(results[0]["configuration"])
    times: dict[Point, float | None] = {}
    for result in results:
        runs = result["times"].get("runtimes") or []
        is_valid = result["invalidity"] == "correct" and bool(runs)
        times[tuple(result["configuration"][name] for name in names)] = sum(runs) / len(runs) if is_valid else None
    values = {name: sorted({point[i] for point in times}) for i, name in enumerate(names)}
    return Space(path.name.removesuffix(".gz").removesuffix(".json"), values, times)


class Count:
    """The points that one search has tried."""

    def __init__(self, space: Space, most: int) -> None:
        self.space = space
        self.most = most
        self.seen: set[Point] = set()
        self.reached = [NEVER] * len(TARGETS)

    def time(self, point: Point) -> float | None:
        """Returns the point's time, or None if it has no time. Raises Done."""
        time = self.space.times.get(point)
        if point not in self.seen:
            self.seen.add(point)
            for i, target in enumerate(TARGETS):
                if time is not None and time <= target * self.space.best and self.reached[i] == NEVER:
                    self.reached[i] = len(self.seen)
            if NEVER not in self.reached or len(self.seen) >= self.most:
                raise Done
        return time


def search_evolve(count: Count, seed: int) -> None:
    """Runs our own search, over stdin and stdout."""
    command = [os.environ["EVOLVE"], "ask"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as ask:
        assert ask.stdin
        assert ask.stdout
        try:
            print(json.dumps({"space": count.space.values, "seed": seed}), file=ask.stdin, flush=True)
            for line in ask.stdout:
                time = count.time(tuple(json.loads(line)["ask"].values()))
                print(json.dumps({"tell": time}), file=ask.stdin, flush=True)
        finally:
            ask.kill()


def search_random(count: Count, seed: int) -> None:
    """Tries all points of the grid in a random order."""
    values = list(count.space.values.values())
    draws = random.Random(seed)
    while len(count.seen) < count.space.size:
        count.time(tuple(draws.choice(list_of) for list_of in values))


def search_valid(count: Count, seed: int) -> None:
    """Tries all points of the space in a random order."""
    points = list(count.space.times)
    random.Random(seed).shuffle(points)
    for point in points:
        count.time(point)


def cost_of(time: float | None) -> float:
    """Returns the time that a searcher which needs a number gets for a point without one."""
    return 1e6 if time is None else time


def search_cma(count: Count, seed: int) -> None:
    """Runs CMA-ES over the indices into the lists of values. At each end, it starts again with twice the population."""
    import cma

    values = list(count.space.values.values())
    free = [i for i, list_of in enumerate(values) if len(list_of) > 1]

    def point_of(x: Any) -> Point:
        places = [0] * len(values)
        for axis, at in zip(free, x, strict=True):
            places[axis] = min(int(at * len(values[axis])), len(values[axis]) - 1)
        return tuple(list_of[place] for list_of, place in zip(values, places, strict=True))

    for start in itertools.count():
        draws = random.Random(f"{seed}/{start}")
        options = {
            "bounds": [0, 1],
            "seed": draws.randrange(1, 2**31),
            "verbose": -9,
            "popsize": 12 * 2 ** min(start, 6),
        }
        search = cma.CMAEvolutionStrategy([draws.random() for _ in free], 0.3, options)
        while not search.stop():
            points = search.ask()
            search.tell(points, [cost_of(count.time(point_of(x))) for x in points])


def search_tpe(count: Count, seed: int) -> None:
    """Runs optuna's TPE; a point without a time counts as very slow."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))

    def objective(trial: Any) -> float:
        values = count.space.values.items()
        point = tuple(list_of[trial.suggest_int(name, 0, len(list_of) - 1)] for name, list_of in values)
        return cost_of(count.time(point))

    # TPE repeats points in the end, so there are twice as many trials as points that may be tried.
    study.optimize(objective, n_trials=2 * count.most)


class Mended:
    """kernel_tuner's greedy hill climber without its bug: in 1.5.0 a climb ends at its first improvement."""

    @staticmethod
    def tune(searchspace: Any, runner: Any, tuning_options: Any) -> Any:
        from kernel_tuner.strategies.common import CostFunc

        cost = CostFunc(searchspace, tuning_options, runner)
        while True:
            point = tuple(searchspace.get_random_sample(1)[0])
            best, is_better = cost(point), True
            while is_better:
                is_better = False
                around = searchspace.get_neighbors(point, neighbor_method="Hamming")
                for other in random.sample(around, len(around)):
                    if (time := cost(other)) < best:
                        point, best, is_better = tuple(other), time, True
                        break


def cache_file(space: Space) -> str:
    """Writes the space as a cache file of kernel_tuner, in ask.sh's temporary folder."""
    path = Path(tempfile.gettempdir()) / f"ask-{os.getpid()}-{space.name}.json"
    if path.exists():
        return str(path)
    cache = {}
    for point, time in space.times.items():
        of_point = dict(zip(space.values, point, strict=True))
        times = {"times": [time], "compile_time": 0, "verification_time": 0, "benchmark_time": 0}
        failed = {} if time is not None else {"__error__": "RuntimeFailedConfig"}
        of_point |= times | {"strategy_time": 0, "framework_time": 0, "timestamp": ""} | failed
        cache[",".join(map(str, point))] = of_point | {"time": "RuntimeFailedConfig" if failed else time}
    of_space = {"tune_params_keys": list(space.values), "tune_params": space.values, "cache": cache}
    path.write_text(
        json.dumps({"device_name": "", "kernel_name": "k", "problem_size": 1, "objective": "time"} | of_space)
    )
    return str(path)


@contextlib.contextmanager
def counted(count: Count) -> Iterator[None]:
    """Makes kernel_tuner's simulation count its points, and list a space and read its cache once for all seeds."""
    import kernel_tuner.interface
    import kernel_tuner.util
    from kernel_tuner.runners.simulation import SimulationRunner

    original = SimulationRunner.run

    def run(self: Any, points: Any, options: Any) -> Any:
        for point in points:
            count.time(tuple(point))
        return original(self, points, options)

    def kept(make: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            key = (count.space.name, make.__name__, str(options))
            if key not in KEPT:
                KEPT[key] = make(*arguments, **options)
            return KEPT[key]

        return call

    with (
        mock.patch.object(SimulationRunner, "run", run),
        mock.patch.object(kernel_tuner.interface, "Searchspace", kept(kernel_tuner.interface.Searchspace)),
        mock.patch.object(kernel_tuner.util, "process_cache", kept(kernel_tuner.util.process_cache)),
    ):
        yield


def search_kernel_tuner(strategy: Any, count: Count, seed: int) -> None:
    """Runs one of kernel_tuner's strategies with its defaults. The strategy knows which points are in the space."""
    import kernel_tuner
    import numpy as np

    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - kernel_tuner draws from this generator
    names = ",".join(count.space.values)
    is_known = eval(f"lambda {names}: ({names}) in known", {"known": count.space.times})
    with warnings.catch_warnings(), counted(count), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        kernel_tuner.tune_kernel(
            *("k", "__global__ void k() {}", 1, [], count.space.values),
            **{"restrictions": is_known, "strategy": strategy, "cache": cache_file(count.space)},
            **{"strategy_options": {"max_fevals": len(count.space.times)}, "simulation_mode": True},
            **{"quiet": True, "lang": "CUDA"},
        )


def tried(name: str, space: Space, seed: int, most: int) -> list[int]:
    """Returns the number of points that one search tries for each target."""
    searches = {
        **{"evolve": search_evolve, "random": search_random, "valid": search_valid},
        **{"cma": search_cma, "tpe": search_tpe, "mended": functools.partial(search_kernel_tuner, Mended)},
    }
    count = Count(space, most)
    with contextlib.suppress(Done):
        (searches.get(name) or functools.partial(search_kernel_tuner, name))(count, seed)
    return count.reached


@dataclass(frozen=True)
class Quantile:
    """A quantile of some counts, and its 95 % interval by order statistics (with ranks assumed to be normal)."""

    value: int
    low: int
    high: int

    @staticmethod
    def of(counts: list[int], share: float) -> Quantile:
        ordered, size = sorted(counts), len(counts)
        spread = 1.96 * (size * share * (1 - share)) ** 0.5

        def at(rank: float) -> int:
            return ordered[min(max(math.ceil(rank) - 1, 0), size - 1)]

        return Quantile(at(size * share), at(size * share - spread), at(size * share + spread))

    def __str__(self) -> str:
        return f"{text_of(self.value):>6} [{text_of(self.low)}, {text_of(self.high)}]"


def text_of(count: int) -> str:
    """Formats a count for people."""
    return "-" if count == NEVER else str(count)


def main() -> int:
    """Prints a table for each space, and the verdict."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--rivals", default=",".join(RIVALS))
    parser.add_argument("--jobs", type=int, help="searches at a time; else as many as there are cores")
    parser.add_argument("--most", type=int, default=3000, help="points that a search may try")
    arguments = parser.parse_args()
    paths = sorted([*arguments.folder.glob("*.json"), *arguments.folder.glob("*.json.gz")])
    if not paths:
        parser.error(f"{arguments.folder}: no *.json and no *.json.gz")
    columns = [(target, share) for target in TARGETS for share in (0.5, 0.9)]
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for path in paths:
            space = read_space(path)
            valid = sum(time is not None for time in space.times.values())
            print(f"\n{space.name}: {space.size} points, {len(space.times)} in the space, {valid} with a time")
            print(f"{'':24}" + "".join(f"{f'{target} {int(share * 100)} %':>36}" for target, share in columns))
            rows: dict[str, list[Quantile]] = {}
            for name in ["evolve", *arguments.rivals.split(",")]:
                jobs = [pool.submit(tried, name, space, seed, arguments.most) for seed in range(arguments.seeds)]
                reached = [job.result() for job in jobs]
                row = [
                    Quantile.of([one[i] for one in reached], share) for i in range(len(TARGETS)) for share in (0.5, 0.9)
                ]
                rows[name] = row
                print(f"{name:24}" + "".join(f"{quantile!s:>36}" for quantile in row), flush=True)
            print_verdict(rows)
    return 0


def print_verdict(rows: dict[str, list[Quantile]]) -> None:
    """Prints evolve's result in each column: the ratio to random search, and a comparison with the best other one."""
    ours = rows.pop("evolve")
    ratios, ranks = "", ""
    for i, quantile in enumerate(ours):
        name, best = min(((name, row[i]) for name, row in rows.items()), key=lambda pair: pair[1].value)
        is_tie = quantile.low <= best.high and best.low <= quantile.high
        word = "tie" if is_tie else "better" if quantile.value < best.value else "WORSE"
        ranks += f"{f'{word}: {text_of(best.value)} {name}':>36}"
        random_search = rows["random"][i].value if "random" in rows else NEVER
        ratio = "-" if NEVER in (random_search, quantile.value) else f"{quantile.value / random_search:.2f}"
        ratios += f"{ratio:>36}"
    print(f"{'to random':24}{ratios}\n{'to the best':24}{ranks}")


if __name__ == "__main__":
    sys.exit(main())
