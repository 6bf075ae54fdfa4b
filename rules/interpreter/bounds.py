"""Accesses beyond the end of memory, in words: the memory, the place in it, and the step of the grid.

The interpreter numbers memories in the order in which it makes them, and reports the number. The names here are those
of the spec, and not the candidate's own names of its operands.
"""

from __future__ import annotations

import contextlib
import enum
import re
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import jax
from jax._src import core
from jax._src.pallas.mosaic.interpret import interpret_pallas_call as interpreter
from jax._src.pallas.mosaic.interpret import utils as interpret_utils

_ACCESS = re.compile(
    r"Out-of-bounds (?P<how>read|write|swap|masked swap) of \(\d+ (?P<core>\d+) \S+ (?P<buffer>\d+)\):"
    r" \w+ \[\((?P<where>.*?)\)\] but buffer has shape \((?P<shape>[^)]*)\)"
)
_BLOCK = re.compile(
    r"Out-of-bounds block index \((?P<index>[^)]*)\) for (?P<side>input|output) \"(?P<number>\d+)\""
    r" in iteration \((?P<step>[^)]*)\).*?: \w+ \[\((?P<where>.*?)\)\] but \w+ has shape \((?P<shape>[^)]*)\)"
)
_SLICE = re.compile(r"slice\((-?\d+), (-?\d+), -?\w+\)|(-?\d+)")
_VERBS = {"read": "reads", "write": "writes", "swap": "writes", "masked swap": "writes"}
# The interpreter's functions that access memory, and the word for the access of each.
_FUNCTIONS = {"get": "read", "store": "write", "swap": "swap"}

# Operations whose result counts as the same array, in another shape or dtype.
_SAME = frozenset("broadcast_in_dim convert_element_type copy expand_dims pad reshape slice squeeze transpose".split())


# The names of a program's values.
Names = dict[core.Var, str]

# The number that the interpreter gives a kernel's first memory.
FIRST = 100


class Beyond(Exception):
    """A kernel reached beyond the end of memory."""


def names_of(flat: core.Jaxpr, signature: dict[str, Any]) -> Names:
    """Returns the spec's names for all values that are an input or an output, also in another shape or dtype.

    `flat`: the jaxpr of a program without calls (parts.py).
    """
    names: Names = {}
    names.update((v, entry["name"]) for v, entry in zip(flat.invars, signature["inputs"], strict=False))
    for equation in flat.eqns:
        given = [None if isinstance(atom, core.Literal) else names.get(atom) for atom in equation.invars[:1]]
        if equation.primitive.name in _SAME and given and given[0] is not None:
            names[equation.outvars[0]] = given[0]
    for atom, entry in zip(flat.outvars, signature["outputs"], strict=False):
        if isinstance(atom, core.Var):
            names.setdefault(atom, entry["name"])
    for equation in reversed(flat.eqns):
        operand = equation.invars[0] if equation.primitive.name in _SAME else None
        if isinstance(operand, core.Var) and equation.outvars[0] in names:
            names.setdefault(operand, names[equation.outvars[0]])
    return names


class Watch:
    """Notes where in its grid each core is, for kernels that report their steps here."""

    def __init__(self) -> None:
        self._at: dict[int, list[int]] = {}

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Makes the interpreter name the memory of each access beyond its end, and not only fail an assertion."""
        with contextlib.ExitStack() as stack:
            for name, how in _FUNCTIONS.items():
                patched = _telling(getattr(interpreter, name), how)
                stack.enter_context(mock.patch.object(interpreter, name, patched))
            yield

    def step(self, point: Any, core_index: int) -> None:
        """Notes a step of a core; called before the step."""
        self._at[core_index] = [int(axis) for axis in point]

    def found(self, error: Exception, equation: core.JaxprEqn, names: Names) -> Beyond | None:
        """Returns what an error of a kernel's run says about memory; None: it is about something else."""
        text = str(error)
        if match := _ACCESS.search(text):
            whose = memory_of(equation, names)
            number = int(match["buffer"]) - FIRST
            memory = whose[number] if number < len(whose) else "memory that it allocated"
            what = f"a kernel {_VERBS[match['how']]} {memory} at {places(match['where'])}"
            return Beyond(f"{what}, beyond its shape [{_comma(match['shape'])}]{self._step(int(match['core']))}")
        if match := _BLOCK.search(text):
            inputs, outputs = _labels(equation, names)
            whose = inputs if match["side"] == "input" else outputs
            block = f"block [{_comma(match['index'])}] of {whose[int(match['number'])]} is {places(match['where'])}"
            shape, step = (_comma(match[name]) for name in ("shape", "step"))
            return Beyond(f"{block}, beyond the array's shape [{shape}], at step [{step}] of the grid")
        return None

    def _step(self, core_index: int) -> str:
        return f", at step {self._at[core_index]} of its grid" if core_index in self._at else ""


