"""The inputs of interpreted kernels, and whether the kernels leave them as they were.

The interpreter copies a kernel's inputs into memory of its own, so nobody sees how a kernel changes them. Here each
copy is compared before and after the kernel has run.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np
from jax._src.pallas.mosaic.interpret import interpret_pallas_call as interpreter

from interpreter import writes


def _is_changed(buffers: list[Any], before: np.ndarray[Any, Any]) -> bool:
    return any(buffer.content.tobytes() != before.tobytes() for buffer in buffers)


class Changed(Exception):
    """A kernel wrote to an input."""


class Watch:
    """Looks at the memory of kernels that are traced while `entered`, whenever they run."""

    def __init__(self) -> None:
        self._made: list[tuple[list[Any], np.ndarray[Any, Any]]] = []  # buffers, one per core, and their first content
        self._changed: list[bool] = []

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Watches the memory that the interpreter makes and gives back."""
        allocate, clean_up = interpreter._allocate_buffer, interpreter._clean_up_shared_memory

        def allocating(token: Any, device: Any, core: Any, space: Any, value: Any, **more: Any) -> Any:
            answer = allocate(token, device, core, space, value, **more)
            # Only memory that belongs to no core is watched, because it is there for the whole kernel.
            if core is None:
                memory = interpreter._get_shared_memory().mem
                key = interpreter.TPU_MEMORY_SPACE_NAMES[int(space)], int(answer[1]), int(device)
                cores = range(interpreter._get_shared_memory().num_cores_per_device)
                buffers = [memory[*key, core] for core in cores if (*key, core) in memory]
                self._made.append((buffers, buffers[0].content.copy()))
            return answer

        def cleaning_up(*arguments: Any) -> Any:
            self._changed = [
                any(buffer.content.tobytes() != before.tobytes() for buffer in buffers)
                for buffers, before in self._made
            ]
            self._made = []
            return clean_up(*arguments)

        with (
            mock.patch.object(interpreter, "_allocate_buffer", allocating),
            mock.patch.object(interpreter, "_clean_up_shared_memory", cleaning_up),
        ):
            yield

    def check(self, kernel: dict[str, Any]) -> None:
        """Raises Changed where the kernel that has just run wrote to memory that it may not write to (writes.py)."""
        mapping = kernel["grid_mapping"]
        scalars, inputs = mapping.num_index_operands, mapping.num_inputs
        # The interpreter allocates the inputs first, then the outputs that do not share an input's memory, and then the
        # prefetched scalars.
        first_scalar = inputs + mapping.num_outputs - len(kernel["input_output_aliases"])
        for number in writes.guarded(kernel):
            if self._changed[first_scalar + number if number < scalars else number - scalars]:
                what = f"prefetched scalar {number}" if number < scalars else f"input {number - scalars}"
                raise Changed(f"a kernel writes to {what}, which is not its own")
