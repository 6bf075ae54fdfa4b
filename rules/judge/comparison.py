"""The comparison of a program's outputs with the oracle's values, element by element and as a whole."""

from __future__ import annotations

import argparse
import io
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import numpy as np

from judge import judge_inputs
from judge.judge_inputs import PUBLIC, SETS, Array, InputSet
from programs import program
from reports import verdict

# Smaller differences count as zero, because the rounding of denormal numbers depends on the machine.
FLOOR = 1e-30
# A reference whose own error is below this share of a unit in the last place was lucky. Programs need not be as lucky.
_LUCK = 0.3

# The limit on the error as a whole (the root mean square) is multiplied by this on sets of inputs in which a few large
# values make up nearly all of the error.
_OF_FEW = 4.0

# A root mean square of more than this many times the median size comes from a few large elements.
_TYPICAL = 4.0

# An element may be off by as much as the reference is in elements up to 2**_NEAR times as large. That covers the rest
# of a sum whose terms cancel out, but a small element may not be off by as much as the largest ones.
_NEAR = 3

# The largest error that is called rounding, as a share of the outputs' root mean square.
_ROUNDING = 0.05

# Rounding has a tail: where terms cancel out, their rounding errors do not, so a few elements may be off by more than
# their bound. At most one of _ONE_OF elements may be, and none by more than _OF_ONE of the outputs' root mean square.
# Together they may be off by _OF_ALL of it, as a root mean square over all elements: as much as rounding to bfloat16
# costs. A program that leaves something out is off in more elements, or by more.
_ONE_OF = 500
_OF_ONE = 0.25
_OF_ALL = 2.0**-9

Expected = dict[str, Array]

# The hint for a timed case that is too large for a CPU.
IN_PARTS = (
    "tag the case 'parts' in the spec to compare it at drawn places only, "
    "or raise limits: { check: SECONDS, interpret: SECONDS } in the pipeline"
)


class Refusal(Exception):
    """The program is rejected: `kind` of verdict.KINDS, why, and the evidence."""

    def __init__(self, kind: str, reason: str, **evidence: Any) -> None:
        super().__init__(reason)
        self.kind = kind
        self.evidence = evidence


def known_sets(expected: Expected) -> list[InputSet]:
    """Returns the sets that the oracle has values for."""
    return [drawn for drawn in SETS if f"{drawn.name}.0.oracle" in expected]


def check_shapes(outputs: list[dict[str, Any]], signature: dict[str, Any]) -> None:
    """Raises Refusal where outputs' shapes and dtypes are not those declared."""
    declared = signature["outputs"]
    if len(outputs) != len(declared):
        raise Refusal("contract", f"the program returns {len(outputs)} outputs, the spec declares {len(declared)}")
    for got, entry in zip(outputs, declared, strict=True):
        if got["shape"] != entry["shape"]:
            raise Refusal("contract", f"'{entry['name']}' has shape {got['shape']}, not {entry['shape']}")
        if program.dtype_of(got["dtype"]) != program.dtype_of(entry["dtype"]):
            raise Refusal("contract", f"'{entry['name']}' has dtype {got['dtype']}, not {entry['dtype']}")


