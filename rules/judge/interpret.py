"""A candidate's kernels in Pallas' TPU interpreter, which sees faults that a plain run does not.

Memory that nobody wrote is not a number, blocks and slices outside of their arrays are errors, unordered accesses of
DMAs and of two cores are races, and the order of grid dimensions that are said to be parallel is drawn. A kernel that
can detect NaN runs a second time, and then such memory holds an ordinary number. Both runs are on secret inputs, the
second run on a kind of inputs that is drawn for each kernel. In kernels that copy by themselves, a race may depend on
values, so these kernels run on every kind if their grids are small. The interpreter is not trusted to say that a kernel
is right: this step can only reject one. A kernel that the interpreter cannot run is reported, and the other steps judge
it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import json
import math
import os
import re
from collections.abc import Callable
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import numpy as np
from jax._src import core
from jax._src.pallas.mosaic.interpret import interpret_pallas_call as interpreter

from interpreter import bounds, footprint, interpreted, kept_inputs, parts, races
from judge import comparison, judge_inputs, outer, values
from judge.comparison import Refusal
from judge.judge_inputs import HIDDEN, PUBLIC, InputSet
from process import sandbox
from process.child import Limits
from programs import jaxprs, program, promises, wire
from reports import verdict
from reports.verdict import Report

_REVISITED = re.compile(r"Error: (Revisited block[^\n]*)")


class _Interpreter:
    """Runs the kernels of a program without calls; `race` describes the first race."""

    def __init__(self, seed: int, flat: core.Jaxpr | None = None, signature: dict[str, Any] | None = None) -> None:
        self._names = {} if flat is None or signature is None else bounds.names_of(flat, signature)
        self._races = races.Watch(flat, self._names)
        self._bounds = bounds.Watch()
        self._promises = promises.Watch()
        self._inputs = kept_inputs.Watch()
        self._cores: interpreted.OneCoreEach
        self._how = interpreted.settings(
            detect_races=True, num_cores_or_threads=2, random_seed=seed, grid_point_recorder=self._record
        )
        self._compiled: dict[int, Callable[..., Any]] = {}

    def __call__(self, equation: Any, operands: list[Any]) -> list[Any]:
        mapping = equation.params["grid_mapping"]
        dynamic, scalars = mapping.num_dynamic_grid_bounds, mapping.num_index_operands
        # Only dynamic bounds and prefetched scalars can move the blocks. Without them, the first check is enough.
        if dynamic or scalars or id(equation) not in self._compiled:
            grid = footprint.grid_of(mapping, operands[:dynamic])
            blocks = footprint.Blocks(equation.params, grid, operands[dynamic : dynamic + scalars])
            blocks.check_order([self._races.is_used(v) for v in equation.outvars])
        self._cores = interpreted.OneCoreEach(equation)
        if id(equation) not in self._compiled:
            params = interpreted.parameters(equation, self._promises)
            call = functools.partial(interpreter.interpret_pallas_call, **params, interpret_params=self._how)
            self._compiled[id(equation)] = jax.jit(call)
        try:
            with (
                self._inputs.entered(),
                interpreted.forgetting_blocks(equation),
                self._bounds.entered(),
                self._races.entered(equation),
            ):
                outputs = jax.block_until_ready(self._compiled[id(equation)](*operands))
        except Exception as error:
            raise self._bounds.found(error, equation, self._names) or error from error
        self._promises.check()
        self._inputs.check(equation.params)
        # An output that shares an input's memory is returned with the length of all its blocks, so it is cut.
        avals = equation.params["out_avals"]
        return [out[tuple(map(slice, aval.shape))] for out, aval in zip(outputs, avals, strict=True)]

    def _record(self, token: Any, point: Any, core_index: Any) -> Any:
        """Notes a step. The interpreter calls this before each step."""
        self._bounds.step(point, int(core_index))
        self._cores.step(point)
        self._races.step(point, int(core_index))
        return token

    @property
    def race(self) -> str:
        """The first race, or semaphore that is not back at 0, in words; empty: none."""
        return self._races.found


# Kernels read and write the values of these sets like any other numbers, so the sets show little.
_TELLS_LITTLE = ("large", "small", "denormal")


@dataclasses.dataclass(frozen=True)
class _Look:
    """A run on the first of some sets, or on all of them. `is_filled`: memory that nobody wrote holds a number."""

    sets: list[InputSet]
    is_filled: bool


def said_by(error: Exception) -> dict[str, str]:
    """Returns an answer for an error: the fault that it reports, or why the run could not go on."""
    text = str(error)
    if isinstance(error, footprint.Overlap):
        return {"kind": "race", "reason": text}
    if isinstance(error, bounds.Beyond):
        return {"kind": "out-of-bounds", "reason": text}
    if found := _REVISITED.search(text):
        return {"kind": "race", "reason": found[1]}
    # A callback's error begins with its caller, and ends with what happened.
    last = next((line for line in reversed(text.splitlines()) if line.strip()), "")
    return {"gap": verdict.one_line(f"{type(error).__name__}: {last}")}


def _filled(packed: bytes) -> contextlib.AbstractContextManager[None]:
    """Returns a context in which memory that nobody wrote holds an ordinary number that nobody knows beforehand."""
    generator = np.random.Generator(
        np.random.Philox(key=int.from_bytes(hashlib.sha256(packed).digest()[:16], "little"))
    )
    number, whole = float(generator.uniform(1, 4) * generator.choice([-1, 1])), int(generator.integers(1, 8))
    return interpreted.filled(number, lambda _: whole, flag=False)


def _flat(closed: core.ClosedJaxpr) -> core.ClosedJaxpr:
    """Returns a program in the form that is run here."""
    return parts.flattened(interpreted.prepared(closed), is_unrolled=False)


def as_function(packed: bytes, signature: dict[str, Any], secret: str) -> Callable[..., list[Any]]:
    """Returns a candidate's jaxpr as a function that runs in the interpreter."""
    closed = _flat(wire.unpack(packed))
    run_kernel = _Interpreter(_seed_of(packed, "", secret), closed.jaxpr, signature)
    return lambda *arguments: outer.evaluate(closed, arguments, run_kernel)


