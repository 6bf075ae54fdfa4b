"""The configuration of kernels for the compiler, as it is read back from an exported program.

JAX writes a kernel's configuration as JSON by joining texts, so a text in one place could change another place. So the
configuration is read strictly. Each key is known, occurs once, and has a value of its type. The flags are those that a
candidate may set. The bodies are those that Mosaic returned to be written, byte for byte.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from jax._src import tpu_custom_call

from programs import schema
from programs.schema import is_whole

Form = Callable[[Any], bool]


class Unknown(Exception):
    """A kernel's configuration is not one that JAX writes for a candidate."""


def _is_flag(value: Any) -> bool:
    return type(value) is bool


def _is_count(value: Any) -> bool:
    return is_whole(value, 0)


def _is(**keys: Form) -> Form:
    """Returns the form of an object with these keys; a key that begins with an underscore is optional."""
    forms = {name.lstrip("_"): form for name, form in keys.items()}
    needed = {name for name in keys if not name.startswith("_")}

    def holds(value: Any) -> bool:
        return (
            type(value) is dict
            and needed <= set(value) <= set(forms)
            and all(forms[name](item) for name, item in value.items())
        )

    return holds


def _each(form: Form) -> Form:
    return lambda value: type(value) is list and all(map(form, value))


def _only(wanted: Any) -> Form:
    return lambda value: type(value) is type(wanted) and value == wanted


def _is_body(value: Any) -> bool:
    try:
        return type(value) is str and bool(base64.b64decode(value, validate=True))
    except binascii.Error:
        return False


_is_configuration = _is(
    custom_call_config=_is(
        body=_is_body,
        serialization_format=_only(1),
        needs_layout_passes=_only(True),
        _allow_input_fusion=_each(_is_flag),
        _cost_estimate=_is(
            bytes_accessed=_is_count, flops=_is_count, remote_bytes_transferred=_is_count, transcendentals=_is_count
        ),
        _disable_bounds_checks=_is_flag,
        _disable_semaphore_checks=_is_flag,
        _input_memory_space_colors=_each(_is(operand_index=_is_count, color=_is_count)),
        _internal_scratch_in_bytes=_is_count,
        _output_memory_space_colors=_each(_is(_shape_index=_each(_is_count), color=_is_count)),
        _shape_invariant_numerics=_is_flag,
        _skip_device_barrier=_is_flag,
    ),
    _flag_configs=_each(
        _is(
            flag_type=lambda name: type(name) is str and name.lower() in schema.FLAGS,
            value=_is(boolean_value=_is_flag),
        )
    ),
    _scoped_memory_configs=_each(_is(memory_space=_only(1), offset=_only(0), size=_is_count)),
)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) != len(pairs):
        raise Unknown("a kernel's configuration has a key twice")
    return dict(pairs)


def read(text: str) -> dict[str, Any]:
    """Reads a kernel's configuration. Raises Unknown."""
    try:
        configuration = json.loads(text, object_pairs_hook=_once)
    except ValueError as error:
        raise Unknown(f"a kernel's configuration is not JSON: {error}") from error
    check(configuration)
    return dict(configuration)


def check(configuration: Any) -> None:
    """Raises Unknown where a configuration has other keys or values than are known."""
    if not _is_configuration(configuration):
        raise Unknown("a kernel's configuration has unknown keys or values")


def check_bodies(found: list[bytes], made: list[bytes]) -> None:
    """Raises Unknown where a program's kernels are not those that were made for it."""
    if sorted(found) != sorted(made):
        raise Unknown("a program has other kernels than were made of its jaxpr")


@contextlib.contextmanager
def recorded() -> Iterator[list[bytes]]:
    """The context that records the bodies that Mosaic makes, as it returns them to be written."""
    made: list[bytes] = []
    serialise = tpu_custom_call._lower_mosaic_module_to_asm

    def recording(*arguments: Any, **options: Any) -> Any:
        answer = serialise(*arguments, **options)
        made.append(answer[0])
        return answer

    with mock.patch.object(tpu_custom_call, "_lower_mosaic_module_to_asm", recording):
        yield made