@dataclass(frozen=True)
class Output:
    """One output of a program on one set, at the places that are compared, with the values that it is compared with."""

    declared: dict[str, Any]
    drawn: InputSet
    values: Array
    oracle: Array
    places: Array | None
    own_error: float  # the reference's own error, as a root mean square
    own_worst: Array  # the reference's own largest error up to each order of size (judge_inputs.order_of)
    around: Array | None = None  # the values that set the unit, if `oracle` is only a part of them

    @property
    def is_floating(self) -> bool:
        """Whether its elements are floating-point numbers."""
        return bool(jax.numpy.issubdtype(program.dtype_of(self.declared["dtype"]), np.floating))

    @property
    def difference(self) -> Array:
        """The absolute error of each element."""
        return np.abs(self.values - self.oracle)

    @property
    def own_worst_near(self) -> Array:
        """For each element, the reference's own largest error among elements that are not much larger.

        An element smaller than the unit counts as one unit large: it may be the difference of elements of that size.
        Whole numbers may be off by one at any size, so for them all elements count.
        """
        sizes = np.maximum(np.abs(self.oracle), unit_of(self))
        orders = judge_inputs.order_of(sizes) + _NEAR if self.is_floating else judge_inputs.ORDERS
        return np.asarray(self.own_worst[np.minimum(orders, judge_inputs.ORDERS - 1)])

    @property
    def all_known(self) -> Array:
        """All of the oracle's values for this output on this set."""
        return self.oracle if self.around is None else self.around

    @property
    def size(self) -> float:
        """The root of the oracle's mean square."""
        return float(np.sqrt(np.mean(self.all_known**2))) if self.all_known.size else 0.0

    @property
    def error(self) -> float:
        """The root of the difference's mean square."""
        return float(np.sqrt(np.mean(self.difference**2))) if self.oracle.size else 0.0

    def where(self, place: int) -> list[int]:
        """Returns the index of the element at a place."""
        flat = place if self.places is None else int(self.places[place])
        return [int(axis) for axis in np.unravel_index(flat, self.declared["shape"])]

    def refusal(self, kind: str, reason: str, worst: int) -> Refusal:
        """Returns a Refusal with the worst element as its evidence."""
        on = "" if self.drawn is PUBLIC else f", on '{self.drawn.name}' inputs"
        got, expected = self.values.flat[worst], float(self.oracle.flat[worst])
        element = {"at": self.where(worst), "got": f"{got:.9g}", "expected": expected}
        name = self.declared["name"]
        return Refusal(kind, f"'{name}': {reason}{on}", output=name, inputs=self.drawn.name, element=element)


def output_of(got: Array, expected: Expected, drawn: InputSet, number: int, declared: dict[str, Any]) -> Output:
    """Joins an output with the values that the step expect found for it."""
    name = f"{drawn.name}.{number}"
    return Output(
        declared,
        drawn,
        got.astype(np.float64),
        expected[f"{name}.oracle"].astype(np.float64),
        expected.get(f"{name}.places"),
        float(expected[f"{name}.error"]),
        expected[f"{name}.worst"],
    )


def check_finite(output: Output) -> None:
    """Raises Refusal where an element is not finite."""
    finite = np.isfinite(output.values)
    if not finite.all():
        bad = int(finite.size - finite.sum())
        raise output.refusal("non-finite", f"{bad} of {finite.size} elements are not finite", int(np.argmin(finite)))


def unit_of(output: Output) -> float:
    """Returns the unit that `atol` is a share of: the elements' root mean square, if most elements are of that size.

    A few elements that are much larger than the others do not widen the bound of the others beyond `atol` itself.
    Neither do large whole numbers.
    """
    known = output.all_known
    sizes = np.abs(known[known != 0]) if output.is_floating else np.empty(0)
    typical = _TYPICAL * float(np.median(sizes)) if sizes.size else 0.0
    return min(output.size, max(1.0, typical))


def tolerated(output: Output, tolerance: dict[str, float]) -> Array:
    """Returns how far off the tolerance lets each element be. `rtol` does not count for whole numbers."""
    relative = tolerance["rtol"] if output.is_floating else 0.0
    return np.asarray(tolerance["atol"] * unit_of(output) + relative * np.abs(output.oracle))


