"""Races that the interpreter finds, in words: whose memory two accesses touch, and where; and semaphores not at 0.

Two cores may write the same block of a blocked output that the program around a kernel does not use, because neither
that program nor the kernel reads the output. Library kernels use such outputs as scratch memory.

A signal goes to the core that sends it, as on a TPU; the interpreter would send it to the first core. Each semaphore
has to be back at 0 when a kernel ends, because the next kernel would find it otherwise. It also has to be back at 0
wherever the index of a parallel dimension changes: a step must not wait for another step that may run elsewhere.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest import mock

from jax._src import core
from jax._src.interpreters import partial_eval
from jax._src.pallas.mosaic.interpret import interpret_pallas_call as interpreter
from jax._src.pallas.mosaic.interpret.race_detection_state import RaceDetectionState

from interpreter import bounds, footprint
from interpreter.bounds import Names

# The reasons that are reported if a semaphore is not back at 0: where a kernel ends, and between parallel steps.
LEFT = "a kernel ends with a semaphore that is not at 0: its signals and waits do not match"
PASSED_ON = "a semaphore is not at 0 where a step of a parallel dimension ends: no other step may wait for it"

_signal = interpreter.semaphore_signal


def _signalled(
    token: Any, device: Any, core_index: Any, semaphore: Any, number: Any, *targets: Any, **more: Any
) -> Any:
    to_device, to_core = targets
    return _signal(
        token, device, core_index, semaphore, number, to_device, core_index if to_core is None else to_core, **more
    )


def used_in(flat: core.Jaxpr) -> frozenset[core.Var]:
    """Returns the variables of a program without calls that its outputs depend on."""
    kept, _ = partial_eval.dce_jaxpr(flat, [True] * len(flat.outvars), instantiate=True)
    atoms = [*kept.outvars, *(atom for equation in kept.eqns for atom in equation.invars)]
    return frozenset(atom for atom in atoms if isinstance(atom, core.Var))


class Watch:
    """Notes the first race, or semaphore that is not back at 0, of kernels that run while it is `entered`."""

    def __init__(self, flat: core.Jaxpr | None, names: Names) -> None:
        self.found = ""
        self._names = names
        self._parallel: Sequence[int] = ()
        self._at: dict[int, list[int]] = {}
        self._used = None if flat is None else used_in(flat)
        self._inside = None if flat is None else {v for equation in flat.eqns for v in equation.outvars}

    def step(self, point: Sequence[Any], core_index: int) -> None:
        """Notes a step of a core; called before the step."""
        now = [int(point[axis]) for axis in self._parallel]
        before = self._at.get(core_index, now)
        self._at[core_index] = now
        if before != now and self._is_left(core_index) and not self.found:
            self.found = PASSED_ON

    def _is_left(self, core_index: int | None = None) -> bool:
        """Whether a semaphore is not at 0; `core_index`: of which core; None: of any core."""
        left = interpreter._get_shared_memory().get_sempahores_with_nonzero_count(0)
        return any(core_index in (None, of_core) for _, of_core in left)

    @contextlib.contextmanager
    def entered(self, equation: core.JaxprEqn) -> Iterator[None]:
        """The context in which this kernel runs."""
        unread = self._unread(equation)
        self._parallel, self._at = footprint.parallel_axes(equation.params), {}

        def telling(check: Callable[..., None]) -> Callable[..., None]:
            def told(this: Any, device: Any, core_index: Any, clock: Any, key: Any, where: Any, **more: Any) -> None:
                number = int(key[1]) - bounds.FIRST
                if number in unread:
                    return
                check(this, device, core_index, clock, key, where, **more)
                if this.races_found and not self.found:
                    memory = bounds.memory_of(equation, self._names)
                    whose = memory[number] if 0 <= number < len(memory) else "memory that it allocated"
                    self.found = whose + (f" at {bounds.places(str(where))}" if where else "")

            return told

        with contextlib.ExitStack() as stack:
            # The interpreter prints each race, which nobody reads in a sandbox.
            stack.enter_context(contextlib.redirect_stdout(None))
            for name in ("check_read", "check_write"):
                patched = telling(getattr(RaceDetectionState, name))
                stack.enter_context(mock.patch.object(RaceDetectionState, name, patched))
            stack.enter_context(mock.patch.object(interpreter, "semaphore_signal", _signalled))
            stack.enter_context(mock.patch.object(interpreter, "_validate", self._validating(interpreter._validate)))
            yield

    def _validating(self, validate: Callable[..., Any]) -> Callable[..., Any]:
        def validated(token: Any, device: Any) -> Any:
            if self._is_left() and not self.found:
                self.found = LEFT
            return validate(token, device)

        return validated

    def is_used(self, v: core.Var) -> bool:
        """Whether the program around a kernel uses its output; true in a loop or a branch, where that is not known."""
        return self._used is None or self._inside is None or v not in self._inside or v in self._used

    def _unread(self, equation: core.JaxprEqn) -> frozenset[int]:
        """Returns the numbers of the memories of blocked outputs that nobody reads."""
        memories = bounds.memories(equation)
        blocked = {place for kind, place in memories if kind is bounds.Kind.OUTPUT_BLOCK}
        return frozenset(
            number
            for number, (kind, place) in enumerate(memories)
            if kind is bounds.Kind.OUTPUT and place in blocked and not self.is_used(equation.outvars[place])
        )
