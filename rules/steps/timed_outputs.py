"""Whether calls that are timed give what they should.

Their inputs are drawn from the secret, so no program knows them. On the first set of inputs the oracle has values; on
the others, which are drawn for one process and never again, outputs are held against the anchor's, at places that are
drawn for it. The anchor is the seed, which was checked as every variant is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import check
import judge_inputs
import values
from judge_inputs import HIDDEN, TIMED, Array
from regions import of_axis, take, whole

# The set that the oracle has values for; of cases that are too large to be checked it is TIMED[0], of the same name.
KNOWN = HIDDEN
# What two programs that are both right may differ by, in tolerances.
_APART = 2.0


@dataclass(frozen=True)
class Case:
    """What is known of a case whose calls are timed."""

    expected: check.Expected
    signature: dict[str, Any]
    tolerance: dict[str, float]
    secret: str

    def inputs(self, number: int) -> list[Array]:
        """The inputs of a number, the first of which the oracle knows."""
        is_at_places = f"{KNOWN.name}.0.0.oracle" in self.expected
        return judge_inputs.draw(self.signature, TIMED[0] if is_at_places else KNOWN, self.secret, number)

    def check_known(self, arrays: Sequence[Array]) -> None:
        """Raises check.Refusal where the outputs for the first inputs are not the oracle's."""
        for number, (array, declared) in enumerate(zip(arrays, self.signature["outputs"], strict=True)):
            name, shape = f"{KNOWN.name}.{number}", declared["shape"]
            if f"{name}.oracle" in self.expected:
                got = judge_inputs.picked(array, self.expected.get(f"{name}.places"))
                check.check_output(check.output_of(got, self.expected, KNOWN, number, declared), self.tolerance)
            elif f"{name}.0.oracle" in self.expected:
                axes = enumerate(shape)
                block = tuple(of_axis(self.expected[f"{name}.0.axis{axis}"], size) for axis, size in axes)
                got = take(array, whole(shape), block, shape)
                output = values.output_at(got, self.expected, self.signature, number, (0, TIMED[0]), block)
                check.check_output(output, self.tolerance)

    def places(self, *named: Any) -> list[Array | None]:
        """Of each output some places, counted through, drawn by what is `named`; None: all of them."""
        outputs = enumerate(self.signature["outputs"])
        return [
            judge_inputs.some_places(one["shape"], "timed outputs", self.secret, number, *named)
            for number, one in outputs
        ]

    def check_beside(self, picked: Sequence[Array], anchors: Sequence[Array], places: Sequence[Array | None]) -> None:
        """Raises check.Refusal where outputs, at places, are further from the anchor's than two that are right.

        Where the anchor's are not finite, nothing is said.
        """
        apart = {name: _APART * value for name, value in self.tolerance.items()}
        for number, (declared, at) in enumerate(zip(self.signature["outputs"], places, strict=True)):
            name = f"{KNOWN.name}.{number}"
            none = np.zeros(judge_inputs.ORDERS)
            worst = self.expected.get(f"{name}.worst", self.expected.get(f"{name}.0.worst", none))
            got, other = (one[number].astype(np.float64).reshape(-1) for one in (picked, anchors))
            known = np.isfinite(other)
            where = np.flatnonzero(known) if at is None else at[known]
            output = check.Output(declared, KNOWN, got[known], other[known], where, 0.0, worst)
            check.check_elements(output, apart)