# A program is run on all sets of inputs only if its grids have at most this many steps in total.
_FEW_STEPS = 64


def _is_run_on_all(jaxpr: core.Jaxpr) -> bool:
    """Whether kernels copy by themselves, so that a race may depend on values, and have few steps."""
    kernels = list(jaxprs.kernels_in(jaxpr))
    grids = [bound for kernel in kernels for bound in kernel.params["grid_mapping"].grid]
    if not all(isinstance(bound, int) for bound in grids):
        return False
    steps = sum(math.prod(kernel.params["grid_mapping"].grid) for kernel in kernels)
    return steps <= _FEW_STEPS and jaxprs.copies_by_itself(jaxpr)


def _interpreted(packed: bytes, signature: dict[str, Any], look: _Look, secret: str, seed: int) -> bytes:
    """The child's work: a line of JSON, then the outputs' bytes by set. `seed` draws the order of parallel steps."""
    program.configure_jax()
    answer: list[bytes] = []
    try:
        closed = wire.unpack(packed)
        flat = _flat(closed)
        run_kernel = _Interpreter(seed, flat.jaxpr, signature)
        runs = len(look.sets) if _is_run_on_all(closed.jaxpr) else 1
        with _filled(packed) if look.is_filled else contextlib.nullcontext():
            for drawn in look.sets[:runs]:
                arguments = [jax.numpy.asarray(array) for array in judge_inputs.draw(signature, drawn, secret)]
                answer += [np.asarray(leaf).tobytes() for leaf in outer.evaluate(flat, arguments, run_kernel)]
        can_tell = any(map(interpreted.can_tell, jaxprs.kernels_in(closed.jaxpr)))
        header: dict[str, Any] = {"race": run_kernel.race, "can_tell": can_tell, "runs": runs}
    except (kept_inputs.Changed, promises.Broken) as found:
        header = {"kind": "incorrect", "reason": str(found)}
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever the kernel or the interpreter does
        header = said_by(error)
    return json.dumps(header).encode() + b"\n" + b"".join(answer)


