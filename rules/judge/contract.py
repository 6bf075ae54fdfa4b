"""The check that a program is of the requested kind. It reads only the program's text, and runs nothing.

The work has to be done, and it has to be done inside kernels. No results are baked in, and nothing calls out. Every
output depends on the inputs. Dots and sums are as precise as the spec asks. The program of a case that is only timed
has the same parts as the programs of the checked cases. The report also describes the program, for people and mutators.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

from jax._src import core

from interpreter import footprint, writes
from judge import mosaic, outside, skeleton, sums, surroundings
from judge.mosaic import Count, Work
from judge.surroundings import Surroundings
from process import sandbox
from process.child import Limits
from programs import program, wire
from reports import verdict
from reports.verdict import Report

# The custom calls that are allowed besides kernels. JAX itself writes them for functions that StableHLO lacks.
_ALLOWED_TARGETS = frozenset(
    {program.CUSTOM_CALL, "Sharding", "mhlo.erf", "mhlo.topk", "mhlo.acos", "mhlo.asin", "mhlo.sinh", "mhlo.cosh"}
)
_REFUSED_OPERATIONS = frozenset(
    """
    all_gather all_reduce all_to_all collective_broadcast collective_permute infeed outfeed partition_id recv
    reduce_scatter replica_id rng send
    """.split()
)


# MLIR's names of dtypes.
_ELEMENT_TYPES = {
    "float8_e5m2": "f8E5M2",
    "float8_e4m3fn": "f8E4M3FN",
    "bfloat16": "bf16",
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
}


# The advice for a case that is only timed, and takes a path through the code that no checked case takes.
_SHOWN_BY = "tag it 'check', or add a checked case whose sizes take the same path through the code"

# Narrower whole numbers than this stand for numbers that were rounded.
_LEAST_WHOLE_BITS = 32
# If only a sample of a large grid's steps is counted, at least this share of the copies, and of the signals, must be
# waited for. Otherwise all must be waited for.
_AWAITED = 0.98


@dataclass(frozen=True)
class Checked:
    """A case that is checked: the jaxpr of the same candidate for it, and its signature."""

    jaxpr: bytes
    signature: dict[str, Any]


@dataclass(frozen=True)
class Traced:
    """The candidate's jaxpr; where the case is only timed, also those of the checked cases."""

    jaxpr: bytes
    checked: tuple[Checked, ...] = ()


class Breach(Exception):
    """The program breaks the contract: `kind` of verdict.KINDS, and how."""

    def __init__(self, reason: str, kind: str = "contract") -> None:
        super().__init__(reason)
        self.kind = kind


def _whole_bits(name: str) -> int:
    """Returns the width in bits of a type of whole numbers, by its name in MLIR or JAX; 0: another type."""
    found = re.fullmatch(r"[su]?i(?:nt)?(\d+)", name)
    return int(found[1]) if found else 0


def _number(value: float) -> float | None:
    """Returns a number for a report; None: the number is not finite, and a report cannot hold it."""
    return value if math.isfinite(value) else None


def _range(count: Count) -> dict[str, float | None]:
    return {"least": _number(count.least), "most": _number(count.most)}


def _check_calls(survey: Surroundings) -> None:
    unknown = sorted(set(survey.targets) - _ALLOWED_TARGETS)
    if unknown:
        raise Breach(f"the program calls '{unknown[0]}': the only custom calls that are allowed are Pallas kernels")
    refused = sorted(set(survey.work.calls) & _REFUSED_OPERATIONS)
    if refused:
        raise Breach(f"'{refused[0]}' is not allowed: it exchanges data with other devices or with the host")


def _check_constants(total: int, most: int) -> None:
    if total > most:
        raise Breach(f"the program holds {total} bytes of constants, {most} are allowed (contract.max_constant_bytes)")


def _check_kernels(survey: Surroundings) -> None:
    if not any(survey.kernel_outputs):
        why = "no output comes from a kernel" if survey.kernels else "the program has no pallas_call"
        raise Breach(f"no Pallas kernel does the work: {why}")


def _check_dependence(survey: Surroundings, signature: dict[str, Any]) -> None:
    for entry, depends in zip(signature["outputs"], survey.depends, strict=True):
        if not depends:
            raise Breach(f"'{entry['name']}' does not depend on any input")


def _check_inside(inside: float, terms: dict[str, Any]) -> None:
    if inside < terms["min_flops"] * terms["flops"]:
        raise Breach(
            f"kernels do {inside:.4g} floating-point operations, {100 * inside / terms['flops']:.0f} % of what the "
            f"spec's cost.flops gives; at least {100 * terms['min_flops']:.0f} % are required (contract.min_flops)"
        )


