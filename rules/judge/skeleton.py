"""Skeletons of programs: their operations without sizes, to compare timed programs with checked ones.

A skeleton is the set of the operations of a traced candidate (its jaxpr as `wire` packs it). Each has its place (in
which kernel, loop or branch), dtypes, ranks, and the arguments that its operands are made from, but no sizes and whole
numbers, which change with the case. Index maps are taken whole. The program of a case that is only timed is compared
with those of the checked cases. Each of its operations must be in a checked case. It must have the arithmetic that all
checked cases have. If all checked cases touch all blocks of an operand, it must do so, too.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Iterable, Iterator
from typing import Any

from interpreter.footprint import footprints
from programs import jaxprs, wire

# Parameters whose whole numbers stand for axes or operands. Whole numbers in other parameters are sizes.
_AXES = frozenset(
    """
    axes axis broadcast_dimensions collapsed dimension dimension_numbers dimensions num_carry num_consts permutation
    reverse window_strides
    """.split()
)
# Parameters with advice to the compiler. They may change how a result is computed, but not the result.
_ADVICE = frozenset({"compiler_params", "cost_estimate", "pipeline_mode"})
# The operations of a formula. Masks, paddings and conversions do not count, because they come and go with the sizes.
_ARITHMETIC = (
    "argmax",
    "argmin",
    "cum",
    "div",
    "dot_general",
    "erf",
    "exp",
    "log",
    "pow",
    "reduce_",
    "rsqrt",
    "sqrt",
    "tanh",
)

Literals = frozenset[str]


class Skeleton:
    """The skeleton of a program. `operations`: each with its floating-point literals."""

    def __init__(self, packed: bytes) -> None:
        self._document = json.loads(packed)
        self.operations: dict[str, Literals] = {}
        self.footprints = footprints(wire.unpack(packed).jaxpr)
        for operation, numbers in self._walk(len(self._document["jaxprs"]) - 1, ""):
            self.operations[operation] = self.operations.get(operation, frozenset()) | numbers

    @property
    def arithmetic(self) -> set[str]:
        """The names of the operations that a formula is made of."""
        names = {operation.split(" ", 2)[1] for operation in self.operations}
        return {name for name in names if name.startswith(_ARITHMETIC)}

    def _walk(self, number: int, where: str) -> Iterator[tuple[str, Literals]]:
        jaxpr = self._document["jaxprs"][number]
        made_of = {v: frozenset([position]) for position, v in enumerate(jaxpr["invars"])}
        for equation in jaxpr["eqns"]:
            name = equation["primitive"]
            sources = [made_of.get(atom, frozenset()) for atom in equation["invars"] if isinstance(atom, int)]
            made_of |= dict.fromkeys(equation["outvars"], frozenset().union(*sources))
            operands = [self._operand(atom, made_of) for atom in equation["invars"]]
            results = [self._aval(self._document["vars"][v]) for v in equation["outvars"]]
            params = {
                key: self._value(value, key in _AXES) for key, value in equation["params"].items() if key not in _ADVICE
            }
            numbers = frozenset(one for one in map(self._literal, equation["invars"]) if one)
            yield f"{where} {name} {json.dumps([operands, results, params])}", numbers
            for key, value in equation["params"].items():
                for position, inner in enumerate(self._inner(value)):
                    yield from self._walk(inner, f"{where}/{name}.{key}.{position}")

    def _inner(self, value: Any) -> Iterator[int]:
        """Yields the jaxprs in a parameter, except for index maps, which belong to their operation."""
        if not isinstance(value, list) or value[:2] == ["record", "BlockMapping"]:
            return
        if value[:1] in (["closed"], ["jaxpr"]):
            yield value[1]
            return
        for item in value:
            yield from self._inner(item)

    def _operand(self, atom: Any, made_of: dict[int, frozenset[int]]) -> Any:
        if isinstance(atom, int):
            return [self._aval(self._document["vars"][atom]), sorted(made_of.get(atom, ()))]
        return ["literal", self._aval(atom[2])]

    def _literal(self, atom: Any) -> str:
        """Returns the floating-point number that an operand is; empty: it is not such a number."""
        if isinstance(atom, int) or not isinstance(atom[1], list):
            return ""
        tag, *rest = atom[1]
        if tag in ("float", "plain"):
            return str(rest[0])
        return str(rest[2]) if tag in ("array", "number") and "float" in rest[0] else ""

    def _aval(self, packed: Any) -> Any:
        if packed[0] == "aval":
            return [len(packed[1]) - 1, packed[2][1]]
        if packed[0] == "ref":
            return ["ref", self._aval(packed[1]), packed[2]]
        return packed[0]

    def _value(self, value: Any, is_axis: bool, is_in_map: bool = False) -> Any:
        if isinstance(value, bool) or value is None or isinstance(value, str):
            return value
        if isinstance(value, int):
            return value if is_axis else "#"
        if not value or not isinstance(value[0], str):
            return [self._value(item, is_axis, is_in_map) for item in value if not _is_advice(item)]
        tag, *rest = value
        if tag in ("closed", "jaxpr"):
            return self._whole(rest[0]) if is_in_map else "jaxpr"
        if tag in ("aval", "ref"):
            return self._aval(value)
        if tag in ("array", "number", "int"):
            return [tag, rest[0] if tag != "int" else rest[1]]
        if tag in ("float", "plain"):
            return tag
        is_in_map = is_in_map or value[:2] == ["record", "BlockMapping"]
        return [tag, *(self._value(item, is_axis, is_in_map) for item in rest)]

    def _whole(self, number: int) -> Any:
        """Returns a jaxpr as a text of its own, its variables counted from 0, so that only connections matter."""
        jaxpr = self._document["jaxprs"][number]
        names: dict[int, int] = {}

        def atom(one: Any) -> Any:
            if isinstance(one, int):
                return names.setdefault(one, len(names))
            return self._value(one[1], False)

        return [
            [atom(v) for v in jaxpr["invars"]],
            [
                [
                    equation["primitive"],
                    [atom(one) for one in equation["invars"]],
                    [atom(v) for v in equation["outvars"]],
                    {key: self._value(value, key in _AXES, True) for key, value in equation["params"].items()},
                ]
                for equation in jaxpr["eqns"]
            ],
            [atom(one) for one in jaxpr["outvars"]],
        ]


def _is_advice(field: Any) -> bool:
    return isinstance(field, list) and len(field) == 2 and field[0] in _ADVICE


def _varies(timed: dict[str, Any], checked: list[dict[str, Any]]) -> bool:
    """Whether every size that only the timed case has is one in which the checked cases differ."""
    for position, entry in enumerate(timed["inputs"]):
        for axis, size in enumerate(entry["shape"]):
            sizes = {signature["inputs"][position]["shape"][axis] for signature in checked}
            if sizes != {size} and len(sizes) == 1:
                return False
    return True


def _difference(operation: str, known: Iterable[str]) -> str:
    """Returns how an operation differs from all known ones; if any has its name, from the nearest of these."""
    where, name, text = operation.split(" ", 2)
    here = f"'{name}' {_place(where)}"
    others = [
        (place, *json.loads(other)) for place, called, other in (one.split(" ", 2) for one in known) if called == name
    ]
    if not others:
        return f"{here} is an operation that no checked case has"
    mine = (where, *json.loads(text))
    nearest = min(others, key=lambda other: sum(map(operator.ne, mine, other)))
    operands, results, params = (one != other for one, other in zip(mine[1:], nearest[1:], strict=True))
    if params:
        changed = sorted(key for key, value in mine[3].items() if nearest[3].get(key) != value)
        return f"{here} has other parameters ({', '.join(changed)}) than in every checked case"
    if operands:
        return f"{here} has operands of other number, dtypes, ranks or origins than in every checked case"
    if results:
        return f"{here} has other results than in every checked case"
    return f"{here} is in another loop or branch than in every checked case"


def _place(where: str) -> str:
    """Returns an operation's place in words: the operations around it, from the outermost kernel, loop or branch on."""
    around = [step.split(".", 1)[0] for step in where.split("/") if step]
    inside = [step for step in around if step not in jaxprs.CALLS and step != "pallas_call"]
    place = "in a kernel" if "pallas_call" in around else "outside of kernels"
    return place + "".join(f", in its '{step}'" for step in inside)


