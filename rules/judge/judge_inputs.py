"""The judge's inputs: drawn from a signature and a secret, never seen by a candidate before its program is fixed.

There are several sets, each with another distribution, because a program that is right for one may be wrong for
another. The sets also distinguish an output that is zero for most inputs from an output that is zero because nothing
was computed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from judge import whole_numbers
from programs import program

Array = np.ndarray[Any, Any]
Generator = np.random.Generator


@dataclass(frozen=True)
class InputSet:
    """A set of inputs: how its floating-point values are drawn, and its whole numbers between two ends.

    `is_whole`: all elements of the outputs are compared, else some. `of_ends`: all whole numbers are at an end of their
    range; a task without whole numbers has no such set. `has_public_whole`: the whole numbers of its first inputs are
    the public ones. `has_few_large`: few values are much larger than the others. `has_gaps`: its whole numbers leave
    out most of their range, so that groups are empty between full ones.
    """

    name: str
    values: Callable[[Generator, tuple[int, ...], float], Array]
    is_secret: bool = True
    is_whole: bool = False
    of_ends: Callable[[int, int], int] | None = None
    has_public_whole: bool = False
    has_few_large: bool = False
    has_gaps: bool = False


# The maximum number of values that are drawn; a larger array repeats them. The number is a prime, so that no two rows
# are alike.
_MOST_DRAWN = 33_554_393


def _normal(generator: Generator, shape: tuple[int, ...], _: float) -> Array:
    size = int(np.prod(shape, dtype=np.int64))
    return np.resize(generator.standard_normal(min(size, _MOST_DRAWN), dtype=np.float32), shape)


def _positive(generator: Generator, shape: tuple[int, ...], _: float) -> Array:
    return 0.5 + generator.random(shape, dtype=np.float32)


def _negative(generator: Generator, shape: tuple[int, ...], _: float) -> Array:
    return -_positive(generator, shape, _)


# The ranges of the power of two by which values are larger, or smaller, than normal ones. The power is drawn, so nobody
# knows which sizes are not tested.
_LARGER, _SMALLER = (2.0, 7.0), (1.0, 12.0)


def _large(generator: Generator, shape: tuple[int, ...], _: float) -> Array:
    return np.float32(2 ** generator.uniform(*_LARGER)) * _normal(generator, shape, _)


def _small(generator: Generator, shape: tuple[int, ...], _: float) -> Array:
    return np.float32(2 ** -generator.uniform(*_SMALLER)) * _normal(generator, shape, _)


# Only an axis of at least this length gets rows of zeros.
_LEAST_ROWS = 4


def _sparse(generator: Generator, shape: tuple[int, ...], _: float) -> Array:
    """Draws values of which three in four are zero. So is every fourth row of the first axis that is long enough."""
    values = np.where(generator.random(shape, dtype=np.float32) < 0.25, _normal(generator, shape, _), 0)
    axis = next((axis for axis, size in enumerate(shape) if size >= _LEAST_ROWS), None)
    if axis is not None:
        np.moveaxis(values, axis, 0)[::4] = 0
    return values


def _denormal(generator: Generator, shape: tuple[int, ...], smallest: float) -> Array:
    """Draws zeros, a quarter of all, and the smallest normal numbers: their products are denormal, or zero.

    No value is denormal itself, because hardware treats denormal values as zero, and thus as equal. The oracle does
    not.
    """
    values = 2 * _normal(generator, shape, smallest)
    size = np.where(np.abs(values) < 0.6, 0, 1 + np.abs(values))
    return np.copysign(size, values) * np.float32(smallest)


# The share of an axis's lines that hold needles. The size of a needle, in units of the typical sum of as many normal
# values as the line has.
_NEEDLES = 0.75
_NEEDLE = 2.0
# The smallest needle. Its exponential overflows float32, so a maximum over only some values does not go unnoticed.
_LEAST_NEEDLE = 100.0
# The largest share by which needles differ in size.
_SPREAD = 0.1
# The kinds of lines with needles: one at an end, one anywhere, or several. For each needle, the kinds of lines that
# have it. A sum shows each of several needles; a maximum or a softmax shows a needle that is the only one of its line.
_KINDS = {"first": (0, 3), "last": (1, 3), "anywhere": (2, 3), "another": (3,), "a third": (3,)}
_COUNT_OF_KINDS = 4
_SHORT = {"anywhere": (0, 1, 2, 3)}
# How many places at an end of an axis count as that end.
_END = 8
# Axes shorter than the first have no needles. Lines shorter than the second have at most one needle.
_LEAST_LINE, _LONG_LINE = 8, 64


def _needles(generator: Generator, shape: tuple[int, ...], _: float) -> Array:
    """Draws normal values and, in most lines along each axis, needles that outweigh the sum of all others there.

    So a program that leaves out a place of a long sum, a key of a softmax, or a step of a scan is off by much wherever
    a needle was there. Programs most often leave out an end.
    """
    values = _normal(generator, shape, _)
    for axis, length in enumerate(shape):
        if length < _LEAST_LINE:
            continue
        lines = (*shape[:axis], 1, *shape[axis + 1 :])
        sign = np.where(generator.random(lines, dtype=np.float32) < 0.5, -1, 1)
        kind = generator.integers(0, _COUNT_OF_KINDS, lines, dtype=np.int8)
        kind[generator.random(lines, dtype=np.float32) >= _NEEDLES] = -1
        needle = (max(_LEAST_NEEDLE, _NEEDLE * np.sqrt(length)) * sign).astype(np.float32)
        for place, kinds in (_KINDS if length >= _LONG_LINE else _SHORT).items():
            first, last = {"first": (0, _END), "last": (length - _END, length)}.get(place, (0, length))
            at = generator.integers(first, last, lines)
            # No two needles are equal, because a task need not define which of several equal values is the largest.
            size = needle * (1 + _SPREAD * generator.random(lines, dtype=np.float32))
            here = np.where(np.isin(kind, kinds), size, np.take_along_axis(values, at, axis))
            np.put_along_axis(values, at, here, axis)
    return values


SETS = (
    InputSet("normal", _normal, is_secret=False, is_whole=True),
    InputSet("hidden", _normal, is_whole=True),
    InputSet("positive", _positive),
    InputSet("negative", _negative),
    InputSet("large", _large),
    InputSet("small", _small),
    InputSet("sparse", _sparse, has_gaps=True),
    InputSet("denormal", _denormal),
    InputSet("needles", _needles, is_whole=True, has_few_large=True),
    # On these sets, whole numbers are at an end of their range: groups are empty or full, or all ids are the same.
    InputSet("lowest", _normal, of_ends=min),
    InputSet("highest", _normal, of_ends=max),
)
PUBLIC, HIDDEN = SETS[:2]
# The sets of large timed cases, one for each group of places. The whole numbers of the first set are those that the
# model is given (operands.py), so a program that does less work for these numbers is found.
TIMED = tuple(
    replace(drawn, has_public_whole=drawn is HIDDEN) for drawn in SETS if drawn is HIDDEN or drawn.name == "needles"
)

# The set for a group whose oracle is not finite on needles.
AGAIN = replace(HIDDEN, name="again")

_MOST_SAMPLED = 1 << 16


def generator_of(*named: Any, salt: str = "evolve judge 2") -> Generator:
    """Returns a separate random stream for everything that is drawn, so that no draw depends on another one."""
    key = hashlib.sha256(f"{salt} {json.dumps(named)}".encode()).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(key[:16], "little")))


def sets_of(signature: dict[str, Any]) -> list[InputSet]:
    """Returns the sets that a task is judged on."""
    return [drawn for drawn in SETS if drawn.of_ends is None or has_whole(signature)]


def has_whole(signature: dict[str, Any]) -> bool:
    """Whether a task has inputs of whole numbers."""
    return any(_is_whole(program.dtype_of(entry["dtype"])) for entry in signature["inputs"])


def draw(signature: dict[str, Any], drawn: InputSet = PUBLIC, secret: str = "", number: int = 0) -> list[Array]:
    """Draws arrays of the declared shapes and dtypes. Whole numbers are as whole_numbers.py draws them.

    If an input has a range, its floating-point values lie within it, with the same ranks. `number` distinguishes sets
    that are drawn in the same way. Raises whole_numbers.Unsound for a formula that gives no such values.
    """
    arrays = _Arrays(signature, drawn, secret, number)
    return [arrays.of(position) for position in range(len(signature["inputs"]))]


def draw_whole(signature: dict[str, Any]) -> list[Array | None]:
    """Draws the public inputs that are whole numbers, as `draw` does.

    The list has None for other inputs, which take long to draw, and for inputs with an unsound formula.
    """
    arrays = _Arrays(signature, PUBLIC, "", 0)
    out: list[Array | None] = [None] * len(signature["inputs"])
    for position, entry in enumerate(signature["inputs"]):
        if _is_whole(program.dtype_of(entry["dtype"])):
            with contextlib.suppress(whole_numbers.Unsound):
                out[position] = arrays.of(position)
    return out


class _Arrays:
    """The inputs of one set, each drawn when it is asked for."""

    def __init__(self, signature: dict[str, Any], drawn: InputSet, secret: str, number: int) -> None:
        self._entries = signature["inputs"]
        self._how = drawn, secret, number
        self._found: dict[int, Array] = {}

    def of(self, position: int) -> Array:
        """Returns one input."""
        if position not in self._found:
            entry = self._entries[position]
            self._found[position] = (
                self._by_formula(position, entry["values"])
                if "values" in entry
                else _drawn(position, entry, *self._how)
            )
        return self._found[position]

    def _by_formula(self, position: int, formula: dict[str, Any]) -> Array:
        """Computes an input. `formula`: its text, and the dimensions that it may name."""
        entry, before = self._entries[position], [entry["name"] for entry in self._entries[:position]]

        def value(name: str) -> Any:
            return np.int64(formula["dims"][name]) if name not in before else self.of(before.index(name))

        try:
            found = whole_numbers.by_formula(formula["text"], tuple(entry["shape"]), value)
        except whole_numbers.Unsound as error:
            raise whole_numbers.Unsound(f"the values of the input '{entry['name']}': {error}") from error
        return found.astype(program.dtype_of(entry["dtype"]))


def _is_whole(dtype: np.dtype[Any]) -> bool:
    return bool(jax.numpy.issubdtype(dtype, np.integer) or dtype == np.bool_)


def _drawn(position: int, entry: dict[str, Any], drawn: InputSet, secret: str, number: int) -> Array:
    """Draws one input."""
    shape, dtype = tuple(entry["shape"]), program.dtype_of(entry["dtype"])
    if _is_whole(dtype) and drawn.has_public_whole and number == 0:
        drawn = PUBLIC
    seed = secret if drawn.is_secret else ""
    generator = generator_of(position, entry["shape"], entry["dtype"], drawn.name, number, seed)
    if _is_whole(dtype):
        low, high = map(int, entry.get("range", (0, 1 if dtype == np.bool_ else 7)))
        terms = whole_numbers.Terms.of(entry, low, high)
        return whole_numbers.drawn(generator, shape, terms, drawn.of_ends, drawn.has_gaps).astype(dtype)
    limits = program.float_info(dtype)
    values = drawn.values(generator, shape, float(limits.tiny))
    if "range" in entry:
        values = _into(values, *entry["range"])
    if "sorted" in entry.get("are", ()):
        values.sort(axis=-1)
    return np.clip(values, float(limits.min), float(limits.max), out=values).astype(dtype)


def _into(values: Array, low: float, high: float) -> Array:
    """Maps values of any size into a range; zero becomes its middle."""
    return (low + (high - low) * (0.5 + np.arctan(values) / np.pi)).astype(np.float32)


def sample(shape: list[int], drawn: InputSet, output: int, secret: str) -> Array | None:
    """Returns the places, as flat indices, at which an output is compared; None: all of them."""
    return None if drawn.is_whole else some_places(shape, "sample", output, shape, drawn.name, secret)


def some_places(shape: list[int], *named: Any) -> Array | None:
    """Draws places of an array, as flat indices, from the random stream `named`; None: all places of a small array."""
    size = int(np.prod(shape, dtype=np.int64))
    if size <= _MOST_SAMPLED:
        return None
    return np.sort(generator_of(*named).choice(size, _MOST_SAMPLED, replace=False))


# The number of orders of size: one for each exponent of float32.
ORDERS = 256


def order_of(values: Array) -> Array:
    """Returns the order of size of each value, one per power of two, from 0 to ORDERS - 1; zero has the least order."""
    exponents = np.frexp(values)[1] + ORDERS // 2 - 1
    return np.where(values == 0, 0, np.clip(exponents, 0, ORDERS - 1))


def picked(array: Array, places: Array | None) -> Array:
    """Returns an output, or its elements at the places."""
    return array if places is None else array.reshape(-1)[places]