def _telling(access: Callable[..., Any], how: str) -> Callable[..., Any]:
    def told(token: Any, device: Any, core_index: Any, space: Any, *rest: Any, **more: Any) -> Any:
        try:
            return access(token, device, core_index, space, *rest, **more)
        except AssertionError:
            named = interpreter.TPU_MEMORY_SPACE_NAMES[int(space)]
            buffer, where = int(rest[0]), interpret_utils.to_range(jax.tree.map(int, rest[1]))
            lies_in = interpreter._local_core_id_or_zero_if_hbm(int(core_index), named)
            shape = interpreter._get_shared_memory().mem[named, buffer, int(device), lies_in].logical_shape
            whose = f"({int(device)} {int(core_index)} {named} {buffer})"
            text = f"Out-of-bounds {how} of {whose}: {how} [{where}] but buffer has shape {shape}"
            raise IndexError(text) from None

    # DMAs call the wrapped function, so its errors have to be told, too.
    if hasattr(access, "__wrapped__"):
        told.__wrapped__ = _telling(access.__wrapped__, how)  # type: ignore[attr-defined]
    return told


def numbered(jaxpr: core.Jaxpr, mapping: Any) -> core.Jaxpr:
    """Returns a kernel's body with numbers as its blocks' names, because the interpreter reports the names."""
    counts = (mapping.num_index_operands, mapping.num_inputs, mapping.num_outputs)
    rest = len(jaxpr.invars) - sum(counts)
    arguments = tuple(str(number) for count in (*counts, rest) for number in range(count))
    return jaxpr.replace(debug_info=jaxpr.debug_info._replace(arg_names=arguments, result_paths=()))


def _labels(equation: core.JaxprEqn, names: Names) -> tuple[list[str], list[str]]:
    """Returns the names of a kernel's inputs, and of its outputs."""
    mapping = equation.params["grid_mapping"]
    operands = equation.invars[mapping.num_dynamic_grid_bounds + mapping.num_index_operands :]
    return _called_so(operands, names, "input"), _called_so(equation.outvars, names, "output")


def _called_so(atoms: Any, names: Names, kind: str) -> list[str]:
    known = [None if isinstance(atom, core.Literal) else names.get(atom) for atom in atoms]
    return [f"'{said}'" if said else f"{kind} {number}" for number, said in enumerate(known)]


class Kind(enum.Enum):
    """The content of one of a kernel's memories."""

    INPUT = "input"
    OUTPUT = "output"
    SCALAR = "prefetched scalar"
    INPUT_BLOCK = "block of an input"
    OUTPUT_BLOCK = "block of an output"
    SCRATCH = "scratch"


def memories(equation: core.JaxprEqn) -> list[tuple[Kind, int]]:
    """Returns the kind and the operand's number of each of a kernel's memories, in the interpreter's order."""
    params = equation.params
    mapping, arguments = params["grid_mapping"], params["jaxpr"].invars
    scalars, inputs, outputs = mapping.num_index_operands, mapping.num_inputs, mapping.num_outputs
    shared = {output for _, output in params["input_output_aliases"]}
    made = [(Kind.INPUT, number) for number in range(inputs)]
    made += [(Kind.OUTPUT, number) for number in range(outputs) if number not in shared]
    made += [(Kind.SCALAR, number) for number in range(scalars)]
    blocks = [(Kind.INPUT_BLOCK, number) for number in range(inputs)]
    blocks += [(Kind.OUTPUT_BLOCK, number) for number in range(outputs)]
    blocks += [(Kind.SCRATCH, number) for number in range(len(arguments) - scalars - inputs - outputs)]
    spaces = [block.transformed_block_aval.memory_space for block in mapping.block_mappings]
    spaces += [v.aval.memory_space for v in arguments[scalars + inputs + outputs :]]
    elsewhere = (interpreter._HBM, interpreter._SEMAPHORE)
    for one, space in zip(blocks, spaces, strict=True):
        if interpreter._forward_any_to_hbm(space) not in elsewhere:
            made.append(one)
    return made


def memory_of(equation: core.JaxprEqn, names: Names) -> list[str]:
    """Returns a kernel's memories in words, in the order of `memories`."""
    of_inputs, of_outputs = _labels(equation, names)
    mapping = equation.params["grid_mapping"]
    first = mapping.num_dynamic_grid_bounds
    scalars = equation.invars[first : first + mapping.num_index_operands]
    words = {
        Kind.INPUT: of_inputs,
        Kind.OUTPUT: of_outputs,
        Kind.SCALAR: _called_so(scalars, names, "prefetched scalar"),
        Kind.INPUT_BLOCK: [f"a block of {one}" for one in of_inputs],
        Kind.OUTPUT_BLOCK: [f"a block of {one}" for one in of_outputs],
    }
    return [words[kind][number] if kind in words else f"scratch {number}" for kind, number in memories(equation)]


def places(text: str) -> str:
    """Returns a range, as the interpreter writes it, as an index."""
    found = (f"{start}:{stop}" if start else index for start, stop, index in _SLICE.findall(text))
    return f"[{', '.join(found)}]"


def _comma(numbers: str) -> str:
    return ", ".join(re.findall(r"-?\d+", numbers))