def uncovered(
    timed: Skeleton, checked: list[Skeleton], signature: dict[str, Any], signatures: list[dict[str, Any]]
) -> str | None:
    """Returns, in words, how a program that is only timed differs from all checked ones; None: it does not."""
    known: dict[str, set[Literals]] = {}
    for skeleton in checked:
        for operation, numbers in skeleton.operations.items():
            known.setdefault(operation, set()).add(numbers)
    is_strict = _varies(signature, signatures)
    for operation, numbers in timed.operations.items():
        name = operation.split(" ", 2)[1]
        if operation not in known:
            return _difference(operation, known)
        # A number that is the same in checked cases of different sizes must be the same in this case.
        if is_strict and len(known[operation]) == 1 and not numbers <= next(iter(known[operation])):
            return f"'{name}' has another constant than in every checked case"
    for operand, share in timed.footprints.items():
        if share < 1 and all(skeleton.footprints.get(operand) == 1 for skeleton in checked):
            return f"a kernel touches {100 * share:.3g} % of an operand's blocks, but all of them in every checked case"
    unknown = set.intersection(*(set(skeleton.footprints) for skeleton in checked)) - set(timed.footprints)
    if unknown:
        return "the blocks of an operand that a kernel touches are not known, but they are in every checked case"
    missing = set.intersection(*(skeleton.arithmetic for skeleton in checked)) - timed.arithmetic
    if missing:
        return f"'{min(missing)}' is missing, which every checked case has"
    return None