def _check_outside(outside: Count, terms: dict[str, Any]) -> None:
    # In a small case, the work outside of kernels may be a large share. So only timed cases are checked.
    if not terms["is_timed"]:
        return
    if outside.most > terms["max_outside_flops"] * terms["flops"]:
        much = "any number of" if math.isinf(outside.most) else f"{outside.most:.4g}"
        raise Breach(
            f"{much} floating-point operations are done outside of kernels; at most "
            f"{100 * terms['max_outside_flops']:.0f} % of what the spec's cost.flops gives are allowed "
            "(contract.max_outside_flops)"
        )


def _check_precision(work: Work, terms: dict[str, Any], signature: dict[str, Any]) -> None:
    bits = mosaic.FLOAT_BITS
    operand, accumulator = (_ELEMENT_TYPES.get(terms[name], "") for name in ("operand", "accumulator"))
    # Narrow whole numbers are allowed where the inputs have them.
    given = [_whole_bits(program.dtype_of(entry["dtype"]).name) for entry in signature["inputs"]]
    narrowest = min((wide for wide in given if wide), default=_LEAST_WHOLE_BITS)
    for dot in sorted(work.dots, key=str):
        floats = [name for name in dot.operands if name in bits]
        for name in dot.operands:
            is_narrow = bits[name] < bits.get(operand, 0) if name in bits else 0 < _whole_bits(name) < narrowest
            if is_narrow and operand:
                raise Breach(
                    f"a dot has {name} operands, the spec asks for {operand} at least (contract.operand)", "precision"
                )
        if floats and bits.get(dot.result, 0) < bits.get(accumulator, 0):
            reason = f"a dot is summed in {dot.result}, the spec asks for {accumulator} at least (contract.accumulator)"
            raise Breach(reason, "precision")
        if terms["precision"] == "highest" and "f32" in floats and "fp32" not in dot.precision:
            raise Breach(
                "a dot of f32 has the default precision, the spec asks for the highest (contract.precision)",
                "precision",
            )
    for name in sorted(work.sums):
        if name in bits and bits[name] < bits.get(accumulator, 0):
            raise Breach(
                f"a sum is made in {name}, the spec asks for {accumulator} at least (contract.accumulator)", "precision"
            )


def _check_words(traced: core.Jaxpr, terms: dict[str, Any], signature: dict[str, Any]) -> None:
    bits = mosaic.FLOAT_BITS
    floats = [terms["operand"], *(entry["dtype"] for entry in signature["outputs"])]
    allowed = [bits[_ELEMENT_TYPES[name]] for name in floats if name in _ELEMENT_TYPES]
    try:
        outside.check(traced, terms["outside"], min(allowed, default=0))
    except outside.Refused as refused:
        raise Breach(str(refused), refused.kind) from refused


def _check_rounding(traced: core.Jaxpr, terms: dict[str, Any]) -> None:
    # A spec that does not name the operands' type may itself ask for rounding to whole numbers.
    if not terms.get("is_operand_said"):
        return
    least = mosaic.FLOAT_BITS.get(_ELEMENT_TYPES.get(terms["operand"], ""), 0)
    for name in sorted(sums.rounded_in(traced)):
        # One bit is the sign. An unsigned type, which has no sign, is treated in the same way.
        if _whole_bits(name) - 1 < least:
            asked = f"the spec asks for {terms['operand']} at least (contract.operand)"
            raise Breach(f"floats are rounded to {name} and multiplied in a product; {asked}", "precision")


def _check_additions(traced: core.Jaxpr, terms: dict[str, Any]) -> None:
    bits = mosaic.FLOAT_BITS
    accumulator = _ELEMENT_TYPES.get(terms["accumulator"], "")
    for name, what in sorted(sums.added_in(traced).items()):
        if bits.get(_ELEMENT_TYPES.get(name, ""), 0) < bits.get(accumulator, 0):
            asked = f"the spec asks for {terms['accumulator']} at least (contract.accumulator)"
            raise Breach(f"sums are added up in {name}: {what}; {asked}", "precision")


def _check_copies(work: Work) -> None:
    share = _AWAITED if work.is_sampled else 1
    for done, waited, what in (
        (
            work.copied.least,
            work.awaited.most,
            "elements are copied, but a kernel waits for only {} of them: wait for every copy",
        ),
        (
            work.signalled.least,
            work.taken.most,
            "is signalled to semaphores, but a kernel waits for only {}: every signal needs a wait",
        ),
    ):
        if waited < share * done:
            raise Breach(f"{done:.12g} {what.format(f'{waited:.12g}')}", "race")


