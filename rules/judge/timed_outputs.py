"""The outputs of timed calls, and whether they are right.

The inputs of these calls are drawn from the secret, so no program knows them. The oracle has values for the first set
of inputs. The other sets are drawn for one process and never again. Their outputs are compared with the anchor's
outputs, at places that are drawn for the process. The anchor is the seed, which was checked as every variant is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from interpreter.regions import of_axis, take, whole
from judge import comparison, judge_inputs, values
from judge.judge_inputs import HIDDEN, TIMED, Array

# The set for which the oracle has values. In cases too large to be checked, that is TIMED[0], which has the same name.
KNOWN = HIDDEN
# How far two right programs may differ, as a multiple of the tolerance.
_APART = 2.0


@dataclass(frozen=True)
class Case:
    """A case whose calls are timed: its expected values, its signature and its tolerance."""

    expected: comparison.Expected
    signature: dict[str, Any]
    tolerance: dict[str, float]
    secret: str

    def inputs(self, number: int) -> list[Array]:
        """Returns the set of inputs with this number. The oracle has values for number 0 only."""
        is_at_places = f"{KNOWN.name}.0.0.oracle" in self.expected
        return judge_inputs.draw(self.signature, TIMED[0] if is_at_places else KNOWN, self.secret, number)

    def check_known(self, arrays: Sequence[Array]) -> None:
        """Raises comparison.Refusal where the outputs for the first inputs are not the oracle's."""
        for number, (array, declared) in enumerate(zip(arrays, self.signature["outputs"], strict=True)):
            name, shape = f"{KNOWN.name}.{number}", declared["shape"]
            if f"{name}.oracle" in self.expected:
                got = judge_inputs.picked(array, self.expected.get(f"{name}.places"))
                comparison.check_output(
                    comparison.output_of(got, self.expected, KNOWN, number, declared), self.tolerance
                )
            elif f"{name}.0.oracle" in self.expected:
                axes = enumerate(shape)
                block = tuple(of_axis(self.expected[f"{name}.0.axis{axis}"], size) for axis, size in axes)
                got = take(array, whole(shape), block, shape)
                output = values.output_at(got, self.expected, self.signature, number, (0, TIMED[0]), block)
                comparison.check_output(output, self.tolerance)

    def places(self, *named: Any) -> list[Array | None]:
        """Draws places of each output, as flat indices, from the random stream `named`; None: all places."""
        outputs = enumerate(self.signature["outputs"])
        return [
            judge_inputs.some_places(one["shape"], "timed outputs", self.secret, number, *named)
            for number, one in outputs
        ]

    def check_beside(self, picked: Sequence[Array], anchors: Sequence[Array], places: Sequence[Array | None]) -> None:
        """Raises comparison.Refusal where outputs, at places, are further from the anchor's than right ones can be.

        Places where the anchor's outputs are not finite are left out.
        """
        apart = {name: _APART * value for name, value in self.tolerance.items()}
        for number, (declared, at) in enumerate(zip(self.signature["outputs"], places, strict=True)):
            name = f"{KNOWN.name}.{number}"
            none = np.zeros(judge_inputs.ORDERS)
            worst = self.expected.get(f"{name}.worst", self.expected.get(f"{name}.0.worst", none))
            got, other = (one[number].astype(np.float64).reshape(-1) for one in (picked, anchors))
            known = np.isfinite(other)
            where = np.flatnonzero(known) if at is None else at[known]
            output = comparison.Output(declared, KNOWN, got[known], other[known], where, 0.0, worst)
            comparison.check_elements(output, apart)