def check_elements(output: Output, tolerance: dict[str, float]) -> None:
    """Raises Refusal where an element is off.

    An element is right within atol and rtol, or within max_error_ratio times the reference's own largest error near its
    size.
    """
    unit = unit_of(output)
    own = tolerance["max_error_ratio"] * output.own_worst_near
    bound = np.maximum(np.maximum(tolerated(output, tolerance), own), FLOOR)
    difference = output.difference
    off = difference[~(difference <= bound)]
    if off.size and not _is_a_tail(output, off):
        worst = int(np.argmax(np.nan_to_num(difference - bound, nan=np.inf)))
        text = ", ".join(map(str, output.where(worst)))
        told = f"{output.values.flat[worst]:.6g}, not {output.oracle.flat[worst]:.6g}"
        how = f"off by {difference.flat[worst]:.3g}, the bound is {bound.flat[worst]:.3g}, the unit {unit:.3g}"
        reason = f"{off.size} of {difference.size} elements are off; the worst at [{text}]: {told} ({how})"
        # A program that rounds too much is off by little; a program that computes something else is off by much.
        kind = "precision" if float(off.max()) <= _ROUNDING * output.size else "incorrect"
        raise output.refusal(kind, reason, worst)


def _is_a_tail(output: Output, off: Array) -> bool:
    """Whether the elements that are `off` are so few, and off by so little, that the program may be right."""
    is_few = output.is_floating and off.size <= output.oracle.size // _ONE_OF
    # Both comparisons are false for NaN.
    is_little = bool(off.max() <= _OF_ONE * output.size)
    return is_few and is_little and bool(np.sum(off**2) <= output.oracle.size * (_OF_ALL * output.size) ** 2)


def check_error(output: Output, tolerance: dict[str, float]) -> None:
    """Raises Refusal where the error as a whole is too large compared with the reference's own.

    On the sets that are compared whole, the root mean square may be max_error_ratio times the reference's. It may be
    _OF_FEW times that where few large values, such as needles, make up nearly all of both.
    """
    if not output.drawn.is_whole or not output.is_floating:
        return
    dtype = program.dtype_of(output.declared["dtype"])
    own = max(output.own_error, _LUCK * float(program.float_info(dtype).eps) * output.size)
    limit = tolerance["max_error_ratio"] * (_OF_FEW if output.drawn.has_few_large else 1)
    if output.error > limit * own:
        reason = (
            f"its error as a whole is {output.error / own:.2f} times the reference's own, the limit is {limit} times"
        )
        raise output.refusal("precision", reason, int(np.argmax(output.difference)))


def check_output(output: Output, tolerance: dict[str, float]) -> None:
    """Raises Refusal where an output is not right."""
    check_finite(output)
    check_elements(output, tolerance)
    check_error(output, tolerance)


def check_again(first: list[Array], again: list[Array], signature: dict[str, Any]) -> None:
    """Raises Refusal where a second, identical call gave other bits."""
    for a, b, declared in zip(first, again, signature["outputs"], strict=True):
        if a.tobytes() != b.tobytes():
            raise Refusal("nondeterministic", f"'{declared['name']}': two identical calls gave different bits")


def arrays_of(content: bytes, entries: list[dict[str, Any]]) -> tuple[list[Array], bytes]:
    """Cuts arrays of the entries' shapes and dtypes from the bytes; returns them, and the bytes that are left."""
    arrays = []
    for entry in entries:
        dtype = program.dtype_of(entry["dtype"])
        size = int(np.prod(entry["shape"], dtype=np.int64)) * dtype.itemsize
        arrays.append(np.frombuffer(content[:size], dtype=dtype).reshape(entry["shape"]))
        content = content[size:]
    return arrays, content


def read_expected(content: bytes) -> Expected:
    """Reads the arrays that the step expect wrote."""
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def read_case(args: argparse.Namespace) -> tuple[Expected, dict[str, Any], dict[str, float], str]:
    """Reads a case from the files that flags name: its expected values, signature and tolerance, and the secret."""
    return (
        read_expected(Path(args.expected).read_bytes()),
        verdict.read_json(args.signature),
        verdict.read_json(args.tolerance),
        Path(args.secret).read_text(encoding="ascii"),
    )