def _check_order(traced: core.Jaxpr) -> None:
    try:
        footprint.check_order(traced)
    except footprint.Overlap as overlap:
        raise Breach(str(overlap), "race") from overlap


def _check_inputs(traced: core.Jaxpr) -> None:
    try:
        writes.check_inputs(traced)
    except writes.Written as written:
        raise Breach(str(written)) from written


def _is_same_call(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return len(one["inputs"]) == len(other["inputs"]) and one.get("gradients") == other.get("gradients")


def _check_coverage(traced: Traced, signature: dict[str, Any]) -> None:
    # Checked cases without a jaxpr are left out: they were rejected, so the candidate is out anyway. A call with
    # gradients is not compared with a call without them.
    checked = [one for one in traced.checked if one.jaxpr and _is_same_call(one.signature, signature)]
    if not checked:
        return
    skeletons = [skeleton.Skeleton(one.jaxpr) for one in checked]
    timed = skeleton.Skeleton(traced.jaxpr)
    unseen = skeleton.uncovered(timed, skeletons, signature, [one.signature for one in checked])
    if unseen:
        raise Breach(f"this case is only timed, but {unseen}; {_SHOWN_BY}")


def check(
    traced: Traced, signature: dict[str, Any], terms: dict[str, Any], surveys: Sequence[Surroundings] = ()
) -> None:
    """Raises Breach where a candidate breaks the contract.

    `surveys`: the surveys of its exported programs, the device's first. Without them, checks that need them are left
    out.
    """
    jaxpr = wire.unpack(traced.jaxpr).jaxpr
    device = surveys[:1]
    kernels = [kernel.work for survey in device for kernel in survey.kernels]
    for survey in device:
        _check_kernels(survey)
    for survey in surveys:
        _check_calls(survey)
    for work in (*(survey.work for survey in surveys), *kernels):
        _check_constants(work.constant_bytes, terms["max_constant_bytes"])
    _check_words(jaxpr, terms, signature)
    for survey in device:
        _check_dependence(survey, signature)
        _check_inside(survey.surely_inside, terms)
        _check_outside(survey.work.flops, terms)
    for work in (*kernels, *(survey.work for survey in device)):
        _check_precision(work, terms, signature)
    _check_rounding(jaxpr, terms)
    _check_additions(jaxpr, terms)
    _check_order(jaxpr)
    _check_inputs(jaxpr)
    for work in kernels:
        _check_copies(work)
    _check_coverage(traced, signature)


def _summary(survey: Surroundings, kernels: list[Work]) -> dict[str, Any]:
    """Returns a report's description of a program, whether or not the program breaks the contract."""
    outside = survey.work
    dots = [{"operands": list(d.operands), "result": d.result} for w in [*kernels, outside] for d in w.dots]
    return {
        "flops": {"inside": _range(survey.inside), "outside": _range(outside.flops)},
        "kernels": [
            {"grid": kernel.grid, "flops": _range(work.flops)}
            for kernel, work in zip(survey.kernels, kernels, strict=True)
        ],
        "outside": dict(sorted(outside.calls.items())),
        "dots": sorted(dots, key=str),
        "constant_bytes": outside.constant_bytes + sum(work.constant_bytes for work in kernels),
    }


def examine(
    device: bytes,
    judge: bytes,
    traced: Traced,
    signature: dict[str, Any],
    terms: dict[str, Any],
    limits: Limits,
) -> Report:
    """Returns the report on a candidate's two programs. Empty programs were rejected before."""
    if not device or not judge:
        return verdict.not_reached()

    def read() -> bytes:
        try:
            return verdict.encode(_read(device, judge, traced, signature, terms))
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever an odd program provokes
            reason = f"the program cannot be read: {type(error).__name__}: {error}"
            return verdict.encode(verdict.rejected("contract", reason))

    ending = sandbox.run(read, limits)
    if ending.how != "answered":
        return verdict.of_ending(ending, limits)
    report: Report = json.loads(ending.answer)
    return report


def _read(device: bytes, judge: bytes, traced: Traced, signature: dict[str, Any], terms: dict[str, Any]) -> Report:
    other = None
    if not program.is_traced(judge):
        with program.opened(judge) as module:
            other = surroundings.survey(module)
    with program.opened(device) as module:
        survey = surroundings.survey(module)
        surveys = [survey, other] if other else [survey]
        kernels = [kernel.work for kernel in survey.kernels]
        summary = _summary(survey, kernels)
        try:
            check(traced, signature, terms, surveys)
        except Breach as breach:
            return verdict.rejected(breach.kind, str(breach), **summary)
    return verdict.ok(**summary)
