"""Step audit: the check that trivial outputs do not pass a task, for one case. Trusted code.

Values that nobody has to compute must not pass the check: zeros, ones, the outputs' mean, an input, or the right
outputs for other inputs. A spec that would let them pass is refused, because a search finds them before it finds a
faster kernel. A reference must pass its own tolerance, too. Its errors widen the bounds: an exact kernel would be
refused, and a kernel that leaves out as much would pass.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from judge import comparison, judge_inputs
from judge.judge_inputs import PUBLIC, Array, InputSet
from programs import program
from reports import verdict
from reports.depfile import write_depfile

# The sets of ordinary numbers, on which a reference has to be within its own tolerance.
_PLAIN = frozenset(one.name for one in (PUBLIC, judge_inputs.TIMED[0]))

# A function that returns the values that are tried in place of an output, for an input set.
Guess = Callable[[InputSet], Array]


class Task:
    """A case with all that the check step knows about it."""

    def __init__(
        self, expected: comparison.Expected, signature: dict[str, Any], tolerance: dict[str, float], secret: str
    ) -> None:
        self._expected = expected
        self._signature = signature
        self._tolerance = tolerance
        self._secret = secret

    def findings(self) -> list[str]:
        """Returns the values that would pass in place of an output: "'out' may be zeros"."""
        return [
            f"'{declared['name']}' may be {name}"
            for number, declared in enumerate(self._signature["outputs"])
            for name, guess in self._guesses(number)
            if self._passes(number, guess)
        ]

    def rough(self) -> list[str]:
        """Returns, in sentences, where the reference itself is off by more than the tolerance allows any element."""
        said = []
        for number, declared in enumerate(self._signature["outputs"]):
            for drawn in filter(lambda one: one.name in _PLAIN, comparison.known_sets(self._expected)):
                output = comparison.output_of(self._oracle(number, drawn), self._expected, drawn, number, declared)
                allowed = float(comparison.tolerated(output, self._tolerance).max(initial=0.0))
                worst = float(output.own_worst.max())
                if worst > max(allowed, comparison.FLOOR):
                    said.append(
                        f"the reference itself is off by {worst:.3g} in '{declared['name']}' on "
                        f"'{drawn.name}' inputs, but its tolerance allows only {allowed:.3g}"
                    )
                    break
        return said

    def _oracle(self, number: int, drawn: InputSet) -> Array:
        return self._expected[f"{drawn.name}.{number}.oracle"]

    def _guesses(self, number: int) -> Iterator[tuple[str, Guess]]:
        yield "zeros", lambda drawn: np.zeros_like(self._oracle(number, drawn))
        yield "ones", lambda drawn: np.ones_like(self._oracle(number, drawn))
        # The mean of a single number is that number, and would be right.
        if self._oracle(number, PUBLIC).size > 1:
            yield (
                "its mean",
                lambda drawn: np.full_like(self._oracle(number, drawn), self._oracle(number, drawn).mean()),
            )
        # The right values for other inputs are tried, at the places where each set is compared.
        right = self._oracle(number, PUBLIC)
        yield (
            "the right output for other inputs",
            lambda drawn: judge_inputs.picked(right, self._expected.get(f"{drawn.name}.{number}.places")),
        )
        declared = self._signature["outputs"][number]
        for position, entry in enumerate(self._signature["inputs"]):
            if np.prod(entry["shape"], dtype=np.int64) == np.prod(declared["shape"], dtype=np.int64):
                yield f"the input '{entry['name']}'", partial(self._picked, number, position)

    def _picked(self, number: int, position: int, drawn: InputSet) -> Array:
        """Returns an input at the places where the output is compared."""
        array = judge_inputs.draw(self._signature, drawn, self._secret)[position]
        array = array.reshape(self._signature["outputs"][number]["shape"])
        return judge_inputs.picked(array, self._expected.get(f"{drawn.name}.{number}.places"))

    def _passes(self, number: int, guess: Guess) -> bool:
        declared = self._signature["outputs"][number]
        dtype = program.dtype_of(declared["dtype"])
        for drawn in comparison.known_sets(self._expected):
            given = guess(drawn).astype(dtype)
            output = comparison.output_of(given, self._expected, drawn, number, declared)
            try:
                comparison.check_output(output, self._tolerance)
            except comparison.Refusal:
                return False
        return True


def main(argv: list[str]) -> int:
    """Runs the step; the exit code is non-zero for a task that asks for too little, and for a fault."""
    parser = argparse.ArgumentParser(prog="audit")
    for name in ("case", "expected", "signature", "tolerance", "secret", "out"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--depfile")
    args = parser.parse_args(argv)
    task = Task(*comparison.read_case(args))
    rough = task.rough()
    if rough:
        print(
            f"audit: the reference is rougher than its own tolerance: case '{args.case}': {rough[0]}", file=sys.stderr
        )
        print("hint: sum in float32 in the reference, or widen the tolerance", file=sys.stderr)
        return 2
    findings = task.findings()
    if findings:
        print(f"audit: the task asks for too little: case '{args.case}': {'; '.join(findings)}", file=sys.stderr)
        print(
            "hint: narrow the tolerance, change the input ranges, or choose an output that depends on its inputs",
            file=sys.stderr,
        )
        return 2
    verdict.write_report(args.out, verdict.ok())
    write_depfile(args.depfile, args.out)
    return 0
