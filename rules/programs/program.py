"""Programs, which the step lower makes from a candidate, and which are all that later steps see of it.

A program is a serialised `jax.export.Exported` in canonical form: source locations are stripped and symbols renamed in
the StableHLO module and in every Mosaic body. So sources that differ in comments, names or helper functions give the
same bytes. Its identity is the digest of those bytes.
"""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import hashlib
import io
import json
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import numpy as np
from jax import export
from jax._src import core
from jax._src.interpreters import mlir as jax_mlir
from jax._src.lib import _jax, tpu
from jax._src.lib.mlir import ir, passmanager
from jax._src.lib.mlir.dialects import hlo

from process.child import LIBC
from programs import jaxprs, kernel_config, promises, schema, tpu_only
from programs.jaxprs import Place

PROGRAM_NAME = "program"

CUSTOM_CALL = "tpu_custom_call"


class NotCanonical(Exception):
    """The exported module is not the expected one, or not of the form that this code knows."""


# JAX's settings in a user's process. The judge's own interpreters may have others.
_USERS_SETTINGS = {
    "jax_platforms": None,
    "jax_traceback_in_locations_limit": jax.config.jax_traceback_in_locations_limit,
}


@contextlib.contextmanager
def users_settings() -> Iterator[None]:
    """The context in which JAX has a user's settings, except for the backend, which is chosen before."""
    jax.local_devices()
    kept = {name: getattr(jax.config, name) for name in _USERS_SETTINGS}
    try:
        for name, value in _USERS_SETTINGS.items():
            jax.config.update(name, value)
        yield
    finally:
        for name, value in kept.items():
            jax.config.update(name, value)


# Parameters of mallopt, and values that keep freed memory for the next request, in one arena for all threads. New pages
# would cost an interpreter of large arrays half of its time.
_KEEPING = {-1: 2**31 - 1, -3: 2**31 - 1, -8: 1}  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX

# XLA gets at least this many threads, because a callback of an interpreter blocks one thread until others have made
# the values that it needs.
_FEWEST_THREADS = 2


def configure_jax() -> None:
    """Configures JAX as every program is made and used. Call it before the first trace, and before XLA starts."""
    # XLA's CPU client takes the number of its threads from this variable; otherwise it has one per core.
    os.environ["NPROC"] = str(max(_FEWEST_THREADS, len(os.sched_getaffinity(0))))
    for parameter, value in _KEEPING.items():
        LIBC.mallopt(parameter, value)
    jax.config.update("jax_traceback_in_locations_limit", 0)
    jax.config.update("jax_include_full_tracebacks_in_locations", True)


def dtype_of(name: str) -> np.dtype[Any]:
    """Returns the dtype of a signature's name, also for bfloat16 and the float8 kinds."""
    return np.dtype(jax.numpy.dtype(name))


def float_info(dtype: np.dtype[Any]) -> Any:
    """Returns the limits of a floating-point dtype: `min`, `max`, `tiny`, `eps`."""
    return jax.numpy.finfo(dtype)


def with_gradients(function: Callable[..., Any], signature: dict[str, Any]) -> Callable[..., Any]:
    """Returns the function that is judged: its outputs and, if the signature names any, the gradients by inputs.

    Gradients are by the inputs at the positions `gradients`; the outputs' cotangents are further inputs, after the
    function's own.
    """
    by = signature.get("gradients", [])
    if not by:
        return function
    own = len(signature["inputs"]) - (len(signature["outputs"]) - len(by))

    def judged(*arguments: Any) -> tuple[Any, ...]:
        inputs, cotangents = arguments[:own], arguments[own:]

        def of_some(*some: Any) -> Any:
            every = list(inputs)
            for position, value in zip(by, some, strict=True):
                every[position] = value
            return function(*every)

        outputs, pull_back = jax.vjp(of_some, *(inputs[position] for position in by))
        leaves, tree = jax.tree_util.tree_flatten(outputs)
        return (*leaves, *pull_back(jax.tree_util.tree_unflatten(tree, cotangents)))

    return judged


def shapes_of(entries: list[dict[str, Any]]) -> list[jax.ShapeDtypeStruct]:
    """Returns the shapes and dtypes of a signature's inputs or outputs."""
    return [jax.ShapeDtypeStruct(tuple(e["shape"]), dtype_of(e["dtype"])) for e in entries]


def digest(program: bytes) -> str:
    """Returns the identity of a program: 32 hex digits of its SHA-256."""
    return hashlib.sha256(program).hexdigest()[:32]


def _interpreted(equation: core.JaxprEqn, place: Place) -> Sequence[core.JaxprEqn]:
    """Changes an equation (jaxprs.py) so that it runs on a CPU."""
    if equation.primitive.name == "pallas_call":
        return [equation.replace(params=dict(equation.params, interpret=True))]
    return promises.broken_visibly(equation, place)


def export_program(closed: core.ClosedJaxpr, arguments: list[jax.ShapeDtypeStruct], platform: str) -> bytes:
    """Returns the canonical program of a traced candidate for "tpu" (compiled) or "cpu" (interpreted).

    Raises NotCanonical if the program is not the expected one.
    """
    if platform == "cpu":
        closed = closed.replace(jaxpr=tpu_only.without(jaxprs.changed(closed.jaxpr, _interpreted)))
    run = core.jaxpr_as_fun(closed)

    def program(*args: Any) -> tuple[Any, ...]:
        return tuple(run(*args))

    with kernel_config.recorded() as bodies:
        exported = export.export(jax.jit(program), platforms=[platform])(*arguments)
    canonical = canonical_module(exported.mlir_module_serialized, bodies)
    exported = dataclasses.replace(exported, mlir_module_serialized=canonical, fun_name=PROGRAM_NAME)
    return bytes(exported.serialize())