def _look(
    answer: bytes,
    expected: comparison.Expected,
    signature: dict[str, Any],
    tolerance: dict[str, float],
    look: _Look,
) -> dict[str, Any]:
    """Judges a child's answer, and returns its line of JSON. Raises Refusal."""
    text, _, content = answer.partition(b"\n")
    header: dict[str, Any] = json.loads(text)
    if "gap" in header:
        return header
    if "kind" in header:
        raise Refusal(header["kind"], header["reason"])
    if header["race"] in (races.LEFT, races.PASSED_ON):
        raise Refusal("race", header["race"])
    if header["race"]:
        raise Refusal("race", f"two accesses to {header['race']}, at least one of them a write, are not ordered")
    for drawn in look.sets[: header["runs"]]:
        arrays, content = comparison.arrays_of(content, signature["outputs"])
        for i, (got, declared) in enumerate(zip(arrays, signature["outputs"], strict=True)):
            places = expected.get(f"{drawn.name}.{i}.places")
            output = comparison.output_of(judge_inputs.picked(got, places), expected, drawn, i, declared)
            try:
                comparison.check_finite(output)
                comparison.check_elements(output, tolerance)
            except Refusal as refusal:
                memory = "holds any number" if look.is_filled else "is not a number"
                why = f"where memory that nobody wrote {memory}, and parallel dimensions are not ordered"
                raise Refusal(refusal.kind, f"{refusal}, {why}", **refusal.evidence) from refusal
    return header


def _seed_of(packed: bytes, word: str, secret: str) -> int:
    """Returns a number that nobody knows without the secret."""
    return int.from_bytes(hashlib.sha256(packed + word.encode() + secret.encode()).digest()[:3], "little")


def _looks(packed: bytes, expected: comparison.Expected, secret: str) -> tuple[_Look, _Look]:
    """Returns the two runs of a program. The second run is only for a program that can detect NaN."""
    known = comparison.known_sets(expected)
    hidden = [drawn for drawn in known if drawn.name == HIDDEN.name] or [PUBLIC]
    others = [drawn for drawn in known if drawn.name not in (PUBLIC.name, hidden[0].name)]
    telling = [drawn for drawn in others if drawn.name not in _TELLS_LITTLE] or hidden
    second = telling[_seed_of(packed, "set", secret) % len(telling)]
    return _Look([*hidden, *others], is_filled=False), _Look([second], is_filled=True)


def interpret(
    packed: bytes,
    expected: comparison.Expected,
    signature: dict[str, Any],
    tolerance: dict[str, float],
    secret: str,
    limits: Limits,
    is_timed: bool = False,
) -> Report:
    """Returns the report on a candidate's jaxpr; `is_timed`: its case is timed, too.

    A timed case that takes too long as a whole is interpreted at places of its outputs, as larger ones are (values.py).
    """
    whole = dataclasses.replace(limits, cpu_seconds=limits.cpu_seconds // 2) if is_timed else limits
    for look in _looks(packed, expected, secret):
        seed = _seed_of(packed, f"order {look.is_filled}", secret)
        ending = sandbox.run(functools.partial(_interpreted, packed, signature, look, secret, seed), whole)
        if ending.how == "timeout":
            # The interpreter takes a hundred times as long as the program, so the program is not to blame. The step
            # check finds programs that never end.
            why = f"the kernel cannot be interpreted here: it {ending.reason(whole)}"
            if not is_timed:
                return verdict.not_done(why)
            some = values.at_all_places(expected, signature)
            report = values.values_of(packed, some, signature, tolerance, secret, limits)
            return report if report["verdict"] != "not_done" else verdict.not_done(f"{why}; {comparison.IN_PARTS}")
        if ending.how != "answered":
            return verdict.of_ending(ending, limits)
        try:
            said = _look(ending.answer, expected, signature, tolerance, look)
        except Refusal as refusal:
            return verdict.rejected(refusal.kind, str(refusal), evidence=refusal.evidence)
        if "gap" in said:
            return verdict.not_done(f"the kernel cannot be interpreted here: {said['gap']}")
        if not said["can_tell"]:
            break
    return verdict.ok()
