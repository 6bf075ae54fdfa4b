"""TPUs in place of this machine's devices, wherever a candidate asks JAX.

This is only for a sandboxed child, because the change lasts.

Kernels are for TPUs and are judged on a CPU. A kernel that detects this could behave differently for its judge. So
JAX's objects themselves are changed, and not only the functions that lead to them: an array, its sharding and its
shards all lead to a device, and that device says "tpu". Only the modules of JAX that lower and run programs get the
true answers, so that a candidate can still compute with arrays. Such a computation takes a TPU's way, too:
`platform_dependent` runs a TPU's branch, and kernels run without being interpreted.

Only JAX's answers are changed. A number that the two devices round differently still differs.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import array, layout, stages, xla_bridge
from jax._src.interpreters import mlir
from jax._src.lax.control_flow import conditionals
from jax._src.lib import _jax
from jax._src.pallas import pallas_call

# The modules of JAX that lower, compile and run what a candidate computes.
_RUNS = tuple(
    vars(importlib.import_module(f"jax._src.{name}"))
    for name in (
        "cache_key",
        "callback",
        "compilation_cache",
        "compiler",
        "dispatch",
        "interpreters.mlir",
        "interpreters.pxla",
        "profiler",
    )
)

PLATFORM = "tpu"
# The number of devices that JAX reports, because a user may have several devices.
_DEVICES = 4
# An array's size in memory is a multiple of this number of bytes.
_TILE_BYTES = 4096
_MEMORY = {"bytes_in_use": 1 << 20, "bytes_limit": 96 << 30, "largest_alloc_size": 1 << 20, "num_allocs": 8}


def show_tpus(device_kind: str) -> None:
    """Makes JAX report from here on that its devices are TPUs. Call it before the first array is made.

    `device_kind`: JAX's name of the devices, as "TPU7x".
    """
    jax.config.update("jax_num_cpu_devices", _DEVICES)
    device = type(jax.local_devices()[0])
    _say(device, "platform", lambda _: PLATFORM)
    _say(device, "device_kind", lambda _: device_kind)
    _say(device, "coords", lambda one: [one.id % 2, one.id // 2, 0])
    _say(device, "core_on_chip", lambda _: 0)
    _say(device, "num_cores", lambda _: 1)
    _say(device, "slice_index", lambda _: 0)
    _answer(device, "memory_stats", lambda _: dict(_MEMORY))
    _answer(device, "__repr__", lambda one: f"TpuDevice(id={one.id}, process_index=0, coords=({one.id},0,0))")
    _answer(device, "__str__", lambda one: f"TPU_{one.id}(process=0,({one.id},0,0,0))")
    client = type(jax.local_devices()[0].client)
    for name in ("platform", "_raw_platform"):
        _say(client, name, lambda _: PLATFORM)
    _say(client, "platform_version", lambda _: f"PJRT C API\nTFRT {device_kind}")
    _say(_jax.Memory, "platform", lambda _: PLATFORM)
    for name in ("__repr__", "__str__"):
        _answer(_jax.Memory, name, lambda one: f"TpuMemory({one.kind})")
    _say(_jax.DeviceList, "device_kind", lambda _: device_kind)
    for name in ("__repr__", "__str__"):
        _answer(_jax.DeviceList, name, lambda one: f"DeviceList({tuple(one)})")
    _show_arrays()
    _show_compiled()
    _run_as_there()


def _show_arrays() -> None:
    kind = array.ArrayImpl
    size, form = kind.on_device_size_in_bytes, kind.format.fget
    _answer(kind, "platform", lambda _: PLATFORM)
    _answer(kind, "on_device_size_in_bytes", lambda one: -(-size(one) // _TILE_BYTES) * _TILE_BYTES)

    def tiled(one: Any) -> Any:
        found = form(one)
        order = tuple(range(one.ndim))
        return layout.Format(layout.Layout(order, ((8, 128),) if one.ndim > 1 else ((1024,),)), found.sharding)

    _say(kind, "format", tiled)


def _show_compiled() -> None:
    """Makes a compiled program hide the device that it was compiled for."""
    for name in ("as_text", "cost_analysis", "memory_analysis", "runtime_executable"):
        _answer(stages.Compiled, name, lambda _: None)
    for name in ("input_formats", "output_formats"):
        _say(stages.Compiled, name, lambda _: None)


def _run_as_there() -> None:
    """Makes computations during a candidate's trace take the same path as on a TPU."""

    def lowered(context: Any, *operands: Any, **_: Any) -> Any:
        # On a CPU, a kernel raises an error. A candidate could then do without the kernel, and be another program than
        # on a TPU. So kernels return zeros here, which are of no use to a candidate.
        def zeros(*_: Any) -> list[Any]:
            return [jnp.zeros(aval.shape, aval.dtype) for aval in context.avals_out]

        return mlir.lower_fun(zeros, multiple_results=True)(context, *operands)

    mlir.register_lowering(pallas_call.pallas_call_p, lowered)

    def index(_: Any, *, platforms: Any) -> Any:
        names = [PLATFORM if one is None else one for one in platforms]
        return [mlir.ir_constant(np.int32(next(n for n, one in enumerate(names) if PLATFORM in one)))]

    mlir.register_lowering(conditionals.platform_index_p, index)
    known = mlir._platforms_for_eqn

    def platforms(context: Any) -> Any:
        is_branch = sys._getframe(1).f_globals is vars(conditionals)
        return (PLATFORM,) if is_branch else known(context)

    mlir._platforms_for_eqn = platforms
    backend = xla_bridge._get_backend_uncached

    def found(platform: Any = None) -> Any:
        return backend(None if platform == PLATFORM else platform)

    xla_bridge._get_backend_uncached = found
    xla_bridge.get_backend.cache_clear()


def _say(kind: Any, name: str, value: Callable[[Any], Any]) -> None:
    """Replaces an attribute of a class for all callers but the modules that run programs."""
    plain = getattr(kind, name, None)

    def asked(one: Any) -> Any:
        if any(sys._getframe(1).f_globals is known for known in _RUNS) and plain is not None:
            return plain.fget(one)
        return value(one)

    setattr(kind, name, property(asked))


def _answer(kind: Any, name: str, value: Callable[[Any], Any]) -> None:
    """Replaces a method of a class for all callers but the modules that run programs."""
    plain = getattr(kind, name)

    def asked(one: Any, *arguments: Any, **named: Any) -> Any:
        if any(sys._getframe(1).f_globals is known for known in _RUNS):
            return plain(one, *arguments, **named)
        return value(one)

    setattr(kind, name, asked)