def is_traced(program: bytes) -> bool:
    """Whether a program for a CPU is a jaxpr (wire.py), which runs in the TPU interpreter, and not an export."""
    return program.startswith(b'{"vars":')


def load_program(program: bytes) -> export.Exported:
    """Returns the Exported of a program's bytes."""
    return export.deserialize(bytearray(program))


@contextlib.contextmanager
def opened(program: bytes) -> Iterator[Any]:
    """The context of a program's module, with its MLIR context current."""
    with jax_mlir.make_ir_context() as context, ir.Location.unknown():
        tpu.register_dialect(context)
        context.allow_unregistered_dialects = True
        yield _jax.mlir.deserialize_portable_artifact(load_program(program).mlir_module_serialized)


def custom_calls(program: bytes) -> int:
    """Returns how many TPU kernels a program calls."""
    with opened(program) as module:
        return sum(_is_kernel(operation) for operation in walk(module.operation))


def kernel_body(call: Any) -> bytes:
    """Returns the Mosaic bytecode of a kernel's custom call."""
    configuration = json.loads(ir.StringAttr(call.attributes["backend_config"]).value)
    return base64.b64decode(configuration["custom_call_config"]["body"])


def canonical_module(serialised: bytes, bodies: list[bytes]) -> bytes:
    """Returns the canonical form of a serialised StableHLO module, whose kernels must have these bodies.

    Raises NotCanonical.
    """
    found = []
    with jax_mlir.make_ir_context() as context, ir.Location.unknown():
        tpu.register_dialect(context)
        context.allow_unregistered_dialects = True
        module = _jax.mlir.deserialize_portable_artifact(serialised)
        module.operation.attributes["sym_name"] = ir.StringAttr.get(PROGRAM_NAME)
        for operation in walk(module.operation):
            if _is_kernel(operation):
                found.append(_make_kernel_canonical(operation))
            for arguments in ("arg_attrs", "res_attrs"):
                if arguments in operation.attributes and operation.name == "func.func":
                    operation.attributes[arguments] = _without_names(operation.attributes[arguments])
        try:
            kernel_config.check_bodies(found, bodies)
        except kernel_config.Unknown as error:
            raise NotCanonical(str(error)) from error
        _strip_locations(module)
        version = hlo.get_version_from_compatibility_requirement(hlo.StablehloCompatibilityRequirement.WEEK_4)
        return bytes(_jax.mlir.serialize_portable_artifact(module, version, True))


def walk(operation: Any) -> Iterator[Any]:
    """Yields all operations inside another, in the order of the text."""
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield inner.operation
                yield from walk(inner.operation)


def _is_kernel(operation: Any) -> bool:
    if operation.name != "stablehlo.custom_call":
        return False
    return bool(ir.StringAttr(operation.attributes["call_target_name"]).value == CUSTOM_CALL)


def _strip_locations(module: Any) -> None:
    passmanager.PassManager.parse("builtin.module(strip-debuginfo)").run(module.operation)


def _without_names(attributes: Any) -> Any:
    """Returns argument or result attributes without "jax.result_info", which names the candidate's own outputs."""
    kept = []
    for entry in attributes:
        names = [named.name for named in entry]
        kept.append(ir.DictAttr.get({n: entry[n] for n in names if n != "jax.result_info"}))
    return ir.ArrayAttr.get(kept)


# The attributes that a kernel's custom call may have.
_KERNEL_ATTRIBUTES = frozenset(
    """
    api_version backend_config call_target_name has_side_effect kernel_name mhlo.frontend_attributes operand_layouts
    output_operand_aliases result_layouts
    """.split()
)


def _make_kernel_canonical(call: Any) -> bytes:
    """Strips and renames the Mosaic body in a custom call's configuration; returns the body as it was."""
    unknown = set(call.attributes) - _KERNEL_ATTRIBUTES
    if unknown:
        raise NotCanonical(f"a {CUSTOM_CALL} with {min(unknown)}")
    try:
        configuration = kernel_config.read(ir.StringAttr(call.attributes["backend_config"]).value)
    except kernel_config.Unknown as error:
        raise NotCanonical(str(error)) from error
    body = base64.b64decode(configuration["custom_call_config"]["body"])
    module = ir.Module.parse(body)
    _strip_locations(module)
    for operation in walk(module.operation):
        # The kernel's function is the one that is not a window's index map.
        named = "sym_name" in operation.attributes
        name = operation.attributes["sym_name"] if named else None
        if name is not None and not ir.StringAttr(name).value.startswith("transform_"):
            operation.attributes["sym_name"] = ir.StringAttr.get(schema.KERNEL_NAME)
    stripped = io.BytesIO()
    module.operation.write_bytecode(stripped, desired_version=0)
    configuration["custom_call_config"]["body"] = base64.b64encode(stripped.getvalue()).decode()
    call.attributes["backend_config"] = ir.StringAttr.get(json.dumps(configuration, sort_keys=True))
    call.attributes["kernel_name"] = ir.StringAttr.get(schema.KERNEL_NAME)
    if "mhlo.frontend_attributes" in call.attributes:
        del call.attributes["mhlo.frontend_attributes"]  # metadata for profilers
    return body
