"""Tests of a kernel's configuration, which a program gives to the compiler: it is read back strictly."""

from __future__ import annotations

import json
from typing import Any

import conftest  # noqa: F401 - finds the steps
import jax
import jax.numpy as jnp
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from programs import kernel_config, program

GOOD: dict[str, Any] = {
    "custom_call_config": {
        "body": "TUzvUg==",
        "cost_estimate": {
            "bytes_accessed": 1,
            "flops": 2,
            "remote_bytes_transferred": 0,
            "transcendentals": 3,
        },
        "serialization_format": 1,
        "needs_layout_passes": True,
        "allow_input_fusion": [True, False],
    },
    "scoped_memory_configs": [{"memory_space": 1, "offset": 0, "size": 1024}],
    "flag_configs": [{"flag_type": "xla_tpu_force_lp_llo_scheduler", "value": {"boolean_value": True}}],
}


def test_what_jax_writes_is_read() -> None:
    assert kernel_config.read(json.dumps(GOOD)) == GOOD


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"body"', '"body": "AAAA", "body"'),
        ('"body"', '"text"'),
        ('"TUzvUg=="', '"no base64!"'),
        ('"flops": 2', '"flops": 2.5'),
        ('"flops": 2', '"flops": -2'),
        ('"flops": 2', '"flops": true'),
        ('"flops": 2, ', ""),
        ('"serialization_format": 1', '"serialization_format": 2'),
        ('"needs_layout_passes": true', '"needs_layout_passes": false'),
        ('"needs_layout_passes": true', '"needs_layout_passes": true, "has_communication": true'),
        ("[true, false]", '["true", false]'),
        ('"size": 1024', '"size": "1024"'),
        ("xla_tpu_force_lp_llo_scheduler", "xla_tpu_other"),
        ('"boolean_value": true', '"integer_value": 1'),
        ('{"custom_call_config"', '{"device_type": "DEVICE_TYPE_SPARSECORE", "custom_call_config"'),
        ('{"custom_call_config"', '{"custom_call_config": {}, "custom_call_config"'),
        ("}]}", "}]} "[:-2]),
    ],
)
def test_nothing_else_is(old: str, new: str) -> None:
    text = json.dumps(GOOD)
    assert old in text
    with pytest.raises(kernel_config.Unknown):
        kernel_config.read(text.replace(old, new, 1))


def test_the_bodies_are_those_that_were_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def traced(scale: float) -> Any:
        def kernel(x: Any, out: Any) -> None:
            out[...] = x[...] * scale

        of = jax.ShapeDtypeStruct((8, 128), jnp.float32)
        params = pltpu.CompilerParams(vmem_limit_bytes=2**20)
        return jax.make_jaxpr(pl.pallas_call(kernel, out_shape=of, compiler_params=params))(of), [of]

    modules = []
    canonical = program.canonical_module

    def keep(module: bytes, bodies: list[bytes]) -> bytes:
        modules.append((module, bodies))
        return canonical(module, bodies)

    monkeypatch.setattr(program, "canonical_module", keep)
    for scale in (2.0, 3.0):
        program.export_program(*traced(scale), "tpu")
    (one, its), (_, others) = modules
    assert len(its) == len(others) == 1
    canonical(one, its)
    for bodies in (others, [], [*its, *others]):
        with pytest.raises(program.NotCanonical, match="other kernels than were made"):
            canonical(one, bodies)
